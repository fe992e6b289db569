"""What explains a verdict, or limits it: figures from the store, turned into sentences."""
