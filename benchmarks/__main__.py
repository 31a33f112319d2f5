"""Run every benchmark in order, or with --quick a smoke run of each."""

from benchmarks import (
    against_gpflow,
    against_gpjax,
    against_myfm,
    against_svd,
    approximations,
    convergence,
    embedding,
    factorisation,
    growth,
    labels,
    scale,
    sharded,
    tolerance,
)
from benchmarks.common import is_quick

ALL = (
    against_svd,
    against_gpjax,
    against_gpflow,
    growth,
    tolerance,
    approximations,
    scale,
    sharded,
    labels,
    embedding,
    factorisation,
    convergence,
    against_myfm,
)

if __name__ == "__main__":
    quick = is_quick(__doc__)
    for benchmark in ALL:
        benchmark.main(quick=quick)
