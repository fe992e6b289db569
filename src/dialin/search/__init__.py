"""Proposers, which name the candidates of the next block, and the search over many variables: space, model, proof."""

import os

# For `python -m dialin.search.play`; dialin.cli says why.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
