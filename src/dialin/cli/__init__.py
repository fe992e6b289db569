"""The command line."""

import os

# The matrices of a study are small: more threads take 14 times the CPU, beside the server that is measured, and save no time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
