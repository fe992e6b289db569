"""What the checks of all places share, before a study starts: plan, option files, variables of a tune."""
