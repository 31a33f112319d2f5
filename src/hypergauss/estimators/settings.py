"""The rules that the parameters of estimators keep: each acts, or is refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator

from hypergauss import _checks
from hypergauss.hypergraph import Graph
from hypergauss.kernels import Kernel
from hypergauss.solvers.choose import is_by_products

Settings = Mapping[str, Any]


class Idle(NamedTuple):
    """Parameters that would not act, when that is so, and why; a sentence follows that says what to do instead."""

    names: tuple[str, ...]
    applies: Callable[[Settings], bool]
    because: str
    instead: str = "Leave it out."


def _is_graph(settings: Settings) -> bool:
    H = settings["H"]
    relations = list(H.values()) if isinstance(H, Mapping) else [H]
    return bool(relations) and all(isinstance(relation, Graph) for relation in relations)


#: Of regressor and classifier. A parameter that an estimator does not have breaks no rule.
VERTEX_RULES = (
    Idle(
        ("n_starts", "max_iterations", "priors", "integrate"),
        lambda given: not given["learn"],
        "with `learn=False` nothing is learned",
        "Leave it out, or learn.",
    ),
    Idle(("combine",), lambda given: given["covariates"] is None, "there are no `covariates` to combine with"),
    Idle(
        ("size_exponent",),
        _is_graph,
        "it weighs hyperedges by their size, and the relations are graphs",
        "Leave it out, or pass the hypergraph.",
    ),
    Idle(
        ("solver",),
        lambda given: given["inducing"] is not None,
        "`inducing` variables bring a solver of their own, which needs eigenvectors",
        "Leave out one of the two.",
    ),
    Idle(
        ("rank",),
        lambda given: is_by_products(given["solver"]),
        "it counts eigenvectors, and a solver by products has none",
        "Leave it out, or use `solver='low-rank'`.",
    ),
    Idle(
        ("n_starts",),
        lambda given: given["n_starts"] != 1 and is_by_products(given["solver"]),
        "a solver by products follows one start",
    ),
    Idle(
        ("integrate",),
        lambda given: given.get("inference") == "mcmc",
        "`inference='mcmc'` draws hyperparameters in any case",
    ),
    Idle(
        ("solver", "n_starts", "max_iterations"),
        lambda given: given.get("inference") == "mcmc" and "batch_size" in given,  # of latents, that is of classes
        "`inference='mcmc'` samples, with a dense factorisation, and maximises nothing",
    ),
    Idle(
        ("laplacian",),
        lambda given: isinstance(given["kernel"], Kernel),
        "it belongs to the spectrum, which a given `kernel` brings along",
        "Set it in `Spectrum.of`, or name the kernel.",
    ),
    Idle(
        ("integrate",),
        lambda given: isinstance(given["kernel"], Kernel),
        "a kernel that is given is not averaged over hyperparameters",
    ),
    Idle(
        ("integrate",),
        lambda given: is_by_products(given["solver"]) or given.get("batch_size") is not None,
        "averages over hyperparameters compare log evidences, and here these are estimates",
    ),
    Idle(
        ("n_starts",),
        lambda given: given["n_starts"] != 1 and given.get("batch_size") is not None,
        "learning in mini-batches follows one start",
    ),
)


def map_rules(solver: str) -> tuple[Idle, ...]:
    """Return the rules of maps of the vertices, for the solver that was chosen."""
    return (
        Idle(("n_random",), lambda given: "random" not in given["starts"], "there is no 'random' among the `starts`"),
        Idle(
            ("n_inducing",),
            lambda _: solver == "dense",
            "the model is dense, and has no inducing vertices",
            "Leave it out, or use `solver='sparse'`.",
        ),
    )


def refuse_idle(estimator: BaseEstimator, rules: Sequence[Idle]) -> None:
    """Refuse parameters that are not as usual and would not act.

    What the default is cannot be told from the same value given, so that is accepted.
    """
    given = estimator.get_params(deep=False)
    usual = {name: own.default for name, own in inspect.signature(type(estimator)).parameters.items()}
    for rule in rules:
        moved = [name for name in rule.names if name in given and not _is_usual(given[name], usual[name])]
        if moved and rule.applies(given):
            raise ValueError(
                f"`{moved[0]}` must be left as it is where it would not act: {rule.because}. Got {given[moved[0]]!r}. "
                f"{rule.instead}"
            )


def check_flags(estimator: BaseEstimator, *names: str) -> None:
    """Refuse anything but True or False: text, even "no", would count as true."""
    for name in names:
        _checks.flag(name, getattr(estimator, name))


def _is_usual(value: object, usual: object) -> bool:
    if value is usual or (isinstance(value, Mapping) and not value):
        return True
    return type(value) is type(usual) and bool(value == usual)
