"""From ratings to the priors of both sides: spectra, grids of filters, relations."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import DTypeLike

from hypergauss import _checks
from hypergauss.factorisation.ratings import Ratings
from hypergauss.factorisation.spectral_prior import Grid, Modes, Relations, Side
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.names import plain
from hypergauss.learning.priors import LogNormal
from hypergauss.spectrum import Spectrum, normalised_incidence

#: Smoothness values of the grid; infinite is the diffusion filter.
_NU = (0.5, 1.0, 1.5, 2.5, 4.0, 7.0, 12.0, 25.0, 50.0, np.inf)
#: Lengthscales of the grid, 2.5% apart: far closer than ratings can tell.
_LENGTHSCALES = np.geomspace(0.5, 20.0, 150)
#: What stands for an infinite nu under its prior: past this, filters hardly differ.
_LARGE_NU = 200.0
#: Chains start from functions of this filter: smooth enough not to fit chance, rough enough to see detail at once.
_START = (12.0, 8.0)
PRIORS = {"nu": LogNormal(3.0, 1.5), "lengthscale": LogNormal(3.0, 1.0)}


def make_grid(priors: Mapping[str, LogNormal]) -> Grid:
    """Return all pairs of nu and lengthscale, weighed by their log-normal priors."""
    nu, lengthscale = (axis.ravel() for axis in np.meshgrid(_NU, _LENGTHSCALES, indexing="ij"))
    parts = [(priors["nu"], np.minimum(nu, _LARGE_NU)), (priors["lengthscale"], lengthscale)]
    log_weights = sum(-0.5 * (np.log(value / prior.median) / prior.spread) ** 2 for prior, value in parts)
    start = int((np.abs(np.log(lengthscale / _START[1])) + (nu != _START[0])).argmin())
    return Grid(nu, lengthscale, np.asarray(log_weights), start)


def make_sides(
    ratings: Ratings,
    *,
    kernel: str,
    rank: int | None,
    size_exponent: float,
    priors: Mapping[str, LogNormal],
    relations: tuple[Mapping[str, Hypergraph], Mapping[str, Hypergraph]],
    dtype: DTypeLike,
) -> tuple[Side, Side]:
    """Return the priors of users and of items: one decomposition serves both."""
    user_relations, item_relations = (
        stack_relations(index, named, dtype)
        for index, named in zip((ratings.users, ratings.items), relations, strict=True)
    )
    if kernel == "independent":
        users, items = (Modes.independent(size, dtype) for size in ratings.shape)
        return Side(users, user_relations), Side(items, item_relations)
    hypergraph, grid = ratings.hypergraph(), make_grid(priors)
    spectrum = Spectrum.of(hypergraph, rank, size_exponent)
    of_users, of_items = levels(hypergraph, size_exponent)
    users, items = Modes.of(spectrum, of_users, grid, dtype), Modes.of(spectrum.dual(), of_items, grid, dtype)
    return Side(users, user_relations), Side(items, item_relations)


def levels(hypergraph: Hypergraph, size_exponent: float = 0.0) -> tuple[sp.csr_array, sp.csr_array]:
    """Return the eigenvectors of eigenvalue 0 of I - A A' and of I - A'A, one a component, with mean square 1 in all.

    They are roots of weighted degrees, and of weighted sizes w(e) |e|^(1 + a): A maps the latter to the former. The
    rows of vertices, and hyperedges, that are connected to nothing are empty.
    """
    A = normalised_incidence(hypergraph, size_exponent)
    weights = hypergraph.weights * np.maximum(hypergraph.edge_degrees, 1e-300) ** (1.0 + size_exponent)
    of_edges = np.sqrt(np.where(hypergraph.edge_degrees > 0, weights, 0.0))
    return (
        _by_component(A @ of_edges, hypergraph.connected_components()),
        _by_component(of_edges, hypergraph.dual().connected_components()),
    )


def _by_component(roots: np.ndarray, component: np.ndarray) -> sp.csr_array:
    """Return one column a component, with mean square 1 in all, of what a vector has there."""
    seen = np.flatnonzero(roots > 0)
    place, _ = pd.factorize(component[seen])
    count = int(place.max(initial=-1)) + 1
    norms = np.sqrt(np.bincount(place, roots[seen] ** 2, minlength=count))
    entries = roots[seen] / norms[place] * np.sqrt(len(roots) / max(count, 1))
    return sp.csr_array((entries, (seen, place)), shape=(len(roots), count))


def stack_relations(index: pd.Index, relations: Mapping[str, Hypergraph], dtype: DTypeLike) -> Relations:
    """Return the hyperedges of all relations side by side, for vertices in the order of the index."""
    features, owner = [sp.csr_array((len(index), 0))], []
    for number, hypergraph in enumerate(relations.values()):
        placed, scale = relation_rows(index, hypergraph)
        features.append(scale * placed)
        owner.append(np.full(placed.shape[1], number))
    stacked = sp.csr_array(sp.hstack(features, format="csr"), dtype=dtype)
    return Relations(tuple(relations), stacked, np.concatenate([np.zeros(0, np.int64), *owner]).astype(np.int64))


def relation_rows(index: pd.Index, hypergraph: Hypergraph) -> tuple[sp.csr_array, float]:
    """Return the normalised incidence of those in an index, and the factor that gives its squares mean 1 over rows."""
    rows = hypergraph.vertices.get_indexer(index)
    A = normalised_incidence(hypergraph)
    placed = sp.csr_array(sp.vstack([A, sp.csr_array((1, A.shape[1]))]))[rows]  # -1, the row of zeros: not there
    squares = placed.power(2).sum(axis=1)
    mean = squares[squares > 0].mean() if squares.any() else 1.0
    return placed, 1.0 / float(np.sqrt(max(mean, np.finfo(float).tiny)))


def check_relations(argument: str, relations: object) -> dict[str, Hypergraph]:
    """Return further relations by name."""
    if relations is None:
        return {}
    if not isinstance(relations, Mapping):
        raise TypeError(f"`{argument}` must be a dict of name to Hypergraph. Got {type(relations).__name__}.")
    for name, hypergraph in relations.items():
        if not isinstance(hypergraph, Hypergraph):
            raise TypeError(
                f"`{argument}[{name!r}]` must be a Hypergraph. Got {type(hypergraph).__name__}. Make one of a table's "
                "columns with `Hypergraph.from_attributes(frame)`."
            )
    return dict(relations)


def check_told(argument: str, relations: Mapping[str, Hypergraph], rated: Iterable[Hashable]) -> None:
    """Refuse a relation that tells of nobody in the ratings: as a rule its names are written in another way."""
    known = frozenset(rated)
    for name, hypergraph in relations.items():
        if known.isdisjoint(hypergraph.vertices):
            first, other = plain(next(iter(hypergraph.vertices), None)), plain(next(iter(rated), None))
            raise ValueError(
                f"`{argument}[{name!r}]` must tell of some that were rated. Got names such as {first!r}, where the "
                f"ratings have {other!r}. Write both alike: 7 and '7' are different names."
            )


def check_priors(priors: Mapping[str, LogNormal] | None) -> dict[str, LogNormal]:
    """Return the priors of nu and lengthscale, those not given as usual."""
    given = dict(priors or {})
    for name, prior in given.items():
        _checks.one_of("priors", name, tuple(PRIORS))
        if not isinstance(prior, LogNormal):
            raise TypeError(f"`priors[{name!r}]` must be a LogNormal. Got {type(prior).__name__}.")
    return PRIORS | given
