"""``hypergauss embed``: a map of the vertices as a table."""

from __future__ import annotations

import argparse
import sys

import pandas as pd

from hypergauss.cli import inputs
from hypergauss.cli.outputs import progress, say, say_json, write_csv
from hypergauss.embedding import HypergraphGPLVM, SpectralEmbedding


def embed(options: argparse.Namespace) -> None:
    """Place the vertices; with the GPLVM, with the standard deviation of each coordinate."""
    H = inputs.hypergraph(options)
    columns = [f"x{number + 1}" for number in range(options.dimensions)]
    with progress("placing vertices"):
        if options.method == "spectral":
            coordinates = SpectralEmbedding(options.dimensions).fit_transform(H)
            table = pd.DataFrame(coordinates, columns=columns)
        else:
            model = HypergraphGPLVM(options.dimensions, random_state=options.seed).fit(H)
            table = pd.DataFrame(model.embedding_, columns=columns)
            table[[f"std_{column}" for column in columns]] = model.coordinate_std_
    table.insert(0, "vertex", H.vertices)
    if options.out is not None:
        write_csv(table, options.out, overwrite=options.overwrite)
    if options.json:
        say_json({"coordinates": table.to_dict(orient="records")})
    elif options.out is not None:
        say(f"Map: {options.out}")
    else:
        table.to_csv(sys.stdout, index=False)
