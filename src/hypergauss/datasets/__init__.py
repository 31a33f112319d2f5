"""Data to try things on: bundled, and made to order."""

from hypergauss.datasets.bundled import Dataset, load_automobiles, load_house_votes, load_zoo
from hypergauss.datasets.synthetic import Planted, make_planted_hypergraph

__all__ = [
    "Dataset",
    "Planted",
    "load_automobiles",
    "load_house_votes",
    "load_zoo",
    "make_planted_hypergraph",
]
