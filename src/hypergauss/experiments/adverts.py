"""Cars for sale whose adverts say little: prices from the few of eleven categories that each names.

Half of the cars have a price and all their categories. Each of the others names four of them only, as adverts do, and
its price is held out. What a car shares with others, a make, a body style, a fuel system, is all there is to go by.
The task shows where that helps, with few memberships; with all of them known, ridge regression is
level (`hypergauss reproduce automobiles`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.linear_model import RidgeCV

from hypergauss.datasets import load_automobiles
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.names import unique_index

#: Categories that an advert names; how many cars have a price; the split.
NAMED, PRICED, SEED = 4, 100, 100
_PENALTIES = np.logspace(-3, 3, 13)


class Adverts(NamedTuple):
    """Cars by what is said of them.

    Attributes
    ----------
    hypergraph : Hypergraph
        A hyperedge for each value of each category, named "make = bmw".
    priced, held_out : Series of log prices, indexed by car
        What is known, and what is to be predicted.
    """

    hypergraph: Hypergraph
    priced: pd.Series
    held_out: pd.Series


def load_adverts() -> Adverts:
    """Return the bundled cars, half of them with four memberships each."""
    data = load_automobiles()
    table = data.table
    names = [
        f"{make} {body} {n}" for n, (make, body) in enumerate(zip(table["make"], table["body-style"], strict=True))
    ]
    edges = [f"{column} = {value}" for column, value in data.hypergraph.edges]
    price = pd.Series(np.log(data.target.to_numpy()), index=names, name="log price").dropna()
    rng = np.random.default_rng(SEED)
    shuffled = rng.permutation(len(price))
    train, test = shuffled[:PRICED], shuffled[PRICED:]
    rows = pd.Index(names).get_indexer(price.index[test])
    incidence = data.hypergraph.incidence.tolil(copy=True)
    for row in rows:
        members = np.array(incidence.rows[row])
        incidence[row, rng.permutation(members)[NAMED:]] = 0.0
    hypergraph = Hypergraph(
        sp.csr_array(incidence),
        vertices=unique_index(names, of="vertices"),
        edges=unique_index(edges, of="edges"),
        weights=np.ones(len(edges)),
    )
    return Adverts(hypergraph, price.iloc[train], price.iloc[test])


def baselines(adverts: Adverts) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return mean and standard deviation of each held-out log price by methods that know no hypergraph.

    Linear regressions have the penalty and the standard deviation of cross-validation. The last one takes what an
    advert does not say for what is usual: the share of each value among cars with a price.
    """
    H, y = adverts.hypergraph, adverts.priced.to_numpy()
    train, test = (H.incidence[H.vertex_rows(part.index)].toarray() for part in (adverts.priced, adverts.held_out))
    usual = _filled(test, train.mean(axis=0), [str(edge).partition(" = ")[0] for edge in H.edges])
    spread = np.full(len(test), y.std())
    return {
        "every car at the mean": (np.full(len(test), y.mean()), spread),
        "ridge regression on what is said": _ridge(train, y, test),
        "ridge regression, gaps filled": _ridge(train, y, usual),
    }


def _ridge(known: np.ndarray, y: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    model = RidgeCV(_PENALTIES, store_cv_results=True).fit(known, y)
    error = float(np.sqrt(model.cv_results_.mean(axis=0).min()))
    return model.predict(wanted), np.full(len(wanted), error)


def _filled(table: np.ndarray, shares: np.ndarray, columns: list[str]) -> np.ndarray:
    """Return memberships with those of a category that is not named replaced by shares."""
    filled = table.copy()
    for column in dict.fromkeys(columns):
        of = [at for at, name in enumerate(columns) if name == column]
        silent = filled[:, of].sum(axis=1) == 0
        filled[np.ix_(silent, of)] = shares[of]
    return filled
