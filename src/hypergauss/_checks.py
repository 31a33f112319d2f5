"""Input checks: each error states the rule, what arrived, and the next step."""

from __future__ import annotations

import importlib
import numbers
from collections.abc import Hashable, Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import ArrayLike

#: Numbers as they come: one, a list, an array, a Series or a table.
Values: TypeAlias = "ArrayLike"
#: Class labels, or levels, as they come: a list, an array or a Series of whatever can be hashed.
Labels: TypeAlias = "ArrayLike | Sequence[Any]"
#: Rows of numbers as they come, one for each of some things: an array, a table or a sparse matrix.
Matrix: TypeAlias = "ArrayLike | sp.sparray | sp.spmatrix"
#: Where chance begins.
Seed: TypeAlias = int | np.random.RandomState | None


def positive(name: str, value: Any, *, allow_infinite: bool = False) -> float:
    """Return ``value`` as a float if it is a positive number, else explain."""
    number = real(name, value, allow_infinite=allow_infinite)
    if number <= 0:
        raise ValueError(f"`{name}` must be positive. Got {number:g}. Pass a number greater than 0.")
    return number


def real(name: str, value: Any, *, allow_infinite: bool = False) -> float:
    """Return ``value`` as a float if it is one real number, else explain."""
    # `.item()` admits the zero-dimensional arrays of NumPy and JAX along with plain numbers.
    scalar = value.item() if getattr(value, "shape", None) == () else value
    if not isinstance(scalar, numbers.Real) or isinstance(scalar, bool):
        raise TypeError(f"`{name}` must be a real number. Got {type(value).__name__}: {value!r}.")
    number = float(scalar)
    if np.isnan(number) or (np.isinf(number) and not allow_infinite):
        raise ValueError(f"`{name}` must be finite. Got {number}.")
    return number


def count(name: str, value: object, *, least: int = 1, most: int | None = None, why: str = "") -> int:
    """Return ``value`` as an int if it is a whole number in [least, most], else explain."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise TypeError(f"`{name}` must be a whole number. Got {type(value).__name__}: {value!r}.")
    number = int(value)
    if number < least or (most is not None and number > most):
        bounds = f"at least {least}" if most is None else f"between {least} and {most}"
        raise ValueError(f"`{name}` must be {bounds}{f' ({why})' if why else ''}. Got {number}.")
    return number


def one_of(name: str, value: object, choices: Sequence[str]) -> str:
    """Return ``value`` if it is one of ``choices``, else list them."""
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"`{name}` must be one of {listed}. Got {value!r}.")
    return str(value)


def flag(name: str, value: object) -> bool:
    """Return ``value`` if it is True or False; text such as "no" would count as true."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"`{name}` must be True or False. Got {type(value).__name__}: {value!r}.")
    return bool(value)


def finite_array(name: str, values: Values, *, missing: str) -> np.ndarray:
    """Return ``values`` as a float array without NaN or infinity; ``missing`` is the next step."""
    no_mask(name, values, missing=missing)
    try:
        given = np.asarray(values)
        array = np.asarray(given.real, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"`{name}` must hold numbers. {error}.") from error
    no_complex(name, given)
    if given.dtype.kind in "mM":
        raise TypeError(
            f"`{name}` must hold numbers. Got {given.dtype}, whose numbers depend on how it is stored. Choose a "
            "unit: for days, `(dates - dates.min()) / pd.Timedelta('1D')`."
        )
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        where = tuple(int(i) for i in bad[0])
        place = where[0] if len(where) == 1 else where
        raise ValueError(
            f"`{name}` must not contain NaN or infinity. Got {array[where]} at position {place}"
            f"{others(len(bad) - 1)}. {missing}"
        )
    return array


def no_mask(name: str, values: object, *, missing: str) -> None:
    """Refuse an array with masked entries, which NumPy would unmask; ``missing`` is the next step."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"`{name}` must not contain masked entries. Got {np.ma.count_masked(values):,}. {missing}")


def no_complex(name: str, values: np.ndarray) -> None:
    """Refuse an array of complex numbers, of which NumPy and SciPy would drop the imaginary parts."""
    if values.dtype.kind == "c":
        raise TypeError(
            f"`{name}` must hold real numbers. Got {values.dtype}. Decide what counts: `.real`, `abs(...)` or `!= 0`."
        )


def non_negative_array(name: str, values: Values) -> np.ndarray:
    """Return ``values`` as a 1-D array of finite numbers >= 0."""
    array = finite_array(name, values, missing="Leave those out or replace them.")
    if array.ndim != 1:
        raise ValueError(f"`{name}` must be a list of numbers, one for each. Got shape {array.shape}.")
    bad = np.flatnonzero(array < 0)
    if len(bad):
        raise ValueError(
            f"`{name}` must not be negative. Got {array[bad[0]]:g} at position {bad[0]}{others(len(bad) - 1)}."
        )
    return array


def labels(name: str, values: Labels, *, missing: str) -> np.ndarray:
    """Return class labels as a 1-D array, at least one and none missing; ``missing`` is the next step.

    A tuple is one label, not a row of a table; labels of several kinds keep their kinds.
    """
    import pandas as pd  # workers of a cluster, which import this module, do without

    no_mask(name, values, missing=missing)
    if isinstance(values, list | tuple) and any(isinstance(value, tuple) for value in values):
        array = np.fromiter(values, dtype=object, count=len(values))
    elif isinstance(values, list | tuple) and any(isinstance(value, str) for value in values):
        array = np.array(values) if all(isinstance(value, str) for value in values) else np.array(values, dtype=object)
    else:
        array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(f"`{name}` must be a list of labels, at least one. Got shape {np.shape(values)}.")
    if pd.isna(array).any():
        raise ValueError(f"`{name}` must not contain missing labels. {missing}")
    if array.dtype == object:
        try:
            set(array.tolist())
        except TypeError as error:
            raise TypeError(
                f"`{name}` must hold labels that can be hashed, such as text or tuples. {error}."
            ) from error
    return array


def positions(wanted: Iterable[Hashable], among: Iterable[Hashable]) -> np.ndarray:
    """Return where each label stands among different ones, -1 where it does not."""
    place = {label: at for at, label in enumerate(among)}
    return np.array([place.get(label, -1) for label in wanted], dtype=np.int64)


def same_length(first: str, n_first: int, second: str, n_second: int) -> None:
    """Explain if two arguments that go together differ in length."""
    if n_first != n_second:
        raise ValueError(
            f"`{first}` and `{second}` must have the same length. Got {n_first:,} and {n_second:,}. "
            f"Pass one entry of `{second}` for each entry of `{first}`."
        )


def different_columns(columns: Sequence[str]) -> None:
    """Explain if one column is to be vertex and hyperedge, or a weight besides."""
    twice = [column for column in columns if list(columns).count(column) > 1]
    if twice:
        raise ValueError(
            f"Vertex, hyperedge and weight must be columns of their own. Got {twice[0]!r} for two of them."
        )


def others(n: int) -> str:
    """Say how many further offenders there are, or nothing."""
    return "" if n <= 0 else f" and {n:,} other{'s' if n > 1 else ''}"


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """Return a sentence that suggests the nearest of some names, or nothing if none is near."""
    folded = {other.casefold(): other for other in names}
    near = get_close_matches(name.casefold(), list(folded), n=1, cutoff=0.6)
    return f" Did you mean {folded[near[0]]!r}?" if near else ""


def optional(module: str, extra: str) -> Any:
    """Import a module that only some installations have, or name the extra that brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"This needs {module}. Install it with `pip install hypergauss[{extra}]`.") from error
