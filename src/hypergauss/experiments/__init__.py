"""Studies that make our tables and figures, one command each."""

#: Name on the command line -> module with a function ``run(out, console, quick=False)``.
STUDIES = {
    "defaults": "hypergauss.experiments.defaults",
    "calibration": "hypergauss.experiments.calibration",
    "congress": "hypergauss.experiments.congress",
    "inducing": "hypergauss.experiments.inducing",
    "automobiles": "hypergauss.experiments.automobiles",
    "cora": "hypergauss.experiments.cora",
    "laplacians": "hypergauss.experiments.laplacians",
    "size-exponent": "hypergauss.experiments.size_exponent",
    "movielens": "hypergauss.experiments.movielens",
    "zoo": "hypergauss.experiments.zoo",
}
