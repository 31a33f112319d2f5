"""Hyperparameters, and what they mean in words."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hypergauss.estimators import HypergraphGPRegressor


def learned(model: Any) -> list[dict[str, str]]:
    """Return name, value and meaning of everything that was learned."""
    found = [_entry(name, value, model) for name, value in model.hyperparameters_.items()]
    exponents = model.size_exponent_
    by_relation = exponents if isinstance(exponents, dict) else {} if exponents is None else {"": exponents}
    found += [_size_exponent(relation, float(value)) for relation, value in by_relation.items()]
    shares = model.relation_weights_ or {}
    found += [
        {
            "name": f"share of {relation}",
            "value": f"{share:.0%}",
            "meaning": "How much of the variation before any observation is put down to it.",
        }
        for relation, share in shares.items()
    ]
    return found


def _entry(name: str, value: Any, model: Any) -> dict[str, str]:
    *where, last = name.split(".")
    of = f" ({' '.join(where)})" if where else ""
    meaning = _MEANINGS.get(last)
    text = meaning(value, model) if meaning is not None else "A parameter of the kernel or the likelihood."
    return {"name": last.replace("_", " ") + of, "value": _number(value), "meaning": text}


def _nu(value: Any, _: Any) -> str:
    if not math.isfinite(float(value)) or value > 50:
        return "Smoothness. So large that the kernel is that of diffusion: values change very gently along hyperedges."
    return "Smoothness. The larger, the more gently values change along hyperedges; beyond 50 it makes no difference."


def _lengthscale(value: Any, _: Any) -> str:
    reach = float(np.max(value))
    if reach < 1:
        return "How far influence reaches. Vertices hardly influence one another."
    return f"How far influence reaches. It {'reaches far' if reach > 10 else 'fades within a few steps'}."


def _noise(value: Any, model: Any) -> str:
    share = float(value) / (float(value) + model.kernel_.varying_variance())
    return f"Variation of single measurements that the hypergraph cannot explain: {share:.0%} of all, a priori."


def _epsilon(value: Any, _: Any) -> str:
    return f"The share of labels that seem to be wrong whatever the hypergraph says: {float(value):.1%}."


def _variance(value: Any, model: Any) -> str:
    size = float(np.max(value))
    if isinstance(model, HypergraphGPRegressor):
        return f"Variation that the hypergraph can explain: values spread by about ±{math.sqrt(size):.3g}, a priori."
    border = "Small: classes overlap." if size < 1 else "Large: most vertices are clearly of one class."
    return f"How sure class borders are. {border}"


def _always(text: str) -> Callable[[Any, Any], str]:
    return lambda *_: text


_MEANINGS: dict[str, Callable[[Any, Any], str]] = {
    "steps": _always("How far influence reaches: steps of the random walk from vertex to vertex."),
    "shape": _always("How the filter departs from plain steps, slow waves first; 1 is no departure."),
    "individuality": _always("How much of a vertex with few memberships is its own, not its hyperedges'."),
    "evenness": _always("How equal prior variances are: at 1 the same for all vertices, at 0 as the filter has them."),
    "nu": _nu,
    "lengthscale": _lengthscale,
    "beta": _always("How far influence spreads along hyperedges: the time for which heat would have spread."),
    "coefficients": _always("The learned filter: the weight of each part of the spectrum, smooth parts first."),
    "variance": _variance,
    "noise_variance": _noise,
    "mean": _always("What is expected of a vertex about which nothing is known."),
    "epsilon": _epsilon,
    "first_threshold": _always("Where the lowest class ends, on the scale of the latent function."),
    "gaps": _always("How wide the classes in between are, on the scale of the latent function."),
}


def _size_exponent(relation: str, value: float) -> dict[str, str]:
    if value == 0:
        meaning = "Every hyperedge has one voice, shared among its members (Zhou's Laplacian)."
    elif value > 0:
        meaning = "Large hyperedges count more than one voice each" + (
            "; at 1, every member brings its own." if value <= 1.5 else ": size matters a great deal here."
        )
    else:
        meaning = "Small hyperedges count more: they say more about their members."
    of = f" ({relation})" if relation else ""
    return {"name": f"size exponent{of}", "value": f"{value:g}", "meaning": meaning}


def _number(value: Any) -> str:
    array = np.ravel(np.asarray(value, dtype=float))
    shown = ["∞" if math.isinf(x) else f"{x:.3g}" for x in array[:4]]
    return ", ".join(shown) + (", …" if len(array) > 4 else "")
