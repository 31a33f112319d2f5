"""Threads under control: small systems are factorised in one, where more would wait for each other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

#: Rows of a system from which a second thread pays: below, handing over work takes as long as the work.
_LARGE = 1_000

#: Whether BLAS was told to use one thread when it was loaded: then there is nothing to limit, and nothing to look for.
_IS_SINGLE = os.environ.get("OPENBLAS_NUM_THREADS", os.environ.get("OMP_NUM_THREADS")) == "1"


@contextmanager
def threads_for(size: int) -> Iterator[None]:
    """Give systems of this many rows one thread of BLAS if they are small, and leave it as it is if they are large."""
    if size >= _LARGE or _IS_SINGLE:
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
