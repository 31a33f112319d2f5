"""Sets that no setting of this library was chosen on: what the defaults do where nobody looked before.

Tables become hypergraphs as `Hypergraph.from_attributes` makes them, a column of numbers by its fifths; viewers and
films are related by who rated what; papers by who wrote them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn import datasets

from hypergauss.datasets import fetch_cora_coauthorship, fetch_movielens_100k, load_automobiles
from hypergauss.datasets.movielens import MovieLens
from hypergauss.experiments.benchmarks import Benchmark, of_labels, of_values
from hypergauss.hypergraph import Hypergraph

#: A film is asked about where at least so many have rated it.
_FEWEST_RATINGS = 20
#: A pixel of a digit, 0 to 16, counts as inked above this.
_INKED = 7
#: Shares of labels that are observed, by how many vertices there are.
_FEW, _SOME, _MANY = 0.05, 0.1, 0.2


def in_fifths(table: pd.DataFrame) -> Hypergraph:
    """Return rows as vertices, and as hyperedges the fifths of each column, fewer where values are tied."""
    fifths = {column: pd.qcut(table[column], 5, labels=False, duplicates="drop") for column in table}
    return Hypergraph.from_attributes(pd.DataFrame(fifths))


def _measured(load: Callable[..., Any], share: float) -> Benchmark:
    found = load(as_frame=True)
    return of_labels(in_fifths(found.data), found.target, share)


def _diabetes() -> Benchmark:
    found = datasets.load_diabetes(as_frame=True)
    return of_values(in_fifths(found.data), found.target)


def _digits() -> Benchmark:
    found = datasets.load_digits()
    inked = sp.csr_array((found.data > _INKED).astype(float))
    return of_labels(Hypergraph.from_incidence(inked), pd.Series(found.target), _FEW)


def _category_of_cars(column: str) -> Benchmark:
    """Return one category of cars to predict from the others."""
    cars = load_automobiles()
    others = [name for name in cars.hypergraph.edges if name[0] != column]
    return of_labels(cars.hypergraph.subhypergraph(edges=others), cars.table[column], _MANY)


def _sex() -> Benchmark:
    ratings = fetch_movielens_100k()
    return of_labels(_viewers(ratings), ratings.users["sex"], _MANY)


def _age() -> Benchmark:
    ratings = fetch_movielens_100k()
    return of_values(_viewers(ratings), np.log(ratings.users["age"]))


def _viewers(ratings: MovieLens) -> Hypergraph:
    """Return users as vertices, and as hyperedges the films that they rated."""
    return Hypergraph.from_table(ratings.ratings, vertex="user", edge="film").subhypergraph(
        vertices=ratings.users.index
    )


def _films(ratings: MovieLens) -> tuple[Hypergraph, pd.Series]:
    """Return films as vertices with a hyperedge for each user who rated them, and their mean ratings."""
    by_film = ratings.ratings.groupby("film")["rating"]
    means = by_film.mean()[by_film.size() >= _FEWEST_RATINGS]
    return Hypergraph.from_table(ratings.ratings, vertex="film", edge="user").subhypergraph(vertices=means.index), means


def _drama() -> Benchmark:
    ratings = fetch_movielens_100k()
    H, means = _films(ratings)
    members = ratings.genres.subhypergraph(vertices=means.index).incidence
    column = ratings.genres.edges.get_loc("Drama")
    return of_labels(H, pd.Series(members[:, [column]].toarray().ravel() > 0), _MANY)


def _mean_rating() -> Benchmark:
    return of_values(*_films(fetch_movielens_100k()))


def _topics() -> Benchmark:
    papers = fetch_cora_coauthorship()
    return of_labels(papers.hypergraph, papers.target, _FEW)


#: Name -> how to load it.
UNTUNED_CLASSES: dict[str, Callable[[], Benchmark]] = {
    "iris": lambda: _measured(datasets.load_iris, _MANY),
    "wine": lambda: _measured(datasets.load_wine, _MANY),
    "breast cancer": lambda: _measured(datasets.load_breast_cancer, _SOME),
    "body of cars": lambda: _category_of_cars("body-style"),
    "driven wheels of cars": lambda: _category_of_cars("drive-wheels"),
    "sex of viewers": _sex,
    "dramas": _drama,
    "digits": _digits,
    "topics of papers": _topics,
}
UNTUNED_VALUES: dict[str, Callable[[], Benchmark]] = {
    "diabetes": _diabetes,
    "age of viewers": _age,
    "mean rating of films": _mean_rating,
}
