"""What explains a verdict: rules, each with its source, and one judge of them all."""
