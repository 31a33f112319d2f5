"""How a fitted estimator shows in a notebook."""

from __future__ import annotations

from typing import Any

from hypergauss import parameters
from hypergauss._views import html_table


def as_html(model: Any) -> str:
    """Return what it knows, what it learned, and how it was solved; its summary below, where it has one."""
    rows = {"vertices": f"{len(model.vertices_):,}"}
    if hasattr(model, "classes_"):
        rows["classes"] = ", ".join(str(label) for label in model.classes_)
    rows |= {
        "kernel": type(model.kernel_).__name__,
        "size exponent": "-" if model.size_exponent_ is None else str(model.size_exponent_),
        "solver": model.solver_plan_ or model.solver_,
    }
    if not hasattr(model, "summary"):
        rows |= {name: parameters.brief(value) for name, value in model.hyperparameters_.items()}
    table = html_table(f"{type(model).__name__}, fitted", rows)
    return table + (model.summary()._repr_html_() if hasattr(model, "summary") else "")
