"""What the data identify of the draws, chain by chain: by it R-hat and effective sample sizes are told."""

from __future__ import annotations

from typing import Any

import numpy as np

from hypergauss import _checks
from hypergauss.factorisation.draws import Kept
from hypergauss.factorisation.ratings import Ratings

#: Pairs whose predictions stand for all.
_WATCHED = 50


def identified(chains: list[Kept], ratings: Ratings, likelihood: str) -> Any:
    """Return draws of identified quantities as ArviZ's ``InferenceData``.

    Factors can turn, change places and change sign without changing a prediction, and so can their variances. What
    stands for them is ``prediction``, u_i . w_j and all, of fifty rated pairs, ``bias_variance`` of users and items,
    and ``factor_variance``, the sum over columns of users' times items' variances: that of u_i . w_j a priori.
    """
    arviz = _checks.optional("arviz", "mcmc")
    watched = np.linspace(0, len(ratings.values) - 1, min(_WATCHED, len(ratings.values))).astype(int)
    posterior = {
        "prediction": np.stack([_predictions(chain, ratings.user[watched], ratings.item[watched]) for chain in chains]),
        "bias_variance": np.stack([chain.variance[:, :, 0] for chain in chains]),
        "factor_variance": np.stack([chain.variance[:, :, 1:].prod(axis=1).sum(axis=1) for chain in chains]),
    }
    if likelihood == "gaussian":
        posterior["noise_variance"] = np.stack([chain.noise_variance for chain in chains])
    else:
        posterior["thresholds"] = np.stack([chain.thresholds for chain in chains])
    dims = {"prediction": ["pair"], "bias_variance": ["side"], "thresholds": ["threshold"]}
    return arviz.from_dict(posterior=posterior, dims=dims, coords={"side": ["users", "items"]})


def _predictions(chain: Kept, user: np.ndarray, item: np.ndarray) -> np.ndarray:
    """Return mu + b_i + c_j + u_i . w_j of pairs under each draw, shape (S, n)."""
    u, w = chain.users[:, user], chain.items[:, item]
    return chain.mean[:, None] + u[..., 0] + w[..., 0] + (u[..., 1:] * w[..., 1:]).sum(axis=-1)
