"""One PyTorch thread for each worker of the suite: with two of two threads each, half of the time is spent waiting."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before anything imports PyTorch; processes that a test starts inherit it
