"""What the data identify of the draws, chain by chain: by it R-hat and effective sample sizes are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import ndtri
from scipy.stats import rankdata

from hypergauss import _checks
from hypergauss.factorisation.predictive import Kept
from hypergauss.factorisation.ratings import Ratings

if TYPE_CHECKING:
    from arviz import InferenceData

#: The ends of intervals that are told.
ENDS = (0.05, 0.95)
#: Pairs whose predictions stand for all.
_WATCHED = 50


def identified(chains: list[Kept], ratings: Ratings, likelihood: str) -> InferenceData:
    """Return draws of identified quantities (`watched`) as ArviZ's ``InferenceData``."""
    arviz = _checks.optional("arviz", "mcmc")
    dims = {"prediction": ["pair"], "bias_variance": ["side"], "thresholds": ["threshold"]}
    posterior = watched(chains, ratings, likelihood)
    return arviz.from_dict(posterior=posterior, dims=dims, coords={"side": ["users", "items"]})


def watched(chains: list[Kept], ratings: Ratings, likelihood: str) -> dict[str, np.ndarray]:
    r"""Return draws of what the ratings identify, each of shape (chains, draws, ...).

    Factors can turn, change places and change sign without changing a prediction; a mean of items' factors can go to
    users' biases; and of a steep filter's variance the data see next to nothing. What stands for them, on the scale
    where ratings have variance 1:

    - ``prediction``, u_i . w_j and all, of fifty rated pairs;
    - ``bias_variance``, that of b_i + u_i . w over users and of c_j + u . w_j over items, w and u the mean factors;
    - ``factor_variance``, that of (u_i - u) . (w_j - w) over all pairs: sum_kl cov(u)_kl cov(w)_kl;
    - ``mood_variance``, that of moods of a day, if days were told;
    - ``noise_variance``, its geometric mean over users and items; or ``thresholds``. Under the ordered probit all is
      seen from the middle of the thresholds, in units of the noise's geometric mean.

    Users and items count in means and variances as often as they have ratings: of those with few, the prior decides.
    """
    shares = [
        np.bincount(rows, minlength=count) / len(rows)
        for rows, count in zip((ratings.user, ratings.item), ratings.shape, strict=True)
    ]
    rows = np.linspace(0, len(ratings.values) - 1, min(_WATCHED, len(ratings.values))).astype(int)
    user, item = ratings.user[rows], ratings.item[rows]
    found = [_of_chain(chain, user, item, shares, likelihood) for chain in chains]
    return {name: np.stack([own[name] for own in found]) for name in found[0]}


def _of_chain(
    chain: Kept, user: np.ndarray, item: np.ndarray, shares: list[np.ndarray], likelihood: str
) -> dict[str, np.ndarray]:
    products = (chain.users[:, user, 1:] * chain.items[:, item, 1:]).sum(axis=-1)
    means = [np.einsum("snk,n->sk", rows[:, :, 1:], own) for rows, own in zip(chain[:2], shares, strict=True)]
    covariances, biases = [], []
    for rows, share, own, other in zip(chain[:2], shares, means, means[::-1], strict=True):
        centred = rows[:, :, 1:] - own[:, None]
        covariances.append(np.matmul(centred.transpose(0, 2, 1), share[:, None] * centred))
        bias = rows[:, :, 0] + np.matmul(rows[:, :, 1:], other[:, :, None])[:, :, 0]
        biases.append((bias - (bias @ share)[:, None]) ** 2 @ share)
    relative = np.log(chain.user_noise) @ shares[0] + np.log(chain.item_noise) @ shares[1]
    graded = likelihood != "gaussian"
    # Under the ordered probit, where is seen from the middle of the thresholds, and how far in units of the noise.
    middle = chain.thresholds.mean(axis=1) if graded else 0.0 * relative
    unit = np.exp(-0.5 * relative) if graded else np.ones_like(relative)
    levels = chain.mean - middle
    found = {
        "prediction": unit[:, None] * (levels[:, None] + chain.users[:, user, 0] + chain.items[:, item, 0] + products),
        "bias_variance": unit[:, None] ** 2 * np.stack(biases, axis=1),
        "factor_variance": unit**2 * (covariances[0] * covariances[1]).sum(axis=(1, 2)),
    }
    if chain.moods.shape[1]:
        found["mood_variance"] = unit**2 * chain.mood_variance
    if graded:
        return found | {"thresholds": unit[:, None] * (chain.thresholds - middle[:, None])}
    return found | {"noise_variance": chain.noise_variance * np.exp(relative)}


def summarised(chains: list[Kept], ratings: Ratings, likelihood: str) -> pd.DataFrame:
    """Return mean, 90% interval and R-hat of what is watched, predictions aside, by name."""
    rows = {}
    for name, draws in watched(chains, ratings, likelihood).items():
        if name == "prediction":
            continue
        entries = draws.reshape(*draws.shape[:2], -1)
        parts = ("of users", "of items") if name == "bias_variance" else [str(at + 1) for at in range(entries.shape[2])]
        for at, told in enumerate(rhat(entries)):
            whole = name.replace("_", " ")
            rows[whole if entries.shape[2] == 1 else f"{whole.removesuffix('s')} {parts[at]}"] = [
                entries[:, :, at].mean(),
                *np.quantile(entries[:, :, at], ENDS),
                told,
            ]
    return pd.DataFrame.from_dict(rows, orient="index", columns=["mean", "lower", "upper", "R-hat"])


def worst_rhat(chains: list[Kept], ratings: Ratings, likelihood: str) -> float:
    """Return the largest R-hat over what is watched; infinite if there are too few draws to tell."""
    found = watched(chains, ratings, likelihood).values()
    return max(float(rhat(draws).max()) for draws in found)


def rhat(draws: np.ndarray) -> np.ndarray:
    """Return R-hat of draws of shape (chains, draws, ...), as Vehtari et al. (2021) define it.

    Of the halves of all chains, by ranks turned into normal scores, and by those of the distance from the median: the
    larger of both. Numbers that never change have R-hat 1.
    """
    half = draws.shape[1] // 2
    if half < 2:
        return np.full(draws.shape[2:], np.inf)
    halves = np.concatenate([draws[:, :half], draws[:, -half:]])
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    return np.maximum(_rhat_of_ranks(halves), _rhat_of_ranks(folded))


def _rhat_of_ranks(draws: np.ndarray) -> np.ndarray:
    chains, length = draws.shape[:2]
    ranks = rankdata(draws.reshape(chains * length, *draws.shape[2:]), axis=0).reshape(draws.shape)
    z = ndtri((ranks - 0.375) / (chains * length + 0.25))
    within, between = z.var(axis=1, ddof=1).mean(axis=0), z.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.sqrt((length - 1) / length + between / within)
    return np.where((within == 0) & (between == 0), 1.0, found)
