"""What runs the blocks of a study: a worker on a host."""
