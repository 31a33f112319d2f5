"""Data sets that are not shipped: their public sources have other formats, so nothing is downloaded.

Each is read from files of our own layout in the folder that HYPERGAUSS_DATA names. A file ``vertices*.csv`` has one row
a vertex, and ``hyperedges*.txt`` one hyperedge a line: the row numbers of its vertices, from 0, separated by commas.
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
import scipy.sparse as sp

from hypergauss.datasets.dataset import Dataset
from hypergauss.datasets.folder import Folder
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.names import Name

_PERU = Folder(
    "peru-congress-2006-2011",
    "The bills are public in the GitHub repository openpolitica/congreso-proyectos, commit 9dd8223, file "
    "data/proyectos-ley-2006.avro; it states no licence, so they are not shipped. Write them out as the documentation "
    "of `fetch_peru_congress` says.",
)
_CORA = Folder(
    "cora-coauthorship",
    "The data are public in the GitHub repository malllabiisc/HyperGCN, commit de04938, folder data/coauthorship/cora, "
    "as Python pickles. Write them out as the documentation of `fetch_cora_coauthorship` says.",
)

#: Years of bills for which the groups of all legislators were worked out.
_PERU_YEARS = (2007,)
#: The group that the Congress states for a bill signed across groups.
_MULTIPARTY = "Multipartidario"


def fetch_peru_congress(year: int = 2007, *, multiparty: bool = False) -> Dataset:
    """Return the Congress of Peru: 120 legislators, a hyperedge for the signers of each of 874 bills, 3 groups.

    Vertices are named by legislator, in the order of the file, and hyperedges by bill.

    Parameters
    ----------
    year : int
        The calendar year of the bills. Only 2007 is there.
    multiparty : bool
        Keep only the 88 bills signed across parliamentary groups, which say far less of the groups. All legislators
        stay, those without such a bill as isolated vertices.

    Notes
    -----
    Files in ``HYPERGAUSS_DATA/peru-congress-2006-2011``:

    - ``vertices_2007.csv`` with columns vertex, legislator_id, name, parliamentary_group, group_share, label,
      label_as_elected;
    - ``hyperedges_2007.txt``;
    - ``hyperedge_info_2007.csv``, one row a hyperedge, with columns hyperedge, bill_id, date, parliamentary_group,
      size.

    The target (government, opposition or minority) is inferred from the groups stated on the bills. These are not the
    files of Lee, Magallanes and Porter (2017), nor those of the paper: counts may differ from theirs.

    Examples
    --------
    >>> fetch_peru_congress().hypergraph  # doctest: +SKIP
    Hypergraph(120 vertices, 874 hyperedges, 6,685 incidences)
    """
    if year not in _PERU_YEARS:
        raise ValueError(
            f"`year` must be one whose parliamentary groups were worked out: {', '.join(map(str, _PERU_YEARS))}. "
            f"Got {year!r}. For another, derive labels from the bills and use `Hypergraph.from_table`."
        )
    table = pd.read_csv(_PERU.file(f"vertices_{year}.csv"), index_col="name").drop(columns="vertex")
    bills = pd.read_csv(_PERU.file(f"hyperedge_info_{year}.csv"), dtype={"bill_id": str})
    hypergraph = _hypergraph(_PERU.hyperedges(f"hyperedges_{year}.txt"), table.index, bills["bill_id"])
    if multiparty:
        across = bills["parliamentary_group"].str.contains(_MULTIPARTY, regex=False)
        hypergraph = hypergraph.subhypergraph(edges=bills.loc[across, "bill_id"])
    description = (
        f"Congress of Peru, bills of {year} and their authors, as collected by openpolitica/congreso-proyectos from "
        "the Congress's public records; the target is the side of each legislator, inferred from the groups on bills."
    )
    return Dataset(hypergraph, table["label"], table, description)


def fetch_cora_coauthorship() -> Dataset:
    """Return Cora: 2,708 papers, a hyperedge for the papers of each of 1,072 authors, 7 topics, 1,433 words.

    Vertices are 0, 1, ... in the order of the file; 320 papers share no author with another and are isolated. The
    target is the number of the topic. Entry (i, j) of ``features`` is 1 if paper i contains word j.

    Notes
    -----
    Files in ``HYPERGAUSS_DATA/cora-coauthorship``: ``vertices.csv`` with columns vertex, label; ``hyperedges.txt``;
    ``features.npz``, written by `scipy.sparse.save_npz`.

    Examples
    --------
    >>> fetch_cora_coauthorship().hypergraph  # doctest: +SKIP
    Hypergraph(2,708 vertices, 1,072 hyperedges, 4,585 incidences)
    """
    table = pd.read_csv(_CORA.file("vertices.csv"), index_col="vertex")
    hyperedges = _CORA.hyperedges("hyperedges.txt")
    hypergraph = _hypergraph(hyperedges, table.index, range(len(hyperedges)))
    features = sp.csr_array(sp.load_npz(_CORA.file("features.npz")), dtype=float)
    description = (
        "Cora co-authorship (Yadati et al. 2019, repository malllabiisc/HyperGCN, Apache-2.0): papers and their "
        "authors; the target is the topic."
    )
    return Dataset(hypergraph, table["label"], table, description, features)


def _hypergraph(hyperedges: list[list[int]], vertices: pd.Index, names: Iterable[Name]) -> Hypergraph:
    members = {name: vertices[rows] for name, rows in zip(names, hyperedges, strict=True)}
    return Hypergraph.from_edges(members, vertices=vertices)
