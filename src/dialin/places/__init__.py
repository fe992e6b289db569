"""Where trials run: a folder for each place, and the check that chooses among them."""
