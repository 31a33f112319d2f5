"""``hypergauss datasets``: the data at hand, listed at once, or written out as tables."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from hypergauss import _checks
from hypergauss.cli import idle

#: What each is, and what loads it.
CATALOGUE = {
    "zoo": ("101 animals by their traits; the target is the type", "load_zoo"),
    "house-votes": ("435 members of the US House by their votes; the target is the party", "load_house_votes"),
    "automobiles": ("205 cars by their categories; the target is the price", "load_automobiles"),
    "peru-congress": ("120 legislators by the bills they signed (needs HYPERGAUSS_DATA)", "fetch_peru_congress"),
    "cora": ("2,708 papers by their authors (needs HYPERGAUSS_DATA)", "fetch_cora_coauthorship"),
}


def datasets(options: argparse.Namespace) -> None:
    """List the data sets, or write one as the tables that `hypergauss fit` takes."""
    if options.name is None:
        idle.refuse(options, ["out", "overwrite"], "goes with the name of a data set to write. Name one.")
        _list(as_json=options.json)
        return
    if options.name not in CATALOGUE:
        near = _checks.did_you_mean(options.name, list(CATALOGUE))
        raise ValueError(f"There is no data set {options.name!r}.{near} There are {', '.join(CATALOGUE)}.")
    from hypergauss.cli.datasets_as_tables import write  # a list needs none of what tables need

    write(CATALOGUE[options.name][1], options.out or Path(options.name), options)


def _list(*, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps({name: text for name, (text, _) in CATALOGUE.items()}) + "\n")
        return
    for name, (text, _) in CATALOGUE.items():
        sys.stdout.write(f"{name:<14} {text}\n")
