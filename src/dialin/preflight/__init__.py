"""What the checks of all places share, before a study starts: admission, plan, option files, variables of a tune."""
