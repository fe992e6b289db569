"""The text of every note, cause and reason: figures in, sentence out."""
