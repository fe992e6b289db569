"""What names the candidates of the next block: a fixed list, or a search."""
