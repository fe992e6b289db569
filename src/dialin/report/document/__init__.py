"""The content of a report on a study: one typed document that every renderer shows."""
