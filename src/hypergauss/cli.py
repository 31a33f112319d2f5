"""The command line: parse, call, print. Nothing heavy is imported before it is known to be needed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from hypergauss._version import __version__
from hypergauss.experiments import STUDIES


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 1 for a mistake of the user's, 130 if interrupted."""
    options = _parser().parse_args(arguments)
    try:
        options.command(options)
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)  # noqa: T201
        return 130
    except (ValueError, TypeError, OSError) as error:
        print(f"hypergauss: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hypergauss", description="Gaussian processes on hypergraphs.")
    parser.add_argument("--version", action="version", version=f"hypergauss {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="predict prices of cars from bundled data")
    demo.add_argument("--out", type=Path, default=Path("demo-output"), help="folder for the results (%(default)s)")
    demo.set_defaults(command=_demo)

    reproduce = commands.add_parser("reproduce", help="make the tables and figures of a study")
    reproduce.add_argument("study", choices=[*STUDIES, "all"])
    reproduce.add_argument("--out", type=Path, default=Path("results"), help="folder for the results (%(default)s)")
    reproduce.add_argument("--quick", action="store_true", help="fewer repetitions, to see that it runs")
    reproduce.add_argument(
        "--paper-recipe", action="store_true", help="congress: also train exactly as the paper's appendix says"
    )
    reproduce.set_defaults(command=_reproduce)
    return parser


def _demo(options: argparse.Namespace) -> None:
    from rich.console import Console

    from hypergauss.experiments import demo

    demo.run(options.out, Console())


def _reproduce(options: argparse.Namespace) -> None:
    from rich.console import Console

    for name, module in STUDIES.items():
        if options.study in (name, "all"):
            switches = {"paper_recipe": True} if options.paper_recipe and name == "congress" else {}
            try:
                import_module(module).run(options.out, Console(), quick=options.quick, **switches)
            except FileNotFoundError as error:
                if options.study != "all":
                    raise
                print(f"hypergauss: {name} is left out. {error}", file=sys.stderr)  # noqa: T201
