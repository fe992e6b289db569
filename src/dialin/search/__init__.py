"""What names the candidates of the next block, and the search of many variables: space, model, acquisition, proof."""

import os

# For `python -m dialin.search.play`; dialin.cli says why.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
