"""Which variables are worth an experiment on a server, and why: rules, and what reads the server for them."""
