"""MovieLens 100K, from the folder that HYPERGAUSS_DATA names or else from GroupLens."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from hypergauss.datasets.download import Download
from hypergauss.datasets.folder import VARIABLE
from hypergauss.hypergraph import Hypergraph

_FOLDER = "movielens-100k"
_ARCHIVE = Download(
    "https://files.grouplens.org/datasets/movielens/ml-100k.zip",
    "50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229",
)
_RATINGS = ["user", "film", "rating", "timestamp"]
_USERS = ["user", "age", "sex", "occupation", "zip_code"]
_FILMS = ["film", "title", "release_date", "video_release_date", "url"]
_DESCRIPTION = (
    "MovieLens 100K (GroupLens, 1998; F. M. Harper and J. A. Konstan, 2015): ratings of films from 1 to 5. For "
    "research, with citation; not to be redistributed without permission."
)


class MovieLens(NamedTuple):
    """Ratings of films by users, and what is known of both.

    Attributes
    ----------
    ratings : DataFrame, 100,000 rows in the order of ``u.data``
        Columns user, film, rating (1 to 5), timestamp (seconds).
    users : DataFrame indexed by user
        age, sex, occupation, zip_code.
    films : DataFrame indexed by film
        title, release_date, url.
    genres : Hypergraph
        Films as vertices, a hyperedge for each of the 19 genres.
    official : tuple of two DataFrames
        Train and test ratings of the official split u1, columns as ``ratings``.
    description : str
        What it is and whom to credit.
    """

    ratings: pd.DataFrame
    users: pd.DataFrame
    films: pd.DataFrame
    genres: Hypergraph
    official: tuple[pd.DataFrame, pd.DataFrame]
    description: str


def fetch_movielens_100k() -> MovieLens:
    """Return MovieLens 100K: 100,000 ratings of 1,682 films by 943 users.

    The official files are read from ``HYPERGAUSS_DATA/movielens-100k`` where that folder exists. Elsewhere their
    archive, 4.9 MB, is downloaded once from GroupLens, checked by its SHA-256, and kept in the folder that
    HYPERGAUSS_CACHE names, or in ~/.cache/hypergauss.

    Examples
    --------
    >>> fetch_movielens_100k().genres  # doctest: +SKIP
    Hypergraph(1,682 vertices, 19 hyperedges, 2,893 incidences)
    """
    read = _reader()
    users = pd.read_csv(read("u.user"), sep="|", names=_USERS, index_col="user")
    genres = pd.read_csv(read("u.genre"), sep="|", names=["genre", "number"])["genre"].tolist()
    table = pd.read_csv(read("u.item"), sep="|", names=_FILMS + genres, index_col="film", encoding="latin-1")
    members = {genre: table.index[table[genre] == 1] for genre in genres}
    return MovieLens(
        ratings=_ratings(read("u.data")),
        users=users,
        films=table[["title", "release_date", "url"]],
        genres=Hypergraph.from_edges(members, vertices=table.index),
        official=(_ratings(read("u1.base")), _ratings(read("u1.test"))),
        description=_DESCRIPTION,
    )


def _reader() -> Callable[[str], BytesIO]:
    """Return a function from an official file's name to its content."""
    root = os.environ.get(VARIABLE)
    folder = Path(root, _FOLDER) if root else None
    if folder is not None and folder.is_dir():
        return lambda name: _from_folder(folder, name)
    archive = zipfile.ZipFile(_ARCHIVE.path())
    return lambda name: BytesIO(archive.read(f"ml-100k/{name}"))


def _from_folder(folder: Path, name: str) -> BytesIO:
    path = folder / name
    if not path.is_file():
        raise FileNotFoundError(
            f"{folder} must hold the files of MovieLens 100K. There is no {name}. Unpack {_ARCHIVE.url} there, or "
            "remove the folder, and the archive is downloaded."
        )
    return BytesIO(path.read_bytes())


def _ratings(file: BytesIO) -> pd.DataFrame:
    return pd.read_csv(file, sep="\t", names=_RATINGS)
