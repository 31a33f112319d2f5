r"""Which vertices to observe next.

A new observation of v, with noise of variance t, correlates with the latent function at u by

    r^2 = cov(u, v)^2 / (var(u) (var(v) + t)),

all of it posterior, and tells -log(1 - r^2) / 2 about it, in nats: the mutual information of two Gaussians. Summed over
all vertices that were not observed, it says how much there is to learn from v; an isolated vertex tells only of itself.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hypergauss import _checks
from hypergauss._checks import Seed
from hypergauss.estimators import HypergraphGPRegressor, VertexModel
from hypergauss.hypergraph.names import Name
from hypergauss.inference.latents import SampledLatents
from hypergauss.inference.mixtures import heaviest
from hypergauss.solvers.base import Posterior

CRITERIA = ("information", "upper-confidence", "lower-confidence")
#: Vertices among which covariances are held at once; of more, so many are drawn to stand for all.
_MOST = 2000
#: Squared correlations closer to one than this count as this.
_SURE = 1 - 1e-12


def suggest_vertices(
    model: VertexModel,
    n: int = 10,
    *,
    criterion: str = "information",
    candidates: Iterable[Name] | None = None,
    level: float = 0.9,
    random_state: Seed = None,
) -> pd.DataFrame:
    """Return the vertices most worth observing next, best first.

    Parameters
    ----------
    model : HypergraphGPRegressor or HypergraphGPClassifier
        Fitted.
    n : int, default 10
        How many; fewer if there are fewer left.
    criterion : {"information", "upper-confidence", "lower-confidence"}
        "information": what tells most about all vertices that were not observed, each choice taking the earlier ones
        into account. "upper-confidence" and "lower-confidence" look for the largest or smallest value, by the end of
        each vertex's central interval (regression only).
    candidates : iterable of names, optional
        Vertices that can be observed; all that were not, if not given.
    level : float, default 0.9
        Of the interval.
    random_state : int, RandomState or None
        Beyond 2,000 vertices, for the sample that stands for all.

    Returns
    -------
    DataFrame indexed by vertex
        ``information`` in nats, or ``bound``.

    Examples
    --------
    >>> from hypergauss import Hypergraph, HypergraphGPRegressor
    >>> H = Hypergraph.from_edges([["a", "b", "c", "d"], ["d", "e"]], vertices=["a", "b", "c", "d", "e", "alone"])
    >>> model = HypergraphGPRegressor(H, learn=False).fit(["a"], [1.0])
    >>> suggest_vertices(model, 2)["information"].round(2).to_dict()
    {'e': 3.44, 'alone': 1.28}
    """
    check_is_fitted(model)
    count = _checks.count("n", n)
    _checks.one_of("criterion", criterion, CRITERIA)
    posteriors, noise = _latents(model)
    observed = np.asarray(posteriors[0].sites.rows)
    vertices = model.vertices_
    rows = np.setdiff1d(np.arange(len(vertices)), observed)
    allowed = rows if candidates is None else np.intersect1d(rows, model._rows(candidates))
    if len(allowed) == 0:
        return pd.DataFrame({"information" if criterion == "information" else "bound": []}, index=vertices[:0])
    if criterion == "information":
        seed = check_random_state(random_state)
        chosen, gains = _informative(posteriors, noise, rows, allowed, count, seed)
        column = "information"
    else:
        if not isinstance(model, HypergraphGPRegressor):
            raise ValueError(
                f"`criterion={criterion!r}` looks for a largest value. Classes have none: use 'information'."
            )
        if not 0 < level < 1:
            raise ValueError(f"`level` must lie between 0 and 1. Got {level}.")
        sign = 1.0 if criterion == "upper-confidence" else -1.0
        bound = np.ravel(model.predict_quantiles(vertices[allowed], [0.5 + sign * level / 2], include_noise=False))
        order = np.argsort(-sign * bound, kind="stable")[:count]
        chosen, gains, column = allowed[order], bound[order], "bound"
    index = pd.Index(vertices[chosen], name="vertex", tupleize_cols=False)
    return pd.DataFrame({column: gains}, index=index)


def _latents(model: VertexModel) -> tuple[list[Posterior], float]:
    """Return the latent functions' posteriors, and the noise variance of an observation: a site's, as a rule."""
    if isinstance(model, HypergraphGPRegressor):
        posteriors = [heaviest(model._function)]
    elif isinstance(model.posterior_, SampledLatents):
        raise ValueError(
            "Draws have no covariances at hand. Fit with `inference='variational'` to ask for suggestions."
        )
    else:
        posteriors = list(model.posterior_.posteriors)
    variances = np.concatenate([np.asarray(posterior.sites.variance) for posterior in posteriors])
    telling = variances[variances > 0]
    return posteriors, float(np.median(telling)) if len(telling) else 1.0


def _informative(
    posteriors: list[Posterior],
    noise: float,
    rows: np.ndarray,
    allowed: np.ndarray,
    count: int,
    random: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray]:
    """Choose greedily; after each choice the covariances are conditioned on it."""
    if len(rows) > _MOST:
        kept = allowed if len(allowed) <= _MOST // 2 else random.choice(allowed, _MOST // 2, replace=False)
        others = np.setdiff1d(rows, kept)
        rows = np.concatenate([kept, random.choice(others, min(_MOST - len(kept), len(others)), replace=False)])
        allowed = np.intersect1d(allowed, kept)
    covariances = [posterior.covariance(rows) for posterior in posteriors]
    is_free = np.isin(rows, allowed)
    chosen, gains = [], []
    for _ in range(min(count, int(is_free.sum()))):
        gain = np.zeros(len(rows))
        for covariance in covariances:
            variance = np.maximum(np.diagonal(covariance), 1e-300)
            shares = covariance**2 / variance[:, None] / (variance + noise)
            gain += -np.log1p(-np.minimum(shares, _SURE)).sum(axis=0) / 2
        best = int(np.argmax(np.where(is_free, gain, -np.inf)))
        chosen.append(rows[best])
        gains.append(gain[best])
        is_free[best] = False
        for covariance in covariances:
            column = covariance[:, best].copy()
            covariance -= np.outer(column, column) / (column[best] + noise)
    return np.array(chosen, dtype=int), np.array(gains)
