"""The question of a study: its options, file, candidates and plan."""
