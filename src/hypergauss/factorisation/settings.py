"""The rules that the parameters of `KPMF` keep, checked before any work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypergauss import _checks
from hypergauss.factorisation.fitting import PRECISIONS

_CHOICES = {
    "inference": ("gibbs", "map"),
    "likelihood": ("gaussian", "ordinal"),
    "kernel": ("matern", "diffusion", "independent"),
    "mean": ("learned", "zero"),
    "precision": tuple(PRECISIONS),
}
#: Parameters of one inference only, and what they are left at by the other.
_GIBBS_ONLY = {"likelihood": "gaussian", "user_relations": None, "item_relations": None, "checkpoint": None}
_MAP_ONLY = {"mean": "learned", "inducing": None}


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse parameters that break a rule, or that the chosen inference does not have."""
    _checks.count("n_factors", settings["n_factors"])
    for name, choices in _CHOICES.items():
        _checks.one_of(name, settings[name], choices)
    _checks.positive("tolerance", settings["tolerance"])
    _checks.count("n_jobs", settings["n_jobs"])
    if isinstance(settings["rank"], str):
        _checks.one_of("rank", settings["rank"], ("auto",))
    by_mode = settings["inference"] == "map"
    for name, usual in (_GIBBS_ONLY if by_mode else _MAP_ONLY).items():
        if settings[name] not in (usual, {}):
            only = "gibbs" if by_mode else "map"
            raise ValueError(f"`{name}` must be left as it is unless inference={only!r}. Got {settings[name]!r}.")
    if not by_mode and settings["kernel"] == "diffusion":
        raise ValueError("`kernel='diffusion'` needs inference='map'; 'matern' draws nu, to which infinity belongs.")
    if settings["kernel"] == "independent" and settings["inducing"] is not None:
        raise ValueError("`inducing` needs a kernel on the hypergraph. Got kernel='independent'.")


def check_bounds(bounds: Any) -> tuple[float, float] | None:
    """Return least and largest rating, or None where they are not given."""
    if bounds is None or (isinstance(bounds, str) and bounds == "observed"):
        return None
    try:
        low, high = (_checks.real("bounds", bound) for bound in bounds)
    except (TypeError, ValueError) as error:
        raise ValueError(f"`bounds` must be two numbers, 'observed' or None. Got {bounds!r}.") from error
    if not low < high:
        raise ValueError(f"`bounds` must increase. Got {low:g} and {high:g}.")
    return low, high
