"""What to do with an estimator: assess it, ask what to observe next, smooth what it is told."""

from hypergauss.analysis.assessment import Assessment, assess
from hypergauss.analysis.centralities import centrality
from hypergauss.analysis.smoothing import smooth_covariates
from hypergauss.analysis.suggestions import suggest_vertices

__all__ = ["Assessment", "assess", "centrality", "smooth_covariates", "suggest_vertices"]
