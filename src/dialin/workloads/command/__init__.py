"""Any program that applies load and prints what it does, described by a TOML file."""
