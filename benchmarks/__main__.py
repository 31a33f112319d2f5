"""Run every benchmark in order, or with --quick a smoke run of each."""

from benchmarks import (
    against_gpflow,
    against_gpjax,
    against_myfm,
    against_svd,
    embedding,
    factorisation,
    growth,
    sharded,
)
from benchmarks.common import is_quick

if __name__ == "__main__":
    quick = is_quick(__doc__)
    for benchmark in (
        against_svd,
        against_gpjax,
        against_gpflow,
        growth,
        sharded,
        embedding,
        factorisation,
        against_myfm,
    ):
        benchmark.main(quick=quick)
