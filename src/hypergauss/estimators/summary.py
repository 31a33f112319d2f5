"""Summary: what an estimator has learned, as a table with standard errors, intervals and words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from hypergauss.estimators.uncertainty import ENDS, HyperparameterPosterior
from hypergauss.estimators.words import meaning, number, shown_name, size_exponent_meaning
from hypergauss.inference.latents import GaussianLatents
from hypergauss.kernels import Kernel, Standardised, Sum
from hypergauss.learning.size_exponent import PRIOR_SPREAD, Profile

#: Of a hyperparameter that loses less than this of its prior's variance, the data say nothing.
_NOTHING = 0.1
_HEADER = ("hyperparameter", "estimate", "90% interval", "error", "from data", "meaning")
#: Meanings stand below their numbers, so that a printed table is no wider than a terminal.
_WIDTH, _INDENT = 80, "  "
_AS_IT_IS = "The prior is a filter as it is: not centred, and vertices have the variances that the filter gives them."
_COULD_BE = "`kernels.Standardised` of a Matern kernel has neither fault, at some 10,000 products more."
_SCALED = "Vertices are scaled by variances from probes, which are typically off by {:.0%}."
_END_OF_RANGE = "At the end of its range."


class Row(NamedTuple):
    """One hyperparameter: name, estimate, interval and standard error (NaN where not known), and what it means.

    ``error`` is on the scale on which it is learned: of the logarithm, if it is positive. ``told`` is the share of its
    prior's variance that the data took away.
    """

    name: str
    estimate: float
    lower: float
    upper: float
    error: float
    told: float
    meaning: str

    @property
    def interval(self) -> str:
        """The interval, "" if there is none."""
        return "" if np.isnan(self.lower) else f"{number(self.lower)} to {number(self.upper)}"


class Shown(NamedTuple):
    """One or several hyperparameters as they are shown: all in words and digits, "" for what is not known."""

    name: str
    estimate: str
    interval: str
    error: str
    told: str
    meaning: str


@dataclass(frozen=True, repr=False)
class Summary:
    """What was learned. It prints as a table, and is shown as one in notebooks.

    Attributes
    ----------
    rows : tuple of Row
        One for each hyperparameter.
    correlations : DataFrame or None
        Of the hyperparameters, on the scale on which they are learned; None if standard errors are not known.
    notes : tuple of str
        What the data say nothing about, and why errors are missing if they are.
    """

    rows: tuple[Row, ...]
    correlations: pd.DataFrame | None
    notes: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return the table: estimate, lower, upper, error, told and meaning by name."""
        return pd.DataFrame([row._asdict() for row in self.rows], columns=list(Row._fields)).set_index("name")

    def __str__(self) -> str:
        cells = [_HEADER, *self.shown()]
        widths = [max(len(row[column]) for row in cells) for column in range(len(_HEADER) - 1)]
        lines = []
        for *numbers, words in cells:
            parts = (
                c.rjust(w) if column else c.ljust(w) for column, (c, w) in enumerate(zip(numbers, widths, strict=True))
            )
            lines.append("  ".join(parts).rstrip())
            if words != _HEADER[-1]:
                lines += wrap(words, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
        notes = (line for note in self.notes for line in wrap(note, _WIDTH))
        return "\n".join([*lines, *notes])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in _HEADER)
        body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in self.shown())
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"

    def shown(self) -> Iterator[Shown]:
        """Yield the table as it is shown: the entries of an array stand together in one row, below single numbers."""
        together: list[list[Row]] = []
        for row in self.rows:
            if together and _goes_on(together[-1][-1], row):
                together[-1].append(row)
            else:
                together.append([row])
        yield from map(_shown, sorted(together, key=lambda rows: len(rows) > 1))


def _goes_on(before: Row, row: Row) -> bool:
    """Return whether a row is the next entry of the same array, with no words of its own."""
    array = _array_of(row.name)
    return array == _array_of(before.name) != row.name and row.meaning in ("", _END_OF_RANGE)


def _array_of(name: str) -> str:
    return re.sub(r" \d+$", "", name)


def _shown(rows: Sequence[Row]) -> Shown:
    first, last = rows[0], rows[-1]
    return Shown(
        first.name if len(rows) == 1 else f"{first.name} to {last.name.removeprefix(_array_of(last.name)).strip()}",
        _ends([row.estimate for row in rows], number),
        first.interval if len(rows) == 1 else "",
        _ends([row.error for row in rows], number),
        _ends([row.told for row in rows], "{:.0%}".format),
        first.meaning,
    )


