"""What a study optimizes: `table` has one row a measure, the other modules read it."""
