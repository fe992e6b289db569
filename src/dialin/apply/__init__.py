"""What a user applies: option files and SQL."""
