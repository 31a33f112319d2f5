"""HIF, the Hypergraph Interchange Format: one JSON file that XGI, HyperNetX and others read and write as well.

A file is an object with ``incidences``, a list of ``{"edge", "node", "weight", "direction", "attrs"}``, and optionally
``nodes``, ``edges``, ``metadata`` and ``network-type``. Nothing else may stand in it.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from hypergauss import _checks
from hypergauss.exceptions import DataWarning, FileError
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.attributes import Attributes, Notes
from hypergauss.hypergraph.names import Membership, plain
from hypergauss.io.files import existing_file, read_text, written_whole
from hypergauss.io.given import check_hypergraph

#: An object of a file.
Record: TypeAlias = dict[str, Any]

_NETWORK_TYPES = ("undirected", "directed", "asc")
_DIRECTIONS = ("head", "tail")
#: The parts of a file: what each record of it must have, and what it may have besides.
_RECORDS = {
    "incidences": (("edge", "node"), {"weight", "direction", "attrs"}),
    "nodes": (("node",), {"weight", "attrs"}),
    "edges": (("edge",), {"weight", "attrs"}),
}


def read_hif(path: str | os.PathLike[str]) -> Hypergraph:
    """Read a hypergraph from a HIF file.

    Vertices are in the order of ``nodes``, then of first appearance; hyperedges alike. A membership listed twice counts
    once, or adds up if it has weights. What the model does not know (attributes, weights of vertices, directions,
    memberships of weight 0, metadata) is kept in ``attributes``, and `write_hif` writes it again. HIF allows any number
    as a weight. A membership of negative weight is kept like one of weight 0, with a `DataWarning`: to the model it is
    none. A hyperedge's weight that is not positive has no meaning in the model and is refused.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "small.json")
    >>> _ = path.write_text(json.dumps({"incidences": [{"edge": "bill", "node": "ana"}], "nodes": [{"node": "luis"}]}))
    >>> read_hif(path)
    Hypergraph(2 vertices, 1 hyperedge, 1 incidence)
    """
    file = existing_file(path)
    try:
        content = json.loads(read_text(file), parse_constant=_no_such_number)
    except (json.JSONDecodeError, RecursionError) as error:
        reason = f"{error}" if isinstance(error, json.JSONDecodeError) else "it is nested too deeply"
        raise FileError(f"{file} must be JSON, and is not: {reason}. Save it again as HIF.") from error
    except ValueError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{file} must be JSON, and holds a number that is none: {error}.") from error
    try:
        return from_hif(content)
    except (FileError, OverflowError) as error:
        raise FileError(f"{file} does not follow HIF. {error}") from error
    except ValueError as error:
        raise FileError(f"{file} holds no hypergraph that can be used. {error}") from error


def from_hif(content: object) -> Hypergraph:
    """Return the hypergraph that a HIF file's content, as `json` reads it, describes."""
    if not isinstance(content, dict):
        raise FileError(f"It must be an object with 'incidences'. Got {_kind(content)}.")
    unknown = [key for key in content if key not in (*_RECORDS, "metadata", "network-type")]
    if unknown:
        raise FileError(f"It may not have {unknown[0]!r}; keep such things in 'metadata'.")
    if "incidences" not in content:
        raise FileError("It must have 'incidences', if only an empty list.")
    network_type = content.get("network-type")
    if "network-type" in content and (not isinstance(network_type, str) or network_type not in _NETWORK_TYPES):
        raise FileError(f"'network-type' must be one of {', '.join(_NETWORK_TYPES)}. Got {network_type!r}.")
    metadata = content.get("metadata", {})
    if not isinstance(metadata, dict):
        raise FileError(f"'metadata' must be an object. Got {_kind(metadata)}.")
    incidences, nodes, edges = (_records(content, part) for part in _RECORDS)

    vertex_names = [_name(record, "node", "nodes") for record in nodes]
    edge_names = [_name(record, "edge", "edges") for record in edges]
    members = [_name(record, "node", "incidences") for record in incidences]
    within = [_name(record, "edge", "incidences") for record in incidences]
    vertices, in_edges = _in_order(vertex_names + members), _in_order(edge_names + within)
    pairs = list(zip(members, within, strict=True))
    is_weighted = any("weight" in record for record in incidences)
    total = _totals(pairs, incidences) if is_weighted else {}
    absent = {pair: strength for pair, strength in total.items() if strength <= 0}
    _warn_of_negative(absent)
    table: Record = {"node": _column(members), "edge": _column(within)}
    if is_weighted:
        present = {pair: strength for pair, strength in total.items() if strength > 0}
        table = {"node": _column([v for v, _ in present]), "edge": _column([e for _, e in present])}
        table["weight"] = list(present.values())
    weights = dict.fromkeys(in_edges, 1.0)
    weights |= {edge: r["weight"] for edge, r in zip(edge_names, edges, strict=True) if "weight" in r}
    H = Hypergraph.from_table(
        table,
        vertex="node",
        edge="edge",
        weight="weight" if is_weighted else None,
        vertices=vertices,
        edges=in_edges,
        weights=weights,
    )
    directions: dict[Membership, tuple[str, ...]] = {}
    for pair, record in zip(pairs, incidences, strict=True):
        if "direction" in record:
            directions[pair] = tuple(dict.fromkeys((*directions.get(pair, ()), record["direction"])))
    return H.with_attributes(
        vertices=_attrs(vertex_names, nodes),
        edges=_attrs(edge_names, edges),
        incidences=_attrs(pairs, incidences),
        metadata=metadata,
        vertex_weights={
            v: record["weight"] for v, record in zip(vertex_names, nodes, strict=True) if "weight" in record
        },
        directions=directions,
        absent=absent,
        network_type=network_type,
    )


