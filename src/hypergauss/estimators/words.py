"""Hyperparameters, and what they mean in words."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hypergauss.likelihoods import Poisson
from hypergauss.parameters import Number


def meaning(name: str, value: Number, model: Any) -> str:
    """Return what a hyperparameter means, at the value that an estimator has learned."""
    found = _MEANINGS.get(name.rsplit(".", 1)[-1])
    return found(value, model) if found is not None else "A parameter of the kernel or the likelihood."


def shown_name(name: str) -> str:
    """Return a name as people read it: "noise variance", "lengthscale (roads)"."""
    *where, last = name.split(".")
    return last.replace("_", " ") + (f" ({' '.join(where)})" if where else "")


def _nu(value: Number, _: object) -> str:
    if not math.isfinite(float(value)) or value > 50:
        return "Smoothness. So large that the kernel is that of diffusion: values change very gently along hyperedges."
    return "Smoothness. The larger, the more gently values change along hyperedges; beyond 50 it makes no difference."


def _lengthscale(value: Number, _: object) -> str:
    reach = float(np.max(value))
    if reach < 1:
        return "How far influence reaches. Vertices hardly influence one another."
    return f"How far influence reaches. It {'reaches far' if reach > 10 else 'fades within a few steps'}."


def _noise(value: Number, model: Any) -> str:
    share = float(value) / (float(value) + model.kernel_.varying_variance())
    return f"Variation of single measurements that the hypergraph cannot explain: {share:.0%} of all, a priori."


def _epsilon(value: Number, _: object) -> str:
    return f"The share of labels that seem to be wrong whatever the hypergraph says: {float(value):.1%}."


def _variance(value: Number, model: Any) -> str:
    size = float(np.max(value))
    if not hasattr(model, "classes_"):
        if model.transform_ == "log" or isinstance(model.likelihood_, Poisson):
            factor = math.exp(math.sqrt(size))
            return (
                f"Variation that the hypergraph can explain: values differ by a factor of about {factor:.3g}, a priori."
            )
        if model.levels_ is not None:
            return "Variation that the hypergraph can explain, where 1 is that of a single vertex's level by chance."
        return f"Variation that the hypergraph can explain: values spread by about ±{math.sqrt(size):.3g}, a priori."
    border = "Small: classes overlap." if size < 1 else "Large: most vertices are clearly of one class."
    return f"How sure class borders are. {border}"


def _always(text: str) -> Callable[[Number, Any], str]:
    return lambda *_: text


_MEANINGS: dict[str, Callable[[Number, Any], str]] = {
    "steps": _always("How far influence reaches: steps of the random walk from vertex to vertex."),
    "shape": _always("How the filter departs from plain steps, slow waves first; 1 is no departure."),
    "individuality": _always("How much of a vertex with few memberships is its own, not its hyperedges'."),
    "evenness": _always("How far vertices are put on a common scale: at 0 they keep the filter's, at 1 not at all."),
    "activity": _always("How much the number of a vertex's memberships says by itself; far below 1 it hardly matters."),
    "nu": _nu,
    "lengthscale": _lengthscale,
    "angle": _always("How far apart features may point while vertices are alike, in radians; 1.57 is nothing shared."),
    "beta": _always("How far influence spreads along hyperedges: the time for which heat would have spread."),
    "coefficients": _always("The learned filter: the weight of each part of the spectrum, smooth parts first."),
    "variance": _variance,
    "noise_variance": _noise,
    "scale": _always("How large the errors of single measurements are as a rule; some are far larger."),
    "degrees_of_freedom": _always("How rare large errors are: below 5 some are far off, beyond 30 errors are normal."),
    "mean": _always("What is expected of a vertex about which nothing is known."),
    "epsilon": _epsilon,
    "first_threshold": _always("Where the lowest class ends, on the scale of the latent function."),
    "gaps": _always("How wide the classes in between are, on the scale of the latent function."),
}


def size_exponent_meaning(value: float) -> str:
    """Return what a size exponent means."""
    if value == 0:
        return "Every hyperedge has one voice, shared among its members (Zhou's Laplacian)."
    if value < 0:
        return "Small hyperedges count more: they say more about their members."
    return "Large hyperedges count more than one voice each" + (
        "; at 1, every member brings its own." if value <= 1.5 else ": size matters a great deal here."
    )


def number(value: float) -> str:
    """Return a number to three digits."""
    return "∞" if math.isinf(value) else f"{value:.3g}"
