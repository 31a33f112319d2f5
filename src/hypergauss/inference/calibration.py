r"""Calibration: one temperature by which probabilities of labels that were held out are as high as can be.

With q the approximate posterior of a vertex's latents and its site taken out again, the cavity

    q_-i  in proportion to  q / site_i,    1 / v_-i = 1 / v - precision,    m_-i = v_-i (m / v - shift),

is what all other labels say of it: the held-out fold of one vertex, without fitting anew (Opper and Winther, 2000;
Vehtari et al., 2016). Hyperparameters stay as they are. With p_i the probabilities of each vertex from the others,

    T = argmax of the sum of log( p_i(y_i)^(1/T) / sum over c of p_i(c)^(1/T) ) - (log T)^2 / (2 spread^2),

with a prior on log T, since a few labels that are all predicted right would take T to 0. Predictions are in proportion
to p^(1/T). T < 1 says that the model was timid, T > 1 that it was too sure.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from hypergauss.inference.latents import GaussianLatents
from hypergauss.inference.mixtures import MixedLatents, components

#: The range of log T, and the spread of its prior around 0; a probability is not taken below the floor.
_RANGE, _SPREAD, _FLOOR = (-3.0, 3.0), 0.5, 1e-12
#: How exact log T is: what is learned by held-out labels needs its best value.
_EXACT = 1e-8


def held_out_probabilities(latents: GaussianLatents | MixedLatents) -> np.ndarray:
    """Return the probabilities of each labelled vertex's classes from the other labels, shape (n, C)."""
    if any(each.coupling is not None for _, each in components(latents)):
        raise ValueError(
            "Labels are held out one by one where latents are independent. Got coupled ones. Use "
            "`likelihood='softmax'`, or `calibrate=False`."
        )
    return latents.left_out_probabilities()


def best_temperature(probabilities: np.ndarray, codes: np.ndarray) -> float:
    """Return T, by the log density of classes (by number) under probabilities of them, shapes (n, C) and (n,)."""
    logs = np.log(np.maximum(probabilities, _FLOOR))
    own = logs[np.arange(len(codes)), codes]

    def loss(log_temperature: float) -> float:
        beta = np.exp(-log_temperature)
        held_out = beta * own.sum() - np.logaddexp.reduce(beta * logs, axis=1).sum()
        return float(-log_prior_of_temperature(np.exp(log_temperature)) - held_out)

    return float(np.exp(minimize_scalar(loss, bounds=_RANGE, method="bounded", options={"xatol": _EXACT}).x))


def log_prior_of_temperature(temperature: float) -> float:
    """Return the log density of T under its prior, but for a constant."""
    return -((np.log(temperature) / _SPREAD) ** 2) / 2


def tempered(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """Return probabilities in proportion to p^(1 / temperature)."""
    if temperature == 1.0:
        return probabilities
    powers = np.maximum(probabilities, _FLOOR) ** (1 / temperature)
    return powers / powers.sum(axis=1, keepdims=True)
