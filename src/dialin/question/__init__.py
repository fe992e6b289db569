"""What was asked for: the options of a study, its file, its candidates, its plan."""
