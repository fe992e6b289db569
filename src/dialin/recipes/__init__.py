"""Published experiments as studies that can be run here."""
