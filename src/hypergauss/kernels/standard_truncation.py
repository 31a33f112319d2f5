r"""How far off a standardised kernel may be where the spectrum is truncated, in the operator norm.

With g = U W U' + b I wrong by at most e, v and t are too, and so bounded are m, T and o; and

    |T g T - T'g'T'| <= |T - T'| |g| |T| + |T'| |g - g'| |T| + |T'| |g'| |T - T'| .
"""

from __future__ import annotations

import numpy as np

from hypergauss.kernels.standard_parts import Parts, left_to_itself
from hypergauss.parameters import Number


def truncation_bound(found: Parts, evenness: Number, trivial: np.ndarray, e: float) -> float:
    """Return the bound on ``|K - K_exact|`` relative to the variance; infinite where errors leave no scale.

    Parameters
    ----------
    found : Parts
        Of all vertices.
    evenness : float
        Of the kernel.
    trivial : array, shape (m,)
        u^2 at typical vertices.
    e : float
        The bound on ``|g - g'|``.
    """
    known = found.scale > 0
    share, v, inverse, scale = (x[known] for x in (found.share, found.centred, found.inverse, found.scale))
    if not len(scale) or e * inverse.max() >= 1:
        return float("inf")
    typical_v = found.typical.v
    typical_t = typical_v + trivial * found.weights[:1].sum()
    if typical_t.min() <= e:
        return float("inf")
    most_mean = float(((typical_v + e) * (typical_t - e) ** -evenness).mean())
    least_mean = float((np.maximum(typical_v - e, 0.0) * (typical_t + e) ** -evenness).mean())
    if least_mean <= 0:
        return float("inf")
    t = 1 / inverse
    most = np.sqrt(share * (t - e) ** -evenness / least_mean)
    least = np.sqrt(share * (t + e) ** -evenness / most_mean)
    off = float(np.maximum(most - scale, scale - least).max())
    widest = left_to_itself(share, np.maximum(v - e, 0.0) * (t + e) ** -evenness / most_mean)
    off_own = float((widest - left_to_itself(share, (v + e) * (t - e) ** -evenness / least_mean)).max())
    size = float(max(found.weights.max(initial=0.0), 0.0) + found.background)
    largest = float(most.max())
    off_told = off * (size + e) * largest + scale.max() * (e * largest + size * off)
    return float(off_told + off_own)
