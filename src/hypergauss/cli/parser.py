"""What can be asked on the command line."""

from __future__ import annotations

import argparse
from pathlib import Path

from hypergauss._version import __version__
from hypergauss.experiments import STUDIES

_EXAMPLES = """examples:
  hypergauss fit edges.csv labels.csv
  hypergauss fit votes.csv --target party --out results
  hypergauss predict results/model.hypergauss --vertices names.csv
  hypergauss suggest results/model.hypergauss -n 5
  hypergauss recommend ratings.csv --user ann
  hypergauss info edges.csv
"""
_FIT = """Learn from labelled vertices, predict all others, and write what was found to a folder:
predictions.csv (a row a vertex), report.html (open it in a browser), metrics.json, and model.hypergauss
for `hypergauss predict` and `hypergauss suggest`. What was understood of the files is said before anything is
learned."""
_FIT_EXAMPLES = """examples:
  one row a membership, and one a labelled vertex (the first two columns count, unless others are named):
    hypergauss fit edges.csv labels.csv --out results
  one row a vertex; each value of each column is a hyperedge of those who share it:
    hypergauss fit votes.csv --target party --out results
  a line a hyperedge, its members by number; a line a vertex for names and for labels:
    hypergauss fit hyperedges.txt node-labels.txt --names node-names.txt --target-names label-names.txt
  more knowledge: numbers known of each vertex, and a second relation
    hypergauss fit --edges bills.csv --labels sides.csv --covariates ages.csv --relation committees=c.csv --out results
"""


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; each sets ``command`` to the module and function that serve it."""
    parser = argparse.ArgumentParser(
        prog="hypergauss",
        description="Gaussian processes on hypergraphs: calibrated predictions from who took part in what.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"hypergauss {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _fit(commands)
    _predict(commands)
    _suggest(commands)
    _embed(commands)
    _recommend(commands)
    _info(commands)
    _datasets(commands)
    _studies(commands)
    return parser


def _command(
    commands: argparse._SubParsersAction,
    name: str,
    help_text: str,
    function: tuple[str, str],
    *,
    description: str | None = None,
    epilog: str | None = None,
) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help_text,
        description=description or help_text,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(command=function)
    return command


def _hypergraph(command: argparse.ArgumentParser, files: str) -> None:
    """Add how a hypergraph is given."""
    command.add_argument("files", nargs="*", type=Path, metavar="FILE", help=files)
    group = command.add_argument_group("the hypergraph")
    group.add_argument(
        "--edges", type=Path, metavar="FILE", help="memberships: CSV, TSV, Parquet, plain lists (.txt) or HIF (.json)"
    )
    group.add_argument(
        "--vertex",
        metavar="COLUMN",
        help="the column of vertices (the first; with --table one that is different in every row, if there is one)",
    )
    group.add_argument("--edge", metavar="COLUMN", help="the column of hyperedges (the second)")
    group.add_argument("--weight", metavar="COLUMN", help="the column of membership weights")
    group.add_argument("--members", metavar="COLUMN", help="one row a hyperedge: the column that lists its members")
    group.add_argument("--within", metavar="TEXT", help="what separates members in a cell (;)")
    group.add_argument(
        "--lists", action="store_true", help="a line a hyperedge: its members (told from lines of different lengths)"
    )
    group.add_argument("--names", type=Path, metavar="FILE", help="of plain lists' numbers: a line a vertex")
    _text(command)


def _text(command: argparse.ArgumentParser) -> None:
    """Add how text tables are read."""
    group = command.add_argument_group("tables as text")
    group.add_argument(
        "--separator",
        action="append",
        default=[],
        metavar="[FILE=]TEXT",
        help="what separates columns, if a file's ending does not tell; of one file: labels=;",
    )
    group.add_argument(
        "--encoding", action="append", default=[], metavar="[FILE=]NAME", help="(utf-8); of one file: labels=latin-1"
    )
    group.add_argument(
        "--no-header", action="store_true", help="no table begins with a line of column names: they are 1, 2, ..."
    )
    group.add_argument(
        "--no-header-of", action="append", default=[], metavar="FILE", help="this one does not: edges, labels, ..."
    )


def _json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print one JSON object, for scripts")


def _fit(commands: argparse._SubParsersAction) -> None:
    fit = _command(
        commands,
        "fit",
        "learn from labelled vertices and predict all",
        ("fit", "fit"),
        description=_FIT,
        epilog=_FIT_EXAMPLES,
    )
    _hypergraph(fit, "memberships and labels, or one table with a row a vertex")
    group = fit.add_argument_group("what is known of vertices")
    group.add_argument(
        "--labels", type=Path, metavar="FILE", help="a table with a vertex and its label or value in each row"
    )
    group.add_argument("--label-vertex", metavar="COLUMN", help="its column of vertices (the first)")
    group.add_argument("--target", metavar="COLUMN", help="its column of labels or values (the second)")
    group.add_argument("--table", type=Path, metavar="FILE", help="in place of --edges and --labels: one row a vertex")
    group.add_argument(
        "--covariates", type=Path, metavar="FILE", help="a table of numbers, its first column the vertex"
    )
    group.add_argument(
        "--relation",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="a further table of memberships; may be repeated",
    )
    group.add_argument(
        "--ignore", action="append", default=[], metavar="COLUMN", help="of --table or --covariates; may be repeated"
    )
    group.add_argument("--bins", type=int, metavar="K", help="make K ranges, and hyperedges, of numbers in --table")
    group.add_argument(
        "--target-names", type=Path, metavar="FILE", help="of labels that are numbers, a line a vertex: a line a name"
    )
    group.add_argument("--isolated", action="store_true", help="accept labels of vertices that are in no hyperedge")
    group = fit.add_argument_group("the model")
    group.add_argument(
        "--target-type",
        "--task",
        dest="task",
        type=lambda word: {"numbers": "regression", "classes": "classification"}.get(word, word),
        choices=["auto", "regression", "classification"],
        metavar="{auto,numbers,classes}",
        default="auto",
        help="what is predicted; told from the target unless named",
    )
    group.add_argument(
        "--order", metavar="A,B,...", help="of ordered classes, lowest first: low,medium,high (--likelihood ordinal)"
    )
    group.add_argument(
        "--kernel", choices=["auto", "walk", "matern", "diffusion", "bernstein"], help="which filter (auto)"
    )
    group.add_argument("--size-exponent", metavar="A", help="of hyperedge weights |e|^A: a number, auto or learn")
    group.add_argument(
        "--likelihood",
        choices=["gaussian", "student-t", "poisson", "ordinal", "logit", "probit", "softmax", "robust-max"],
        help="of numbers: gaussian (the default), student-t with outliers, poisson for counts; of levels in an order: "
        "ordinal; of classes: probit (the default), logit, softmax, robust-max",
    )
    group.add_argument(
        "--transform",
        choices=["none", "log", "auto"],
        help="the scale of positive numbers such as prices; auto takes logarithms if the evidence is for them (none)",
    )
    group.add_argument("--rank", type=int, metavar="R", help="truncate the spectrum, for large hypergraphs")
    group.add_argument(
        "--solver",
        choices=["auto", "dense", "low-rank", "iterative", "markov"],
        default="auto",
        help="told from predicted time and memory unless named",
    )
    group.add_argument(
        "--folds", type=int, default=5, metavar="K", help="of the cross-validation, 0 for none (%(default)s)"
    )
    group.add_argument("--seed", type=int, default=0, help="for all random choices (%(default)s)")
    group = fit.add_argument_group("results")
    group.add_argument(
        "--out", type=Path, default=Path("results"), metavar="DIR", help="the folder for the results (%(default)s)"
    )
    group.add_argument("--overwrite", action="store_true", help="replace results that are there")
    group.add_argument("--title", help="the report's heading")
    group.add_argument("--quiet", action="store_true", help="say neither what was understood nor what is going on")
    _json(fit)


def _predict(commands: argparse._SubParsersAction) -> None:
    predict = _command(commands, "predict", "predict with a saved model", ("predict", "predict"))
    predict.add_argument("model", type=Path, help="a file that `hypergauss fit` or `hypergauss.save` has written")
    predict.add_argument("--vertices", type=Path, metavar="FILE", help="a table whose first column names them (all)")
    predict.add_argument("--labels", type=Path, metavar="FILE", help="a table of vertices and labels, to be scored")
    predict.add_argument(
        "--new-edges",
        type=Path,
        metavar="FILE",
        help="a table of memberships of vertices that are new, a vertex and a hyperedge in each row: predict these",
    )
    predict.add_argument("--out", type=Path, metavar="FILE", help="a CSV file (the screen)")
    predict.add_argument("--overwrite", action="store_true", help="replace a file that is there")
    _text(predict)
    _json(predict)


def _suggest(commands: argparse._SubParsersAction) -> None:
    suggest = _command(commands, "suggest", "say which vertices to observe next", ("predict", "suggest"))
    suggest.add_argument("model", type=Path, help="a saved model")
    suggest.add_argument("-n", type=int, default=10, help="how many (%(default)s)")
    suggest.add_argument(
        "--criterion",
        choices=["information", "upper-confidence", "lower-confidence"],
        default="information",
        help="what tells most of all others, or where the largest or smallest value may be (%(default)s)",
    )
    suggest.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    _json(suggest)


def _embed(commands: argparse._SubParsersAction) -> None:
    embed = _command(commands, "embed", "place the vertices on a map", ("embed", "embed"))
    _hypergraph(embed, "memberships")
    embed.add_argument("--method", choices=["spectral", "gplvm"], default="spectral", help="(%(default)s)")
    embed.add_argument("--dimensions", type=int, default=2, metavar="Q", help="(%(default)s)")
    embed.add_argument("--out", type=Path, metavar="FILE", help="a CSV file (the screen)")
    embed.add_argument("--overwrite", action="store_true", help="replace a file that is there")
    embed.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    _json(embed)


def _recommend(commands: argparse._SubParsersAction) -> None:
    recommend = _command(
        commands,
        "recommend",
        "list items for users, from a table of ratings",
        ("recommend", "recommend"),
        epilog="example:\n  hypergauss recommend ratings.csv --user ann -n 5\n"
        "  hypergauss recommend ratings.csv --save films.hypergauss\n"
        "  hypergauss recommend films.hypergauss --new newcomers.csv",
    )
    recommend.add_argument(
        "files", nargs="*", type=Path, metavar="FILE", help="ratings, or a saved model (.hypergauss)"
    )
    recommend.add_argument("--ratings", type=Path, metavar="FILE", help="user, item and rating a row")
    recommend.add_argument("--model", type=Path, metavar="FILE", help="a saved model, in place of --ratings")
    recommend.add_argument("--new", type=Path, metavar="FILE", help="ratings of users who were not in the fit")
    recommend.add_argument("--save", type=Path, metavar="FILE", help="keep the fitted model")
    recommend.add_argument("--user", action="append", metavar="NAME", help="for whom; may be repeated (everyone)")
    recommend.add_argument("-n", type=int, default=10, help="how many for each (%(default)s)")
    recommend.add_argument("--user-column", metavar="COLUMN", help="(the first)")
    recommend.add_argument("--item-column", metavar="COLUMN", help="(the second)")
    recommend.add_argument("--rating-column", metavar="COLUMN", help="(the third)")
    recommend.add_argument("--factors", type=int, metavar="D", help="of users and items (10)")
    recommend.add_argument("--out", type=Path, metavar="FILE", help="a CSV file (the screen)")
    recommend.add_argument("--overwrite", action="store_true", help="replace a file that is there")
    recommend.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    _text(recommend)
    _json(recommend)


def _info(commands: argparse._SubParsersAction) -> None:
    info = _command(commands, "info", "say what is in a hypergraph, or in a saved model", ("info", "info"))
    _hypergraph(info, "memberships, or a saved model (.hypergauss)")
    info.add_argument("--model", type=Path, metavar="FILE", help="a saved model, in place of --edges")
    _json(info)


def _datasets(commands: argparse._SubParsersAction) -> None:
    datasets = _command(
        commands, "datasets", "list the data at hand, or write one out as tables", ("datasets", "datasets")
    )
    datasets.add_argument("name", nargs="?", help="which one to write")
    datasets.add_argument("--out", type=Path, metavar="DIR", help="where to (the name)")
    datasets.add_argument("--overwrite", action="store_true", help="replace files that are there")
    _json(datasets)


def _studies(commands: argparse._SubParsersAction) -> None:
    demo = _command(commands, "demo", "from two plain files to scores, an explanation and a page", ("studies", "demo"))
    demo.add_argument("--out", type=Path, default=Path("demo-output"), help="folder for the results (%(default)s)")
    reproduce = _command(commands, "reproduce", "make the tables and figures of a study", ("studies", "reproduce"))
    reproduce.add_argument("study", choices=[*STUDIES, "all"])
    reproduce.add_argument("--out", type=Path, default=Path("results"), help="folder for the results (%(default)s)")
    reproduce.add_argument("--quick", action="store_true", help="fewer repetitions, to see that it runs")
    reproduce.add_argument(
        "--paper-recipe", action="store_true", help="congress: also train exactly as the paper's appendix says"
    )
    reproduce.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="SET",
        help="defaults: run this data set; movielens: make this row; may be repeated",
    )
