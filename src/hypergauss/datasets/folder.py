"""Files that the package may not ship: read from the folder that the environment variable HYPERGAUSS_DATA names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

VARIABLE = "HYPERGAUSS_DATA"


class Folder(NamedTuple):
    """A subfolder of the data folder.

    Attributes
    ----------
    name : str
        The subfolder.
    origin : str
        A sentence or two for those who do not have it: where it comes from, and how it has to look.
    """

    name: str
    origin: str

    def file(self, name: str) -> Path:
        """Return the path of a file in the folder, or explain where to get it."""
        root = os.environ.get(VARIABLE)
        if not root:
            raise self._missing(name, "It is not set.")
        path = Path(root, self.name, name)
        if not path.is_file():
            raise self._missing(name, f"There is no file {path}.")
        return path

    def hyperedges(self, name: str) -> list[list[int]]:
        """Read a file with one hyperedge a line: the positions of its vertices, from 0, separated by commas."""
        lines = self.file(name).read_text(encoding="utf-8").splitlines()
        return [[int(vertex) for vertex in line.split(",")] for line in lines]

    def _missing(self, name: str, found: str) -> FileNotFoundError:
        return FileNotFoundError(
            f"The environment variable {VARIABLE} must name the folder that holds {self.name}/{name}. {found} "
            f"{self.origin} Then set the variable: export {VARIABLE}=/path/to/data."
        )