def write_hif(H: Hypergraph, path: str | os.PathLike[str], *, names: Callable[[Any], str | int] | None = None) -> None:
    """Write a hypergraph to a HIF file, attributes included.

    Parameters
    ----------
    H : Hypergraph
        What to write.
    path : path
        Where to. The file appears whole or not at all.
    names : callable, optional
        HIF's names are text and whole numbers; this turns names of other kinds, such as tuples, into them: ``str``.
    """
    content = to_hif(H, names=names)
    try:
        text = json.dumps(content, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise FileError(
            f"Attributes must be what JSON can hold: text, finite numbers, lists, dicts. {error}."
        ) from error
    with written_whole(Path(path)) as file:
        file.write(text.encode("ascii"))


def to_hif(H: Hypergraph, *, names: Callable[[Any], str | int] | None = None) -> Record:
    """Return the content of a HIF file that describes a hypergraph."""
    check_hypergraph(H)
    notes: Attributes = H.attributes
    vertices, edges = (_hif_names(index, names) for index in (H.vertices, H.edges))
    matrix = H.incidence.tocoo()
    order = np.lexsort((matrix.row, matrix.col))
    noted = bool(notes.incidences or notes.directions)
    weighted = bool((matrix.data != 1.0).any() or notes.absent)
    incidences: list[Record] = []
    for row, column, strength in zip(
        matrix.row[order].tolist(), matrix.col[order].tolist(), matrix.data[order].tolist(), strict=True
    ):
        record: Record = {"edge": edges[column], "node": vertices[row]}
        if strength != 1.0:
            record["weight"] = strength
        pair = (plain(H.vertices[row]), plain(H.edges[column])) if noted else None
        incidences += [record] if pair is None else _noted(record, pair, notes, weighted)
    spelt = {plain(v): name for v, name in zip(H.vertices, vertices, strict=True)} if notes.absent else {}
    named = {plain(e): name for e, name in zip(H.edges, edges, strict=True)} if notes.absent else {}
    for (v, e), strength in notes.absent.items():
        incidences += _noted({"edge": named[e], "node": spelt[v], "weight": strength}, (v, e), notes, weighted)
    content: Record = {"incidences": incidences}
    content["nodes"] = [
        _record("node", name, notes.vertex_weights.get(v), notes.vertices.get(v))
        for name, v in zip(vertices, H.vertices, strict=True)
    ]
    content["edges"] = [
        _record("edge", name, None if weight == 1.0 else weight, notes.edges.get(e))
        for name, e, weight in zip(edges, H.edges, H.weights.tolist(), strict=True)
    ]
    if notes.metadata:
        content["metadata"] = dict(notes.metadata)
    if notes.network_type is not None:
        content["network-type"] = notes.network_type
    return content


def _noted(record: Record, pair: Membership, notes: Attributes, weighted: bool) -> list[Record]:
    """Return a membership's record with what is noted of it, one for each of its directions."""
    if notes.incidences.get(pair):
        record["attrs"] = dict(notes.incidences[pair])
    directions = notes.directions.get(pair, ())
    if len(directions) > 1 and weighted:
        record["weight"] = record.get("weight", 1.0) / len(directions)  # they add up when read
    return [record | {"direction": direction} for direction in directions] or [record]


def _record(kind: str, name: str | int, weight: float | None, attrs: Notes | None) -> Record:
    record: Record = {kind: name}
    if weight is not None:
        record["weight"] = weight
    if attrs:
        record["attrs"] = dict(attrs)
    return record


def _hif_names(index: pd.Index, names: Callable[[Any], str | int] | None) -> list[str | int]:
    """Return names that HIF allows, all different."""
    listed = index.tolist()
    allowed = [type(name) in (str, int) for name in listed]
    if names is not None:
        listed = [name if fine else names(name) for name, fine in zip(listed, allowed, strict=True)]
        if len(set(listed)) < len(listed):
            raise ValueError("`names` must give different names to different vertices and hyperedges. Got one twice.")
    elif not all(allowed):
        odd = listed[allowed.index(False)]
        raise ValueError(
            f"HIF's names are text or whole numbers. Got {odd!r}. Pass `names=str`, or a function of yours."
        )
    return listed


def _records(content: Mapping[str, Any], part: str) -> list[Record]:
    """Return the records of one part, each checked."""
    records = content.get(part, [])
    if not isinstance(records, list):
        raise FileError(f"{part!r} must be a list. Got {_kind(records)}.")
    required, optional = _RECORDS[part]
    allowed = optional.union(required)
    for position, record in enumerate(records):
        if not isinstance(record, dict):
            raise FileError(f"Each of {part!r} must be an object. Got {_kind(record)} at position {position}.")
        if not allowed.issuperset(record):
            odd = next(key for key in record if key not in allowed)
            raise FileError(f"{part!r} may not have {odd!r} (position {position}); keep such things in 'attrs'.")
        for key in required:
            if key not in record:
                raise FileError(f"Each of {part!r} must have {key!r}. The one at position {position} has not.")
        if "weight" in record and (isinstance(record["weight"], bool) or not isinstance(record["weight"], int | float)):
            raise FileError(
                f"A weight must be a number. Got {_kind(record['weight'])} in {part!r}, position {position}."
            )
        if "direction" in record and record["direction"] not in _DIRECTIONS:
            raise FileError(f"A direction must be 'head' or 'tail'. Got {record['direction']!r}, position {position}.")
        if "attrs" in record and not isinstance(record["attrs"], dict):
            raise FileError(
                f"'attrs' must be an object. Got {_kind(record['attrs'])} in {part!r}, position {position}."
            )
    return records


def _name(record: Mapping[str, Any], kind: str, part: str) -> str | int:
    """Return a name: text, or a whole number, which JSON may also write as 1.0."""
    name = record[kind]
    if type(name) is str or type(name) is int:
        return name
    if isinstance(name, float) and name.is_integer():
        return int(name)
    raise FileError(f"A name must be text or a whole number. Got {_kind(name)} for {kind!r} in {part!r}.")


def _totals(pairs: list[Membership], incidences: list[Record]) -> dict[Membership, float]:
    """Return the weight of each membership; that of one listed twice adds up."""
    total: dict[Membership, float] = {}
    for pair, record in zip(pairs, incidences, strict=True):
        total[pair] = total.get(pair, 0.0) + float(record.get("weight", 1.0))
    _checks.finite_array("weight", list(total.values()), missing="Give every membership a weight that is a number.")
    return total


def _warn_of_negative(absent: Mapping[Membership, float]) -> None:
    negative = [pair for pair, strength in absent.items() if strength < 0]
    if negative:
        (v, e), strength = negative[0], absent[negative[0]]
        warnings.warn(
            f"A membership of negative weight is none to the model. Got {strength:g} for {v!r} in {e!r}"
            f"{_checks.others(len(negative) - 1)}: kept in `attributes.absent`, and written again by `write_hif`.",
            DataWarning,
            stacklevel=3,
        )


def _in_order(names: list[Any]) -> list[Any]:
    return list(dict.fromkeys(names))


def _column(names: list[Any]) -> np.ndarray:
    """Hold names as objects, or as integers if all are."""
    if names and all(type(name) is int for name in names) and max(map(abs, names)) < 2**63:
        return np.asarray(names, dtype=np.int64)
    return np.fromiter(names, dtype=object, count=len(names))


def _attrs(names: list[Any], records: list[Record]) -> dict[Any, Record]:
    """Return the attributes of those that have any; of several records of one, all."""
    merged: dict[Any, Record] = {}
    for name, record in zip(names, records, strict=True):
        if record.get("attrs"):
            merged[name] = merged.get(name, {}) | record["attrs"]
    return merged


def _no_such_number(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


def _kind(value: object) -> str:
    """Name a JSON value's kind."""
    if value is None:
        return "null"
    kinds = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "an object"}
    return f"{kinds[type(value)]} ({value!r:.40})" if type(value) in (bool, int, float, str) else kinds[type(value)]
