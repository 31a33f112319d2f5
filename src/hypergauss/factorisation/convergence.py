"""What the data identify of the draws, chain by chain: by it R-hat and effective sample sizes are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hypergauss import _checks
from hypergauss.factorisation.predictive import Kept
from hypergauss.factorisation.ratings import Ratings

if TYPE_CHECKING:
    from arviz import InferenceData

#: Pairs whose predictions stand for all.
_WATCHED = 50


def identified(chains: list[Kept], ratings: Ratings, likelihood: str) -> InferenceData:
    """Return draws of identified quantities as ArviZ's ``InferenceData``.

    Factors can turn, change places and change sign without changing a prediction, and of a steep filter's variance the
    data see next to nothing. What stands for them is ``prediction``, u_i . w_j and all, of fifty rated pairs,
    ``factor_variance``, that of u_i . w_j over these pairs, and ``bias_variance``, that of b_i over users and of c_j
    over items, all on the scale where ratings have variance 1.
    """
    arviz = _checks.optional("arviz", "mcmc")
    watched = np.linspace(0, len(ratings.values) - 1, min(_WATCHED, len(ratings.values))).astype(int)
    user, item = ratings.user[watched], ratings.item[watched]
    products = np.stack([(chain.users[:, user, 1:] * chain.items[:, item, 1:]).sum(axis=-1) for chain in chains])
    levels = np.stack([chain.mean[:, None] + chain.users[:, user, 0] + chain.items[:, item, 0] for chain in chains])
    posterior = {
        "prediction": levels + products,
        "bias_variance": np.stack([_bias_variances(chain) for chain in chains]),
        "factor_variance": products.var(axis=2),
    }
    if likelihood == "gaussian":
        posterior["noise_variance"] = np.stack([chain.noise_variance for chain in chains])
    else:
        posterior["thresholds"] = np.stack([chain.thresholds for chain in chains])
    dims = {"prediction": ["pair"], "bias_variance": ["side"], "thresholds": ["threshold"]}
    return arviz.from_dict(posterior=posterior, dims=dims, coords={"side": ["users", "items"]})


def _bias_variances(chain: Kept) -> np.ndarray:
    """Return the variances of b over users and of c over items under each draw, shape (S, 2)."""
    return np.stack([rows[:, :, 0].var(axis=1) for rows in (chain.users, chain.items)], axis=1)
