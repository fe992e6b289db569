"""The published experiments, run again: what `make published` does, and nothing else of dialin uses."""
