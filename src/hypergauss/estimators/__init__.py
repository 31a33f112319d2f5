"""The scikit-learn face of the library: names in, names out, no mathematics."""

from typing import TypeAlias

from hypergauss.estimators.classifier import HypergraphGPClassifier
from hypergauss.estimators.explanation import Explanation
from hypergauss.estimators.regressor import HypergraphGPRegressor

#: What is fitted to observations of named vertices.
VertexModel: TypeAlias = HypergraphGPRegressor | HypergraphGPClassifier

__all__ = ["Explanation", "HypergraphGPClassifier", "HypergraphGPRegressor"]
