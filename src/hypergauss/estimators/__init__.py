"""The scikit-learn face of the library: names in, names out, no mathematics."""

from hypergauss.estimators.classifier import HypergraphGPClassifier
from hypergauss.estimators.explanation import Explanation
from hypergauss.estimators.regressor import HypergraphGPRegressor

__all__ = ["Explanation", "HypergraphGPClassifier", "HypergraphGPRegressor"]
