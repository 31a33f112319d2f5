"""Fitted estimators as files: what they hold, written field by field as JSON and arrays, never as code.

Of the objects inside an estimator only those of the classes in one table (`classes`), and of classes that the caller
names, are written or made. A posterior is written as what it is conditioned on, and conditioned again when read.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from hypergauss._version import __version__
from hypergauss.embedding import HypergraphGPLVM, SpectralEmbedding
from hypergauss.estimators import HypergraphGPClassifier, HypergraphGPRegressor
from hypergauss.exceptions import FileError, HypergaussError
from hypergauss.factorisation import KPMF
from hypergauss.storage.archive import DAMAGE, Archive, read_archive, write_archive
from hypergauss.storage.classes import ESTIMATORS, SINCE
from hypergauss.storage.own_classes import check_own
from hypergauss.storage.reading import Reader
from hypergauss.storage.stored import Stored
from hypergauss.storage.version_1 import Version1Reader, renamed
from hypergauss.storage.writing import Writer

Estimator = HypergraphGPRegressor | HypergraphGPClassifier | HypergraphGPLVM | SpectralEmbedding | KPMF

#: What the file says it is, and the newest version of its layout. One that is newer is refused.
FORMAT, FORMAT_VERSION = "hypergauss model", 3
#: The version that is written, unless the estimator is one that files hold only since a later one.
_USUAL_VERSION = 2


def save(estimator: Estimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to one file, which `load` reads: arrays and JSON, never code.

    The file holds the hypergraph, the parameters and all that was learned, and appears whole or not at all. A random
    generator among the parameters is left out; it matters only for fitting again. A kernel or likelihood of a class of
    your own is written as the name of the class and its fields, and read if the class is named (`load`).

    Parameters
    ----------
    estimator : HypergraphGPRegressor, HypergraphGPClassifier, HypergraphGPLVM, SpectralEmbedding or KPMF
        Fitted. The file of a KPMF holds its draws, 4 bytes x draws x (users + items) x (D + 1) and little more.
    path : path
        Where to, as a rule with the ending ``.hypergauss``. A file that is there is replaced and keeps its permissions.
    """
    name = type(estimator).__name__
    stored = ESTIMATORS.get(name)
    if stored is None or stored.cls is not type(estimator):
        raise TypeError(f"`estimator` must be one of {', '.join(ESTIMATORS)}. Got {name}.")
    check_is_fitted(estimator)
    writer = Writer()
    given, learned = estimator.get_params(deep=False), stored.take(estimator)
    # What earlier files do not have, and this estimator has not either, needs no place.
    learned = {key: value for key, value in learned.items() if key not in stored.later or value is not None}
    content = {
        "format": FORMAT,
        "format_version": SINCE.get(name, _USUAL_VERSION),
        "hypergauss": __version__,
        "estimator": name,
        "parameters": {key: writer.encode(value, key) for key, value in given.items()},
        "learned": {key: writer.encode(value, key) for key, value in learned.items()},
        "nodes": writer.nodes,
    }
    write_archive(path, content, writer.arrays)


def load(path: str | os.PathLike[str], classes: Sequence[type] = ()) -> Any:
    """Read a fitted estimator that `save` has written; its predictions are the same to the last digit.

    Those of the iterative solver are the same to its tolerances: it begins without what learning had left behind.

    A file that is damaged, of another kind, or written by a newer version is refused with a `FileError`. Files of
    earlier versions are read.

    Parameters
    ----------
    path : path
        The file.
    classes : sequence of type
        Classes of kernels and likelihoods of your own that the model may hold. They are found by name among these; a
        file never makes anything be imported.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from hypergauss import Hypergraph, HypergraphGPRegressor, Spectrum, load, save
    >>> from hypergauss.kernels import SpectralKernel
    >>> class Step(SpectralKernel):
    ...     def filter(self, eigenvalues):
    ...         return np.where(eigenvalues < 0.5, 1.0, 0.1)
    >>> H = Hypergraph.from_edges([["a", "b", "c"], ["c", "d"], ["d", "e", "f"]])
    >>> model = HypergraphGPRegressor(H, Step(Spectrum.of(H)), learn=False).fit(["a", "f"], [1.0, 3.0])
    >>> path = pathlib.Path(tempfile.mkdtemp(), "model.hypergauss")
    >>> save(model, path)
    >>> bool((load(path, classes=[Step]).predict(["c"]) == model.predict(["c"])).all())
    True
    """
    own = check_own(classes)
    archive = read_archive(path)
    content = archive.content
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FileError(f"{path} is no model of hypergauss. Write one with `hypergauss.save`.")
    version = content.get("format_version")
    if type(version) is not int or version > FORMAT_VERSION:
        raise FileError(
            f"{path} was written by hypergauss {content.get('hypergauss')} in a newer layout ({version}) than this "
            f"version ({__version__}) knows ({FORMAT_VERSION}). Update it: `pip install --upgrade hypergauss`."
        )
    try:
        state = _state_of_version_1(archive) if version == 1 else _state(archive, own)
        return _estimator(ESTIMATORS[content["estimator"]], state)
    except FileError as error:
        raise FileError(f"{path} cannot be read as it is. {error}") from error
    except (*DAMAGE, HypergaussError) as error:
        raise FileError(f"{path} is damaged, though its archive is whole ({error}). Save the model again.") from error


def _state(archive: Archive, own: Sequence[type]) -> dict[str, Any]:
    reader = Reader(archive, archive.content["nodes"], own)
    parts = (archive.content[part] for part in ("parameters", "learned"))
    return {str(key): reader.decode(value) for part in parts for key, value in part.items()}


def _state_of_version_1(archive: Archive) -> dict[str, Any]:
    reader = Version1Reader(archive, archive.content["nodes"])
    return renamed({str(key): reader.decode(value) for key, value in archive.content["state"].items()})


def _estimator(stored: Stored, state: Mapping[str, Any]) -> Any:
    """Return an estimator with parameters and what was learned; what the file does not have yet is as usual."""
    given = inspect.signature(stored.cls).parameters
    usual = {name: each.default for name, each in given.items() if each.default is not inspect.Parameter.empty}
    usual |= stored.later
    wanted = {*given, *stored.state}
    odd = (set(state) - wanted) | (wanted - set(state) - set(usual))
    if odd:
        raise ValueError(f"{stored.cls.__name__} has other parameters or other state: {', '.join(sorted(odd))}")
    estimator: Any = object.__new__(stored.cls)
    vars(estimator).update(usual | dict(state))
    check_is_fitted(estimator)
    if stored.check is not None:
        stored.check(estimator)
    return estimator
