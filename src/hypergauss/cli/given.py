"""Files named without options, in the order in which people name them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

#: What a saved model's file ends in.
_MODEL = ".hypergauss"


def of_fit(options: argparse.Namespace) -> argparse.Namespace:
    """Take one file for the table, or what is missing beside --edges or --labels; two for memberships and labels."""
    files = options.files
    if len(files) > 2:
        raise ValueError(
            f"Two files at most can go without an option, memberships and labels. Got {len(files)}: name the others, "
            "such as --covariates FILE."
        )
    if len(files) == 2:
        return _placed(options, ["edges", "labels"])
    if options.edges is not None:
        return _placed(options, ["labels"])
    is_hypergraph = bool(files) and files[0].suffix.lower() == ".json"
    return _placed(options, ["edges" if options.labels is not None or is_hypergraph else "table"])


def of_hypergraph(options: argparse.Namespace) -> argparse.Namespace:
    """Take a file for memberships, or for a saved model where one can be described."""
    return _placed(options, ["model" if hasattr(options, "model") and _is_model(options) else "edges"])


def of_ratings(options: argparse.Namespace) -> argparse.Namespace:
    """Take a file for ratings, or for a saved model of them."""
    return _placed(options, ["model" if _is_model(options) else "ratings"])


def _is_model(options: argparse.Namespace) -> bool:
    return bool(options.files) and options.files[0].suffix == _MODEL


def _placed(options: argparse.Namespace, places: Sequence[str]) -> argparse.Namespace:
    """Return options in which the files have their places, each of which must be free."""
    files: Sequence[Path] = options.files
    if len(files) > len(places):
        raise ValueError(f"One file is needed here. Got {len(files)}: {', '.join(map(str, files))}.")
    placed = dict(zip(places, files, strict=False))
    for place in placed:
        if getattr(options, place) is not None:
            raise ValueError(
                f"{placed[place]} would be --{place}, and that is {getattr(options, place)}. Leave one out."
            )
    return argparse.Namespace(**{**vars(options), **placed})
