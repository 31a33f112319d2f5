"""Benchmarks of hypergauss: `python -m benchmarks` runs them all, `python -m benchmarks.NAME` one of them.

Every contender gets the same number of threads, one unless OPENBLAS_NUM_THREADS says otherwise: on a machine with
other work to do, two BLAS threads that wait for each other measure the other work. The setting must come before NumPy
and JAX are imported, hence its place here.
"""

import os

_THREADS = os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("NPROC", _THREADS)  # the size of JAX's thread pool
