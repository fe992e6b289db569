"""The command line."""

import gc
import os

# The matrices of a study are small: more threads take 14 times the CPU, beside the server that is measured, and save no time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Loading modules makes 120,000 objects that stay: looking for garbage among them as often as Python does takes a seventh of the
# CPU of a start.
gc.set_threshold(50_000, 50, 50)
