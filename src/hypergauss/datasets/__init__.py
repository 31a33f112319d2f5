"""Data to try things on: bundled, read from a data folder, downloaded, and made to order."""

from hypergauss.datasets.bundled import load_automobiles, load_house_votes, load_zoo
from hypergauss.datasets.dataset import Dataset
from hypergauss.datasets.fetched import fetch_cora_coauthorship, fetch_peru_congress
from hypergauss.datasets.movielens import MovieLens, fetch_movielens_100k
from hypergauss.datasets.synthetic import Planted, make_planted_hypergraph

__all__ = [
    "Dataset",
    "MovieLens",
    "Planted",
    "fetch_cora_coauthorship",
    "fetch_movielens_100k",
    "fetch_peru_congress",
    "load_automobiles",
    "load_house_votes",
    "load_zoo",
    "make_planted_hypergraph",
]
