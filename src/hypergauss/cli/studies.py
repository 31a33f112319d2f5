"""``hypergauss demo`` and ``hypergauss reproduce``."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from typing import Any

from rich.console import Console

from hypergauss.cli import idle, story
from hypergauss.experiments import STUDIES


def demo(options: argparse.Namespace) -> None:
    """Run the demonstration."""
    story.tell(options)


def reproduce(options: argparse.Namespace) -> None:
    """Run one study or all; of all, those whose data are not at hand are left out, with a word."""
    if options.study not in ("congress", "all"):
        idle.refuse(options, ["paper_recipe"], f"is of the study congress. Got {options.study}. Leave it out.")
    if options.study not in ("defaults", "movielens"):
        idle.refuse(options, ["only"], f"is of the studies defaults and movielens. Got {options.study}. Leave it out.")
    for name, module in STUDIES.items():
        if options.study in (name, "all"):
            switches: dict[str, Any] = {"paper_recipe": True} if options.paper_recipe and name == "congress" else {}
            if options.only:
                switches["only"] = options.only
            try:
                import_module(module).run(options.out, Console(), quick=options.quick, **switches)
            except FileNotFoundError as error:
                if options.study != "all":
                    raise
                print(f"hypergauss: {name} is left out. {error}", file=sys.stderr)  # noqa: T201
