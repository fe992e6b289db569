"""Server variables: what servers report of them, rules between them, option files, and effective values."""
