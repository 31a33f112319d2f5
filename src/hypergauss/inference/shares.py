r"""The classes of a vertex of which nothing is known: their shares, as far as labels say.

Labels are a sample of the vertices, and before any membership is looked at one vertex is as good as another: with all
shares equally probable before, n_c labels of class c among n say

    pi_c = (n_c + 1) / (n + C)

(Laplace's rule). A vertex with fewer memberships than is typical is told by them with the reliability q
(`kernels.Standardised`). What they indicate is x, and as any indication that is not quite reliable it is regressed
towards the mean of the population, mu,

    E f = q x + (1 - q) mu

(Kelley, 1927). x = level + q^-1/2 g varies around the level, so that

    E f = level + (1 - q) delta + E q^1/2 g,    delta = mu - level,

with mu such that at q = 0 classes have the shares pi: P( the largest is c | N(mu, variance) ) = pi_c. Were delta 0, a
vertex without memberships would stand for a further group of vertices: the level is learned from functions that vary
from group to group, and a group counts little more than once, whatever the number of its members.
"""

from __future__ import annotations

import numpy as np

from hypergauss.inference.mixing import Mixing
from hypergauss.likelihoods import Bernoulli, Classification, MultinomialProbit, Softmax

#: Likelihoods whose levels can make any shares.
_FREE = (Bernoulli, MultinomialProbit, Softmax)
#: Steps to the level of some shares end when their logarithms are as near as this.
_MOST_STEPS, _SETTLED = 500, 1e-6
#: Steps that the next one is mixed from.
_MEMORY = 4


def shares_of(codes: np.ndarray, num_classes: int) -> np.ndarray:
    """Return pi for labels given by their numbers, shape (C,)."""
    counts = np.bincount(np.asarray(codes).astype(int), minlength=num_classes)
    return (counts + 1.0) / (len(codes) + num_classes)


def has_free_shares(likelihood: object) -> bool:
    """Return whether a likelihood's latent functions can have levels that make any shares."""
    return isinstance(likelihood, _FREE)


def level_for(likelihood: Classification, shares: np.ndarray, variance: float) -> np.ndarray:
    """Return the means at which latents of some variance have classes in the given shares, shape (L,).

    By steps along log shares less log probabilities, as long as the latents are wide, and mixed (`Mixing`).
    """
    mixing = Mixing(_MEMORY)
    level, step = np.zeros(likelihood.num_latents), np.sqrt(1.0 + variance) / 2
    variances = np.full((1, len(level)), variance)
    for _ in range(_MOST_STEPS):
        off = np.log(shares) - np.log(likelihood.probabilities(level[None, :], variances)[0])
        if np.abs(off).max() < _SETTLED:
            break
        level = mixing.next(level, level + step * (off - off.mean() if len(level) > 1 else off[1] - off[0]))
    return level
