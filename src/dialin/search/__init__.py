"""What names the candidates of the next block, and the search of many variables: space, model, acquisition, proof."""
