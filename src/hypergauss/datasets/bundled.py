"""Data sets that come with the package: UCI, CC BY 4.0 (attribution in datasets/data/README.md)."""

from __future__ import annotations

from importlib.resources import files

import pandas as pd

from hypergauss.datasets.dataset import Dataset
from hypergauss.hypergraph import Hypergraph

_AUTOMOBILE_CATEGORIES = [
    "symboling",
    "make",
    "fuel-type",
    "aspiration",
    "num-of-doors",
    "body-style",
    "drive-wheels",
    "engine-location",
    "engine-type",
    "num-of-cylinders",
    "fuel-system",
]


def load_zoo(presence_only: bool = False) -> Dataset:
    """Return the zoo: 101 animals, a hyperedge for each value of 16 attributes, 7 types as labels.

    Parameters
    ----------
    presence_only : bool
        Keep only hyperedges of something present: value 1 of a yes-or-no attribute, and leg counts above 0.

    Examples
    --------
    >>> load_zoo().hypergraph
    Hypergraph(101 vertices, 36 hyperedges, 1,616 incidences)
    """
    table = _read("zoo.csv")
    # The frog stands in the table twice: one of the two is venomous.
    second = table["name"].duplicated()
    table["name"] = table["name"].where(~second, table["name"] + " (venomous)")
    table = table.set_index("name")
    hypergraph = Hypergraph.from_attributes(table.drop(columns="type"))
    if presence_only:
        hypergraph = hypergraph.subhypergraph(edges=[edge for edge in hypergraph.edges if edge[1] > 0])
    description = "UCI Zoo (Richard Forsyth, 1990), CC BY 4.0: animals and their traits; the target is the type."
    return Dataset(hypergraph, table["type"].rename("type"), table, description)


def load_house_votes() -> Dataset:
    """Return the US House of 1984: 435 members, a hyperedge for the yeas and one for the nays of 16 votes, 2 parties.

    Examples
    --------
    >>> load_house_votes().hypergraph
    Hypergraph(435 vertices, 32 hyperedges, 6,568 incidences)
    """
    table = _read("house-votes-84.csv")
    description = (
        "UCI Congressional Voting Records (Congressional Quarterly Almanac, 1984), CC BY 4.0: members and their votes; "
        "the target is the party."
    )
    return Dataset(Hypergraph.from_attributes(table.drop(columns="party")), table["party"], table, description)


def load_automobiles() -> Dataset:
    """Return cars of 1985: 205 models, a hyperedge for each value of 11 categories, the price where known (201).

    Examples
    --------
    >>> load_automobiles().hypergraph
    Hypergraph(205 vertices, 66 hyperedges, 2,253 incidences)
    """
    table = _read("imports-85.csv")
    description = (
        "UCI Automobile (Jeffrey Schlimmer, 1985), CC BY 4.0: cars and their categories; the target is the price in "
        "dollars, missing for four."
    )
    return Dataset(Hypergraph.from_attributes(table[_AUTOMOBILE_CATEGORIES]), table["price"], table, description)


def _read(name: str) -> pd.DataFrame:
    with files("hypergauss.datasets").joinpath("data", name).open(encoding="utf-8") as file:
        return pd.read_csv(file, na_values="?")
