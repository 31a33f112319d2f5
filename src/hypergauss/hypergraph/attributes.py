"""Attributes: what files and other packages know of a hypergraph beyond who takes part in what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import pandas as pd

from hypergauss.hypergraph.names import ByName, Membership, Name

#: How files call the time of a hyperedge or of a membership.
TIMES = frozenset({"time", "times", "timestamp", "timestamps", "date", "datetime", "start", "end", "begin"})
#: What is noted of one of them, by what it is called.
Notes: TypeAlias = Mapping[str, Any]
_NONE: Mapping[Any, Any] = MappingProxyType({})


class Attributes(NamedTuple):
    """Notes on vertices, hyperedges and memberships. No computation looks at them; files and neighbours keep them.

    Attributes
    ----------
    vertices, edges : dict of name to dict
        Attributes of some vertices and hyperedges.
    incidences : dict of (vertex, edge) to dict
        Attributes of some memberships.
    metadata : dict
        Of the whole.
    vertex_weights : dict of name to float
        Weights of vertices, which the model does not have.
    directions : dict of (vertex, edge) to tuple
        "head", "tail" or both, of a directed hypergraph's memberships. The model takes all as members alike.
    absent : dict of (vertex, edge) to float
        Memberships that a file lists with weight 0 or less: to the model there are none, but they are written again.
    network_type : str or None
        As a file names it: "undirected", "directed" or "asc" (abstract simplicial complex).

    Examples
    --------
    >>> from hypergauss import Hypergraph
    >>> H = Hypergraph.from_edges({"bill": ["ana", "luis"]}).with_attributes(vertices={"ana": {"age": 41}})
    >>> H.attributes.vertices["ana"]
    {'age': 41}
    """

    vertices: ByName[Notes] = _NONE
    edges: ByName[Notes] = _NONE
    incidences: Mapping[Membership, Notes] = _NONE
    metadata: Notes = _NONE
    vertex_weights: ByName[float] = _NONE
    directions: Mapping[Membership, tuple[str, ...]] = _NONE
    absent: Mapping[Membership, float] = _NONE
    network_type: str | None = None

    def ignored(self) -> list[str]:
        """Return in words what is known of the hypergraph that could matter and that no model looks at.

        Examples
        --------
        >>> Attributes(edges={"bill": {"date": "2006-07-28"}}).ignored()
        ['times of 1 hyperedge']
        """
        counts = {
            "directions of {} membership": len(self.directions),
            "times of {} hyperedge": _timed(self.edges),
            "times of {} membership": _timed(self.incidences),
            "weights of {} vertex": len(self.vertex_weights),
        }
        found = {phrase.format(f"{count:,}"): count for phrase, count in counts.items() if count}
        return [phrase if count == 1 else _many(phrase) for phrase, count in found.items()]

    def restricted(self, vertices: pd.Index, edges: pd.Index) -> Attributes:
        """Return what concerns these vertices and hyperedges."""
        if not any(part for part in self._replace(metadata=_NONE) if isinstance(part, Mapping)):
            return self
        here, there = set(vertices), set(edges)
        return self._replace(
            vertices={v: notes for v, notes in self.vertices.items() if v in here},
            edges={e: notes for e, notes in self.edges.items() if e in there},
            incidences={(v, e): a for (v, e), a in self.incidences.items() if v in here and e in there},
            vertex_weights={v: weight for v, weight in self.vertex_weights.items() if v in here},
            directions={(v, e): d for (v, e), d in self.directions.items() if v in here and e in there},
            absent={(v, e): weight for (v, e), weight in self.absent.items() if v in here and e in there},
        )

    def check(self, vertices: pd.Index, edges: pd.Index) -> None:
        """Refuse attributes of vertices, hyperedges or memberships that are not there."""
        kept = self.restricted(vertices, edges)
        for mine, theirs in zip(self, kept, strict=True):
            if isinstance(mine, Mapping) and isinstance(theirs, Mapping) and len(mine) > len(theirs):
                odd = next(name for name in mine if name not in theirs)
                raise ValueError(f"Attributes must be of vertices and hyperedges that there are. Got some of {odd!r}.")

    def renamed(self, name: Callable[[Any], Name]) -> Attributes:
        """Return the attributes of the same vertices and hyperedges under other names."""
        return self._replace(
            vertices={name(v): notes for v, notes in self.vertices.items()},
            edges={name(e): notes for e, notes in self.edges.items()},
            incidences={(name(v), name(e)): notes for (v, e), notes in self.incidences.items()},
            vertex_weights={name(v): weight for v, weight in self.vertex_weights.items()},
            directions={(name(v), name(e)): sides for (v, e), sides in self.directions.items()},
            absent={(name(v), name(e)): weight for (v, e), weight in self.absent.items()},
        )

    def swapped(self) -> Attributes:
        """Return the attributes of the dual, where vertices and hyperedges have changed places."""
        return Attributes(
            vertices=self.edges,
            edges=self.vertices,
            incidences={(e, v): notes for (v, e), notes in self.incidences.items()},
            metadata=self.metadata,
            absent={(e, v): weight for (v, e), weight in self.absent.items()},
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Views of dicts cannot be pickled; the dicts can.
        parts = (dict(part) if isinstance(part, Mapping) else part for part in self)
        return (Attributes, tuple(parts))


def copied(notes: Any) -> Any:
    """Return notes that share nothing with these; those that JSON can hold, in a tenth of `deepcopy`'s time."""
    if isinstance(notes, Mapping):
        return {key: copied(value) for key, value in notes.items()}
    if type(notes) in (list, tuple):
        return type(notes)(copied(value) for value in notes)
    return notes if notes is None or type(notes) in (str, int, float, bool) else deepcopy(notes)


def _timed(notes: ByName[Notes]) -> int:
    return sum(
        not TIMES.isdisjoint(name.lower() for name in about if isinstance(name, str)) for about in notes.values()
    )


def _many(phrase: str) -> str:
    return f"{phrase.removesuffix('vertex')}vertices" if phrase.endswith("vertex") else f"{phrase}s"
