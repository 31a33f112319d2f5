"""Files into a problem: hypergraphs, targets and covariates, with every name as text.

Text on all sides: a vertex 7 of one file and "7" of another are the same vertex, and 007 is another.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from hypergauss import _checks
from hypergauss.cli import idle, understood
from hypergauss.cli.labelled_lines import lines_of_labels
from hypergauss.cli.problems import NUMBER_LIKELIHOODS, Problem, settled
from hypergauss.cli.reading import encoding, has_header, reading, separator
from hypergauss.cli.targets import covariates, labels
from hypergauss.cli.understood import Understood
from hypergauss.cli.wide_tables import from_wide_table
from hypergauss.estimators.grown_relations import Relations
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.names import unique_index
from hypergauss.io.files import existing_file
from hypergauss.io.frames import column_names
from hypergauss.io.hif import read_hif
from hypergauss.io.lists import looks_like_lists, read_numbered_lists
from hypergauss.io.tables import read_table

#: The share of labels that may be of vertices without hyperedges before names seem not to match.
_STRANGERS = 0.01
#: Endings of files that hold plain lists where their lines are of different lengths; a table's must not be.
_MAYBE_LISTS = (".txt", ".data", ".dat", ".edges", ".lst", ".hyperedges")


class Memberships(NamedTuple):
    """A hypergraph that was read from a file, and what the file was taken for.

    Attributes
    ----------
    hypergraph : Hypergraph
        With text for names.
    understood : Understood
        In words.
    first : int or None
        The number that members of plain lists are counted from; None of anything else, or of names.
    """

    hypergraph: Hypergraph
    understood: Understood
    first: int | None


def memberships(options: argparse.Namespace) -> Memberships:
    """Read what ``--edges`` names."""
    if options.edges is None:
        raise ValueError("A hypergraph is needed: --edges FILE, a table of memberships, plain lists or a HIF file.")
    idle.check_memberships(options)
    return _read(options.edges, options, "edges")


def _read(path: Path, options: argparse.Namespace, of: str) -> Memberships:
    """Read a HIF file, plain lists or a table."""
    first = None
    if path.suffix.lower() == ".json":
        form, H = "HIF", read_hif(path)
    elif _are_lists(path, options, of):
        how: dict[str, Any] = {"separator": separator(options, of), "encoding": encoding(options, of)}
        form, (H, first) = "lists", read_numbered_lists(path, names=options.names, **how)
    else:
        form, H = (
            "table",
            read_table(
                path,
                vertex=options.vertex,
                edge=options.edge,
                weight=options.weight,
                members=options.members,
                within=options.within or ";",
                **reading(path, options, of),
            ),
        )
    H = _with_text_names(H)
    return Memberships(H, understood.memberships(path, H, options, of=of, form=form), first)


def _are_lists(path: Path, options: argparse.Namespace, of: str) -> bool:
    """Tell whether a file has a line a hyperedge: as it was said, or by lines of different lengths."""
    if options.lists or options.names is not None:
        return True
    if path.suffix.lower() not in _MAYBE_LISTS or any((options.vertex, options.edge, options.weight, options.members)):
        return False
    return looks_like_lists(existing_file(path), separator=separator(options, of), encoding=encoding(options, of))


def newcomers(path: Path, H: Relations, options: argparse.Namespace) -> Hypergraph:
    """Read memberships of new vertices in the hyperedges of a model, which are found by their text."""
    if not isinstance(H, Hypergraph):
        raise ValueError(
            "--new-edges is for models of one hypergraph. Got a model of "
            f"{'a graph' if not isinstance(H, dict) else 'several relations'}. Use `predict_new` in Python."
        )
    found = (
        read_hif(path) if path.suffix.lower() == ".json" else read_table(path, **reading(path, options, "new-edges"))
    )
    own = {str(name): name for name in H.edges}
    unknown = [str(name) for name in found.edges if str(name) not in own]
    if unknown:
        near = _checks.did_you_mean(unknown[0], list(own)[:5000])
        raise ValueError(
            f"--new-edges must be in hyperedges that the model knows ({H.num_edges:,}). Got {unknown[0]!r}"
            f"{_checks.others(len(unknown) - 1)}.{near} Take in new ones with `update` in Python."
        )
    edges = unique_index([own[str(name)] for name in found.edges], of="edges")
    vertices = unique_index([str(name) for name in found.vertices], of="vertices")
    return Hypergraph(found.incidence, vertices=vertices, edges=edges, weights=found.weights)


def _with_text_names(H: Hypergraph) -> Hypergraph:
    vertices, edges = (
        unique_index([str(name) for name in index], of=of)
        for index, of in ((H.vertices, "vertices"), (H.edges, "edges"))
    )
    return Hypergraph(
        H.incidence, vertices=vertices, edges=edges, weights=H.weights, attributes=H.attributes.renamed(str)
    )


def problem(options: argparse.Namespace) -> Problem:
    """Read everything that `hypergauss fit` was given."""
    if options.order is not None:
        if options.task == "regression":
            raise ValueError("--order is of classes, and --target-type says numbers. Leave one out.")
        options = argparse.Namespace(**{**vars(options), "task": "classification"})
    if options.likelihood in NUMBER_LIKELIHOODS or options.transform is not None:
        options = _of_numbers(options)
    if options.table is not None:
        if options.edges is not None or options.labels is not None:
            raise ValueError("--table stands in place of --edges and --labels. Give either.")
        idle.check_table(options)
        return from_wide_table(options)
    if options.labels is None:
        raise ValueError("Labels are needed: --labels FILE, a table of vertices and what is known of them.")
    if options.ignore and options.covariates is None:
        raise ValueError("--ignore leaves columns of --table or --covariates out, and there is neither. Leave it out.")
    idle.refuse(options, ["bins"], "makes ranges of the numbers in --table, and there is none. Leave it out.")
    edges = memberships(options)
    H = edges.hypergraph
    further = {name: _read(path, _without_columns(options), name) for name, path in _relations(options).items()}
    relations = {name: part.hypergraph for name, part in further.items()}
    vertices = H.vertices
    for relation in relations.values():
        vertices = vertices.union(relation.vertices, sort=False)
    notes: list[str] = []
    target = lines_of_labels(options, vertices, edges.first, notes)
    unread: list[str] = []
    if target is None:
        target = labels(
            options.labels,
            options,
            vertex=options.label_vertex,
            target=options.target,
            task=options.task,
            known=vertices,
        )
        columns = column_names(options.labels, **reading(options.labels, options, "labels"))
        unread = [name for name in columns if name not in (options.label_vertex or columns[0], target.name)]
    vertices = _with_strangers(vertices, target, options, notes)
    aligned = {name: part.with_vertices(vertices) for name, part in {"edges": H, **relations}.items()}
    whole: Relations = aligned if relations else aligned["edges"]
    numbers = None if options.covariates is None else covariates(options.covariates, vertices, options)
    found = settled(whole, target, numbers, options, notes)
    lines = [
        edges.understood,
        *(part.understood for part in further.values()),
        understood.target(
            found.target,
            is_classification=found.is_classification,
            said=options.task != "auto",
            path=options.labels,
            unread=[] if options.target else unread,
        ),
        understood.known(len(found.target), len(vertices)),
    ]
    return found._replace(understood=lines)


def _of_numbers(options: argparse.Namespace) -> argparse.Namespace:
    """Return options that say that the target is numbers, as others of them imply."""
    if options.task == "classification":
        name = "--transform" if options.likelihood not in NUMBER_LIKELIHOODS else f"--likelihood {options.likelihood}"
        other = "--order" if options.order is not None else "--target-type"
        raise ValueError(f"{name} is of numbers, and {other} says classes. Leave one out.")
    return argparse.Namespace(**{**vars(options), "task": "regression"})


def _relations(options: argparse.Namespace) -> dict[str, Path]:
    """Return the file of each further relation by its name."""
    files: dict[str, Path] = {}
    for relation in options.relation:
        name, found, path = relation.partition("=")
        if not (name and found and path):
            raise ValueError(f"--relation must be NAME=FILE. Got {relation!r}.")
        if name in ("edges", *files):
            raise ValueError(f"--relation must have names of their own, other than 'edges'. Got {name!r} again.")
        files[name] = Path(path)
    return files


def _without_columns(options: argparse.Namespace) -> argparse.Namespace:
    """Return the options of a further table, which has columns of its own: the first two."""
    own = dict.fromkeys(("vertex", "edge", "weight", "members", "names"))
    return argparse.Namespace(**{**vars(options), **own, "lists": False})


def _with_strangers(vertices: pd.Index, target: pd.Series, options: argparse.Namespace, notes: list[str]) -> pd.Index:
    """Add labelled vertices that are in no hyperedge, if they are few or asked for."""
    strangers = target.index[~target.index.isin(vertices)].unique()
    if len(strangers) == 0:
        return vertices
    is_first_line = (
        not has_header(options, "labels") and target.index[0] == strangers[0]
    )  # which may be a header after all
    if not options.isolated and (is_first_line or len(strangers) > _STRANGERS * len(target)):
        near = _checks.did_you_mean(strangers[0], vertices.tolist()[:5000])
        raise ValueError(
            f"Labels must be of vertices in the hypergraph ({len(vertices):,}). Got {strangers[0]!r}"
            f"{_checks.others(len(strangers) - 1)}.{near} If they are right and in no hyperedge, say --isolated."
        )
    notes.append(
        f"Labelled but in no hyperedge: {strangers[0]!r}{_checks.others(len(strangers) - 1)}, taken as isolated."
    )
    return vertices.append(pd.Index(strangers, dtype=object))
