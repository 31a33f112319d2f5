"""How good predictions and orders are, how honest their uncertainty, how well maps separate: arrays in, floats out."""

from hypergauss.metrics.classification import (
    Reliability,
    accuracy,
    brier_score,
    expected_calibration_error,
    log_predictive_density,
    macro_precision,
    macro_recall,
    reliability,
)
from hypergauss.metrics.maps import (
    Agreement,
    agreement,
    hull_agreement,
    hull_labels,
    kmeans_agreement,
    nearest_neighbour_accuracy,
)
from hypergauss.metrics.ranking import ndcg, recall_at
from hypergauss.metrics.regression import gaussian_log_predictive_density, interval_coverage

__all__ = [
    "Agreement",
    "Reliability",
    "accuracy",
    "agreement",
    "brier_score",
    "expected_calibration_error",
    "gaussian_log_predictive_density",
    "hull_agreement",
    "hull_labels",
    "interval_coverage",
    "kmeans_agreement",
    "log_predictive_density",
    "macro_precision",
    "macro_recall",
    "ndcg",
    "nearest_neighbour_accuracy",
    "recall_at",
    "reliability",
]
