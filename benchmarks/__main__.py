"""Run every benchmark in order, or with --quick a smoke run of each."""

from benchmarks import (
    against_gpflow,
    against_gpjax,
    against_myfm,
    against_svd,
    approximations,
    coauthors,
    convergence,
    embedding,
    factorisation,
    first_fit,
    growth,
    growth_of_memory,
    labels,
    new_users,
    newcomers,
    planning,
    scale,
    sharded,
    stream,
    tolerance,
    walk,
)
from benchmarks.common import is_quick

ALL = (
    first_fit,
    against_svd,
    against_gpjax,
    against_gpflow,
    growth,
    growth_of_memory,
    tolerance,
    approximations,
    scale,
    sharded,
    stream,
    labels,
    coauthors,
    new_users,
    newcomers,
    planning,
    embedding,
    factorisation,
    convergence,
    against_myfm,
    walk,
)

if __name__ == "__main__":
    quick = is_quick(__doc__)
    for benchmark in ALL:
        benchmark.main(quick=quick)
