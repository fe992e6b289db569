"""What a report says of a study: one typed document, which every rendering shows."""
