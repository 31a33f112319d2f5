"""The rules that the parameters of `KPMF` keep, checked before any work: each acts, or is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from hypergauss import _checks
from hypergauss.factorisation.fitting import MODE_TOLERANCE, PRECISIONS

_CHOICES = {
    "inference": ("gibbs", "map"),
    "likelihood": ("gaussian", "ordinal", "implicit"),
    "noise": ("individual", "common"),
    "kernel": ("matern", "diffusion", "independent"),
    "mean": ("learned", "zero"),
    "precision": tuple(PRECISIONS),
}


class _Needs(NamedTuple):
    """The inference, kernels and likelihoods with which a parameter acts, and what to do without that inference."""

    inference: tuple[str, ...] = ("gibbs", "map")
    kernel: tuple[str, ...] = ("matern", "diffusion", "independent")
    likelihood: tuple[str, ...] = ("gaussian", "ordinal", "implicit")
    instead: str = "Leave it out."


_DRAWN = "'gibbs' draws it."
_BY_DRAWS = _Needs(("gibbs",))
#: Of the parameters that not every model has.
_NEEDS = {
    "likelihood": _BY_DRAWS,
    "user_relations": _BY_DRAWS,
    "item_relations": _BY_DRAWS,
    "checkpoint": _BY_DRAWS,
    "checkpoint_every": _BY_DRAWS,
    "chains": _BY_DRAWS,
    "warm_up": _BY_DRAWS,
    "draws": _BY_DRAWS,
    "max_draws": _BY_DRAWS,
    "noise": _Needs(("gibbs",), instead="'map' has one variance, `noise_variance`."),
    "thin": _BY_DRAWS,
    "n_jobs": _BY_DRAWS,
    "precision": _Needs(("gibbs",), instead="'map' always has double precision."),
    "priors": _Needs(
        ("gibbs",), ("matern",), instead="Fixed kernels have no priors: pass `nu` and `lengthscale` themselves."
    ),
    "nu": _Needs(
        ("map",), ("matern",), instead=f"{_DRAWN} Say what you know of it by `priors={{'nu': LogNormal(median)}}`."
    ),
    "lengthscale": _Needs(
        ("map",),
        ("matern",),
        instead=f"{_DRAWN} Say what you know of it by `priors={{'lengthscale': LogNormal(median)}}`.",
    ),
    "variance": _Needs(("map",), instead=_DRAWN),
    "noise_variance": _Needs(("map",), instead=_DRAWN),
    "mean": _Needs(("map",), instead=_DRAWN),
    "max_iterations": _Needs(("map",), instead="Set `warm_up` and `draws`."),
    "inducing": _Needs(("map",), ("matern", "diffusion")),
    "unobserved": _Needs(("gibbs",), likelihood=("implicit",)),
    "bounds": _Needs(likelihood=("gaussian", "ordinal")),
    "rank": _Needs(kernel=("matern", "diffusion")),
    "size_exponent": _Needs(kernel=("matern",)),
}


def check_settings(settings: Mapping[str, Any], usual: Mapping[str, Any]) -> None:
    """Refuse parameters that break a rule, or that would not act; ``usual`` are those of a `KPMF` left as it is."""
    if isinstance(settings["n_factors"], str):
        _checks.one_of("n_factors", settings["n_factors"], ("auto",))
    else:
        _checks.count("n_factors", settings["n_factors"])
    for name, choices in _CHOICES.items():
        _checks.one_of(name, settings[name], choices)
    for name in ("biases", "show_progress"):
        _checks.flag(name, settings[name])
    tolerance = _checks.positive("tolerance", settings["tolerance"])
    if settings["inference"] == "map" and MODE_TOLERANCE < tolerance != usual["tolerance"]:
        raise ValueError(
            f"`tolerance` must be at most {MODE_TOLERANCE:g} with inference='map', which finds the mode with that or "
            f"finer. Got {tolerance:g}. Leave it out."
        )
    _checks.count("n_jobs", settings["n_jobs"])
    _checks.positive("unobserved", settings["unobserved"])
    if isinstance(settings["rank"], str):
        _checks.one_of("rank", settings["rank"], ("auto",))
    if settings["inference"] == "gibbs" and settings["kernel"] == "diffusion":
        raise ValueError("`kernel='diffusion'` needs inference='map'; 'matern' draws nu, to which infinity belongs.")
    for name, needs in _NEEDS.items():
        _check_acts(name, needs, settings, usual)
    if settings["draws"] != "auto" and settings["max_draws"] != usual["max_draws"]:
        raise ValueError(
            f"`max_draws` needs draws='auto'. Got {settings['max_draws']!r} and draws={settings['draws']!r}. Leave it "
            "out."
        )
    if settings["checkpoint"] is None and settings["checkpoint_every"] != usual["checkpoint_every"]:
        raise ValueError(
            f"`checkpoint_every` needs a file to write to. Got {settings['checkpoint_every']!r} and no `checkpoint`. "
            "Name one by `checkpoint`."
        )


def _check_acts(name: str, needs: _Needs, settings: Mapping[str, Any], usual: Mapping[str, Any]) -> None:
    value = settings[name]
    if value is usual[name] or value in (usual[name], {}):
        return
    for other in ("inference", "kernel", "likelihood"):
        allowed: tuple[str, ...] = getattr(needs, other)
        if settings[other] not in allowed:
            listed = " or ".join(repr(choice) for choice in allowed)
            instead = needs.instead if other == "inference" else f"That {other} does without it: leave it out."
            raise ValueError(
                f"`{name}` must be left as it is unless {other}={listed}. Got {value!r} and {other}="
                f"{settings[other]!r}. {instead}"
            )


def check_bounds(bounds: tuple[float, float] | str | None) -> tuple[float, float] | None:
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
