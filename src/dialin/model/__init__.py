"""The data types of dialin: they do no I/O, and import nothing else of dialin."""
