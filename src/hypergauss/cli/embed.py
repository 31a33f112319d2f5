"""``hypergauss embed``: a map of the vertices as a table."""

from __future__ import annotations

import argparse

import pandas as pd

from hypergauss._progress import displayed
from hypergauss.cli import given, idle, inputs
from hypergauss.cli.outputs import hand_over
from hypergauss.embedding import HypergraphGPLVM, SpectralEmbedding


def embed(options: argparse.Namespace) -> None:
    """Place the vertices; with the GPLVM, with the standard deviation of each coordinate."""
    idle.check_output(options)
    H = inputs.memberships(given.of_hypergraph(options)).hypergraph
    columns = [f"x{number + 1}" for number in range(options.dimensions)]
    with displayed("placing vertices", lines=False):
        if options.method == "spectral":
            coordinates = SpectralEmbedding(options.dimensions).fit_transform(H)
            table = pd.DataFrame(coordinates, columns=columns)
        else:
            model = HypergraphGPLVM(options.dimensions, random_state=options.seed).fit(H)
            table = pd.DataFrame(model.embedding_, columns=columns)
            table[[f"std_{column}" for column in columns]] = model.coordinate_std_
    table.insert(0, "vertex", H.vertices)
    hand_over(table, options, key="coordinates", title="Map")