def _ends(values: Sequence[float], written: Callable[[float], str]) -> str:
    """Return a number, or the least and the largest of several; "" where they are not known."""
    if np.isnan(values).any():
        return ""
    ends = [written(float(end)) for end in (np.min(values), np.max(values))]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def summarise(model: Any) -> Summary:
    """Return the summary of a fitted regressor or classifier."""
    known: HyperparameterPosterior | None = model.hyperparameter_posterior_
    rows = [*_of_hyperparameters(model, known), *_of_exponents(model), *_of_shares(model)]
    notes = [] if known is not None or not model.hyperparameters_ else [_why_unknown(model)]
    if model.solver_ in ("iterative", "markov") and model.solver_plan_ is not None:
        is_normal = getattr(model, "noise_variance_", None) is not None
        notes.append(f"{_AS_IT_IS} {_COULD_BE}" if is_normal else _AS_IT_IS)
    notes += [_SCALED.format(term.scale_error()) for term in _scaled_by_probes(model.kernel_)]
    silent = [row.name for row in rows if row.told < _NOTHING]
    if silent:
        # An update may have found the spread around a mode that predictions are made at.
        is_mode = isinstance(model.posterior_, GaussianLatents)
        notes.append(
            f"The data say next to nothing about {_listed(silent)}: less than {_NOTHING:.0%} of the prior's variance "
            f"is gone. Predictions are {'made at' if is_mode else 'averaged over'} "
            f"{'it' if len(silent) == 1 else 'them'}; a narrower prior (`priors`) would be an assumption of yours."
        )
    return Summary(tuple(rows), None if known is None else known.correlations(), tuple(notes))


def _scaled_by_probes(kernel: Kernel) -> Iterator[Standardised]:
    """Yield the parts of a kernel whose scale is an estimate."""
    for term in kernel.terms if isinstance(kernel, Sum) else (kernel,):
        if isinstance(term, Standardised) and float(term.evenness) > 0 and term.is_scaled_by_probes:
            yield term


def _of_hyperparameters(model: Any, known: HyperparameterPosterior | None) -> Iterator[Row]:
    told = (
        {}
        if known is None
        else dict(
            zip(
                known.entries,
                zip(known.lower, known.upper, known.standard_errors, known.told(), strict=True),
                strict=True,
            )
        )
    )
    for name, value in model.hyperparameters_.items():
        array = np.atleast_1d(value)
        for i, entry in enumerate(np.ravel(array)):
            lower, upper, error, share = told.get(f"{name}[{i}]" if np.ndim(value) else name, (np.nan,) * 4)
            own = shown_name(name) + (f" {i + 1}" if np.ndim(value) else "")
            text = meaning(name, value, model) if i == 0 else ""
            if error == 0:
                text = f"{text} {_END_OF_RANGE}"
            yield Row(own, float(entry), float(lower), float(upper), float(error), float(share), text.strip())


def _of_exponents(model: Any) -> Iterator[Row]:
    """Yield size exponents; one that was searched for has the posterior of its lattice."""
    exponents, profiles = model.size_exponent_, model.size_exponent_profile_
    if exponents is None:
        return
    by_relation = exponents if isinstance(exponents, dict) else {"": exponents}
    searched = profiles if isinstance(profiles, dict) else {"": profiles}
    for relation, value in by_relation.items():
        name = "size exponent" + (f" ({relation})" if relation else "")
        lower = upper = error = told = np.nan
        profile = searched.get(relation)
        if isinstance(profile, Profile):
            weights = np.exp(profile.objectives - np.max(profile.objectives))
            weights = weights / weights.sum()
            mean = weights @ profile.exponents
            error = float(np.sqrt(weights @ (profile.exponents - mean) ** 2))
            lower, upper = profile.exponents[np.searchsorted(np.cumsum(weights), ENDS).clip(max=len(weights) - 1)]
            told = float(np.clip(1 - (error / PRIOR_SPREAD) ** 2, 0.0, 1.0))
        yield Row(name, float(value), float(lower), float(upper), error, told, size_exponent_meaning(float(value)))


def _of_shares(model: Any) -> Iterator[Row]:
    for relation, share in (model.relation_weights_ or {}).items():
        text = "How much of the variation before any observation is put down to it."
        yield Row(f"share of {relation}", float(share), np.nan, np.nan, np.nan, np.nan, text)


def _why_unknown(model: Any) -> str:
    if not model.learn:
        return "Nothing was learned (`learn=False`), so there are no standard errors."
    return (
        "There are no standard errors: they come with averaging over hyperparameters, which a kernel that is given, "
        "`integrate=False`, the iterative solver and many observations do without."
    )


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
