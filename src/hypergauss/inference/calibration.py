r"""Calibration: one temperature by which probabilities of labels that were held out are as high as can be.

With q the approximate posterior of a vertex's latents and its site taken out again, the cavity

    q_-i  in proportion to  q / site_i,    1 / v_-i = 1 / v - precision,    m_-i = v_-i (m / v - shift),

is what all other labels say of it: the held-out fold of one vertex, without fitting anew (Opper and Winther, 2000;
Vehtari et al., 2016). Hyperparameters stay as they are. With p_i the probabilities of each vertex from the others,

    T = argmax of the sum of log( r_i(y_i) / sum over c of r_i(c) ) - (log T)^2 / (2 spread^2),   r = pi (p / pi)^(1/T),

with a prior on log T, since a few labels that are all predicted right would take T to 0. Predictions are in proportion
to r. T < 1 says that the model was timid, T > 1 that it was too sure. pi are the shares of the classes, as far as
labels say (`inference.shares`): what is raised to a power is by how much more probable a class is than it is of any
vertex, and a vertex of which nothing is known has the shares at any T. Where the model does not go by them, pi is the
same for all classes.

Why latents that are independent a priori are timid with many classes: of C draws from one normal distribution the two
largest are 0.85 (C = 3), 0.59 (7) and 0.52 (11) standard deviations apart on average, so that a label, which says no
more than whose latent is the largest, is explained by a margin that is small beside what is left to be known of the
others. Classes that really are clear have far larger margins than such a prior expects, whatever its variance.

A label that is the only one of its class says nothing here: without it, the others know nothing of its class.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from hypergauss.inference.latents import GaussianLatents
from hypergauss.inference.mixtures import MixedLatents

#: The range of log T, and the spread of its prior around 0; a probability is not taken below the floor.
_RANGE, _SPREAD, _FLOOR = (-3.0, 3.0), 0.5, 1e-12
#: The spread of the prior where hyperparameters were learned from the same few labels by their evidence: one by one
#: these look a little easier than they are. Of five tried on splits of the zoo, a school and a congress no study has.
_FEW = 0.25
#: How exact log T is: what is learned by held-out labels needs its best value.
_EXACT = 1e-8


def held_out_probabilities(latents: GaussianLatents | MixedLatents) -> np.ndarray:
    """Return the probabilities of each labelled vertex's classes from other labels, shape (n, C); NaN if unknown."""
    return latents.left_out_probabilities()


def temperature_of(
    latents: GaussianLatents | MixedLatents,
    codes: np.ndarray,
    *,
    by_evidence: bool = False,
    shares: np.ndarray | None = None,
) -> float:
    """Return T for latents given labels, by number: from those whose class has others; 1 where there are none.

    ``by_evidence`` says that hyperparameters were learned by the evidence of these labels; ``shares`` are pi.
    """
    is_told = np.bincount(codes)[codes] > 1
    if not is_told.any():
        return 1.0
    found = held_out_probabilities(latents)
    is_told &= np.isfinite(found[:, 0])  # where labels are many, some are enough
    return best_temperature(found[is_told], codes[is_told], _FEW if by_evidence else _SPREAD, shares)


def best_temperature(
    probabilities: np.ndarray, codes: np.ndarray, spread: float = _SPREAD, shares: np.ndarray | None = None
) -> float:
    """Return T, by the log density of classes (by number) under probabilities of them, shapes (n, C) and (n,)."""
    before = _log_shares(shares, probabilities.shape[1])
    logs = np.log(np.maximum(probabilities, _FLOOR)) - before
    own = logs[np.arange(len(codes)), codes].sum()

    def loss(log_temperature: float) -> float:
        beta = np.exp(-log_temperature)
        held_out = beta * own - np.logaddexp.reduce(before + beta * logs, axis=1).sum()
        return float((log_temperature / spread) ** 2 / 2 - held_out)

    return float(np.exp(minimize_scalar(loss, bounds=_RANGE, method="bounded", options={"xatol": _EXACT}).x))


def log_prior_of_temperature(temperature: float) -> float:
    """Return the log density of T under its prior, but for a constant."""
    return -((np.log(temperature) / _SPREAD) ** 2) / 2


def tempered(probabilities: np.ndarray, temperature: float, shares: np.ndarray | None = None) -> np.ndarray:
    """Return probabilities in proportion to pi (p / pi)^(1 / temperature), pi being shares, as a rule all the same."""
    if temperature == 1.0:
        return probabilities
    before = _log_shares(shares, probabilities.shape[1])
    logs = before + (np.log(np.maximum(probabilities, _FLOOR)) - before) / temperature
    powers = np.exp(logs - logs.max(axis=1, keepdims=True, initial=-np.inf))
    return powers / powers.sum(axis=1, keepdims=True)


def _log_shares(shares: np.ndarray | None, num_classes: int) -> np.ndarray:
    return np.zeros(num_classes) if shares is None else np.log(shares)
