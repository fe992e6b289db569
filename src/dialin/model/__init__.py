"""The nouns of dialin, typed: no I/O, and nothing of ours is imported here."""
