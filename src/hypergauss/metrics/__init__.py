"""How good predictions are, and how honest their uncertainty: arrays in, floats out."""

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
from hypergauss.metrics.regression import gaussian_log_predictive_density, interval_coverage

__all__ = [
    "Reliability",
    "accuracy",
    "brier_score",
    "expected_calibration_error",
    "gaussian_log_predictive_density",
    "interval_coverage",
    "log_predictive_density",
    "macro_precision",
    "macro_recall",
    "reliability",
]
