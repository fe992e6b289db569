"""Server variables: what is known of each, read from the server itself; rules between them; option files; what is in force."""
