"""A study from its first block to its last: rounds, looks, resuming."""
