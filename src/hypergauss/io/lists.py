"""Plain lists: a line a hyperedge, its members separated by commas, with the names of numbered members elsewhere."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hypergauss import _checks
from hypergauss.exceptions import FileError
from hypergauss.hypergraph import Hypergraph
from hypergauss.io.files import existing_file, read_text

#: Lines by which a list is told from a table.
_LOOKED_AT = 1000
_WHOLE = re.compile(r"\d{1,18}")
#: A line of names that says whose name it is: 12 Jane Doe, or 12,Jane Doe.
_NUMBERED = re.compile(r"(\d{1,18})[\s,;]+(\S.*)")


class Lists(NamedTuple):
    """A hypergraph read from plain lists, and what members were numbered from, if they were.

    Attributes
    ----------
    hypergraph : Hypergraph
        Its hyperedges are called 1, 2, ... by line.
    first : int or None
        The number of the vertex that comes first, 0 or 1; None where members are no numbers.
    """

    hypergraph: Hypergraph
    first: int | None


def read_lists(
    path: str | os.PathLike[str],
    *,
    names: str | os.PathLike[str] | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> Hypergraph:
    r"""Read a hypergraph from a text file with a line a hyperedge: its members, separated by commas, say.

    Parameters
    ----------
    path : path
        The file. An empty line is an empty hyperedge. Hyperedges are called 1, 2, ... by line.
    names : path, optional
        A file with a line a vertex: the name of number 1 (or 0, if there is a member 0), of the next one, and so on; or
        a number and a name in each line. Its vertices are all that there are, those in no hyperedge too. A name that
        occurs twice gets its number behind it.
    separator : str, optional
        Between members; a tab, semicolon, comma or space is told from the file.
    encoding : str, default "utf-8"
        Of both files.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "bills.txt")
    >>> _ = path.write_text("1,2\n2,3,4\n")
    >>> _ = path.with_name("names.txt").write_text("ana\nluis\nrosa\njuan\n")
    >>> read_lists(path, names=path.with_name("names.txt")).members(2)
    ['luis', 'rosa', 'juan']
    """
    return read_numbered_lists(path, names=names, separator=separator, encoding=encoding).hypergraph


def read_numbered_lists(
    path: str | os.PathLike[str],
    *,
    names: str | os.PathLike[str] | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> Lists:
    """Do what `read_lists` does, and say from what number members are counted."""
    file = existing_file(path)
    lines = read_text(file, encoding).splitlines()
    if not any(line.strip() for line in lines):
        raise FileError(f"{file} is empty. A line for each hyperedge is needed: its members, separated by commas.")
    between = separator or _separator_of(lines)
    edges = [_fields(line, between) for line in lines]
    members = dict.fromkeys(member for edge in edges for member in edge)
    first = None
    if all(_WHOLE.fullmatch(member) for member in members):
        first = 0 if "0" in members else 1
    if names is None:
        vertices = sorted(members, key=int) if first is not None else list(members)
        called: dict[str, Any] = {member: int(member) if first is not None else member for member in vertices}
    else:
        called = _called(existing_file(names), members, first, file, encoding)
    hyperedges = {number: [called[m] for m in edge] for number, edge in enumerate(edges, start=1)}
    return Lists(Hypergraph.from_edges(hyperedges, vertices=list(dict.fromkeys(called.values()))), first)


def looks_like_lists(path: Path, *, separator: str | None, encoding: str) -> bool:
    """Tell lists of members, whose lines are of different lengths, from a table."""
    with path.open("rb") as file:
        head = b"".join(line for line, _ in zip(file, range(_LOOKED_AT), strict=False))
    lines = [line for line in head.decode(encoding, errors="replace").splitlines() if line.strip()]
    if '"' in "".join(lines):
        return False
    between = separator or _separator_of(lines)
    return len({len(_fields(line, between)) for line in lines}) > 1


def lines_of(path: Path, encoding: str) -> list[str]:
    """Return the lines of a file without the spaces around them; empty ones at the end do not count."""
    return [line.strip() for line in read_text(existing_file(path), encoding).rstrip().splitlines()]


def _separator_of(lines: Sequence[str]) -> str:
    """Return the commonest of tab, semicolon and comma; a space where there is none of them."""
    text = "\n".join(lines[:_LOOKED_AT])
    found = max("\t;,", key=text.count)
    return found if found in text else " "


def _fields(line: str, separator: str) -> list[str]:
    parts = line.split() if separator == " " else line.split(separator)
    return [part.strip() for part in parts if part.strip()]


def _called(path: Path, members: dict[str, None], first: int | None, file: Path, encoding: str) -> dict[str, Any]:
    """Return the name of each number."""
    if first is None:
        odd = next(member for member in members if not _WHOLE.fullmatch(member))
        raise FileError(
            f"{file} must hold numbers where {path} names them. Got {odd!r}. Leave the file of names out, or check "
            "what separates members."
        )
    lines = lines_of(path, encoding)
    numbered = [_NUMBERED.fullmatch(line) for line in lines]
    if lines and all(numbered) and len({found[1] for found in numbered if found}) == len(lines):
        names = {str(int(found[1])): found[2].strip() for found in numbered if found}
    else:
        names = {str(number): line for number, line in enumerate(lines, start=first)}
    strangers = [member for member in members if str(int(member)) not in names]
    if strangers:
        raise FileError(
            f"{path} must name every vertex of {file}. Number {strangers[0]}{_checks.others(len(strangers) - 1)} has "
            f"no line: there are {len(lines):,}, counted from {first}."
        )
    counts: dict[str, int] = {}
    for name in names.values():
        counts[name] = counts.get(name, 0) + 1
    unique = {n: name if counts[name] == 1 and name else f"{name or 'vertex'} ({n})" for n, name in names.items()}
    return unique | {member: unique[str(int(member))] for member in members}
