"""Both estimators with nothing set, on hypergraphs of many kinds, beside peers whose settings are cross-validated.

Scores of every seed are kept in ``defaults.csv``, where a set that is run again replaces its own; the tables are made
from all that are there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.metrics import r2_score

from hypergauss import _checks, metrics
from hypergauss.estimators import HypergraphGPClassifier, HypergraphGPRegressor
from hypergauss.experiments.benchmarks import CLASSES, KEPT, VALUES, Benchmark, with_few_memberships
from hypergauss.experiments.ingredients import DEFAULT, Model, variants
from hypergauss.experiments.peers import class_peers, eigenvector_peers, log_densities, value_peers
from hypergauss.experiments.tables import make_table, publish
from hypergauss.experiments.untuned import UNTUNED_CLASSES, UNTUNED_VALUES

FILE = "defaults.csv"
FEW, INGREDIENTS = "automobiles, few memberships", "ingredients"
BEST = "best peer of each score"
#: Sets on which ingredients are taken out, and seeds: small ones, of two and of many classes, and values.
_OF_INGREDIENTS = ("us-senate-106", "house-votes", "zoo", "senate-bills", "congress")
_VALUES_OF_INGREDIENTS = ("us-senate-106 ideology", "senate-bills ideology", "automobiles")
_SEEDS, _FEWER_SEEDS = 10, 5
#: Where classes can be missing among the labels, seeds are summed up by their median.
_MEDIAN = ("primary-school",)
#: Draws of labels behind the calibration error that is due to chance.
_DRAWS = 100
#: Which of two scores is better.
_BETTER = {"accuracy": max, "ece": min, "density": max, "r2": max}
_OF_THEM = tuple(f"{INGREDIENTS}: {name}" for name in (*_OF_INGREDIENTS, *_VALUES_OF_INGREDIENTS))
SETS = (*CLASSES, *VALUES, FEW, *UNTUNED_CLASSES, *UNTUNED_VALUES, *_OF_THEM)
_ALL_CLASSES, _ALL_VALUES = {**CLASSES, **UNTUNED_CLASSES}, {**VALUES, **UNTUNED_VALUES}

Row = dict[str, Any]


def score_classes(name: str, seeds: range) -> Iterator[Row]:
    """Yield the scores of the default and of each peer on each split."""
    benchmark = _ALL_CLASSES[name]()
    peers = class_peers(benchmark.hypergraph)
    for seed in track(seeds, name, transient=True):
        split = benchmark.split(seed)
        train, test = benchmark.vertices[split.train], benchmark.vertices[split.test]
        known, asked = benchmark.target[split.train], benchmark.target[split.test]
        model = HypergraphGPClassifier(benchmark.hypergraph, random_state=0)
        yield _class_row(name, DEFAULT, seed, asked, *_classified(model, train, known, test))
        for peer, predict in peers.items():
            start = time.process_time()
            proba = predict(train, known, test)
            yield _class_row(name, peer, seed, asked, proba, np.unique(known), time.process_time() - start)


def score_values(name: str, seeds: range) -> Iterator[Row]:
    """Yield the scores of the default and of each peer on each half."""
    benchmark = _ALL_VALUES[name]()
    for seed in track(seeds, name, transient=True):
        yield from _score_half(name, benchmark, seed)


def score_few_memberships(seeds: range) -> Iterator[Row]:
    """Yield scores of cars of which only a few memberships are known."""
    benchmark = VALUES["automobiles"]()
    for seed in track(seeds, FEW, transient=True):
        for kept in KEPT:
            yield from _score_half(f"{FEW}: {kept}", with_few_memberships(benchmark, seed, kept), seed)


def score_ingredients(name: str, seeds: range) -> Iterator[Row]:
    """Yield scores of the default without each of its ingredients, on one set."""
    title, classifies = f"{INGREDIENTS}: {name}", name in CLASSES
    benchmark = (CLASSES if classifies else VALUES)[name]()
    for seed in track(seeds, title, transient=True):
        split = benchmark.split(seed)
        known, asked = benchmark.target[split.train], benchmark.target[split.test]
        train, test = benchmark.vertices[split.train], benchmark.vertices[split.test]
        models = variants(benchmark.hypergraph, classifies=classifies, num_classes=len(np.unique(known)))
        for method, model in models.items():
            if classifies:
                yield _class_row(title, method, seed, asked, *_classified(model, train, known, test))
            else:
                yield _value_row(title, method, seed, benchmark, model)


def _classified(
    model: Model, train: np.ndarray, labels: np.ndarray, test: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return probabilities, classes, and seconds of processor time."""
    assert isinstance(model, HypergraphGPClassifier)
    start = time.process_time()
    proba = model.fit(train, labels).predict_proba(test)
    return proba, model.classes_, time.process_time() - start


def _class_row(
    name: str, method: str, seed: int, y: np.ndarray, proba: np.ndarray, classes: np.ndarray, seconds: float
) -> Row:
    return {
        "set": name,
        "method": method,
        "seed": seed,
        "accuracy": metrics.accuracy(y, proba, classes),
        "ece": metrics.expected_calibration_error(y, proba, classes),
        "chance": _error_by_chance(proba, seed),
        "density": float(log_densities(y, proba, classes).mean()),
        "seconds": seconds,
    }


def _error_by_chance(proba: np.ndarray, seed: int) -> float:
    """Return the calibration error, on average, of labels that are drawn from these very probabilities."""
    rng, classes, below = np.random.default_rng(seed), np.arange(proba.shape[1]), proba.cumsum(axis=1)
    drawn = (
        np.minimum((below < rng.random((len(proba), 1))).sum(axis=1), classes[-1])  # sums end at 1 but for rounding
        for _ in range(_DRAWS)
    )
    return float(np.mean([metrics.expected_calibration_error(y, proba, classes) for y in drawn]))


def _score_half(name: str, benchmark: Benchmark, seed: int) -> Iterator[Row]:
    yield _value_row(name, DEFAULT, seed, benchmark, HypergraphGPRegressor(benchmark.hypergraph, random_state=0))
    split = benchmark.split(seed)
    H = benchmark.hypergraph
    for peer, predict in {**value_peers(H), **eigenvector_peers(H)}.items():
        start = time.process_time()
        train, test = benchmark.vertices[split.train], benchmark.vertices[split.test]
        mean, std = predict(train, benchmark.target[split.train], test)
        yield _scored(name, peer, seed, benchmark.target[split.test], mean, std, time.process_time() - start)


def _value_row(name: str, method: str, seed: int, benchmark: Benchmark, model: Model) -> Row:
    assert isinstance(model, HypergraphGPRegressor)
    split = benchmark.split(seed)
    start = time.process_time()
    model.fit(benchmark.vertices[split.train], benchmark.target[split.train])
    mean, std = model.predict(benchmark.vertices[split.test], return_std=True)
    seconds = time.process_time() - start
    return _scored(name, method, seed, benchmark.target[split.test], mean, std, seconds)


def _scored(name: str, method: str, seed: int, y: np.ndarray, mean: np.ndarray, std: np.ndarray, seconds: float) -> Row:
    return {
        "set": name,
        "method": method,
        "seed": seed,
        "r2": r2_score(y, mean),
        "density": metrics.gaussian_log_predictive_density(y, mean, std),
        "cover": metrics.interval_coverage(y, mean, std),
        "seconds": seconds,
    }


def tables(scores: pd.DataFrame) -> list[Table]:
    """Return a table for classes, values, few memberships and ingredients, of what was measured."""
    of_classes = {"accuracy": "accuracy", "ece": "ECE", "chance": "by chance", "density": "log density"}
    of_values = {"r2": "R2", "density": "log density", "cover": "90% interval covers"}
    found = []
    for title, names, columns in (
        (
            "Classes: labels of a fifth of the vertices (mushroom 5%, zoo 60 of 101, congress 80 of 120)",
            CLASSES,
            of_classes,
        ),
        ("Values: half of the vertices observed", VALUES, of_values),
        ("Log price of cars of which k memberships are known", [f"{FEW}: {k}" for k in KEPT], of_values),
        (
            "Sets that nothing was chosen on, classes: labels of a fifth (breast cancer a tenth, digits and topics 5%)",
            UNTUNED_CLASSES,
            of_classes,
        ),
        ("Sets that nothing was chosen on, values: half of the vertices observed", UNTUNED_VALUES, of_values),
        ("Classes: the default without one ingredient", [f"{INGREDIENTS}: {n}" for n in CLASSES], of_classes),
        ("Values: the default without one ingredient", [f"{INGREDIENTS}: {n}" for n in VALUES], of_values),
    ):
        rows = [row for name in names for row in _rows(scores[scores["set"] == name], columns)]
        if rows:
            found.append(make_table(title, ["", *columns.values(), "seconds", "seeds"], rows))
    return found


def _rows(scores: pd.DataFrame, columns: dict[str, str]) -> list[list[str]]:
    """Return the name of a set, a row for each method, and the best peer of each score."""
    if scores.empty:
        return []
    name = str(scores["set"].iloc[0])
    by_method = scores.groupby("method", sort=False)
    of_density = by_method["density"].median() if name in _MEDIAN else by_method["density"].mean()
    means = by_method[[*columns, "seconds"]].mean().assign(density=of_density)
    errors, counts = by_method[[*columns]].sem(), by_method.size()
    found = [[name.removeprefix(f"{INGREDIENTS}: "), *[""] * (len(columns) + 2)]]
    for method in means.index:
        cells = [
            f"{means.loc[method, c]:.3f}" + (f" ± {errors.loc[method, c]:.3f}" if c != "chance" else "")
            for c in columns
        ]
        found.append([f"  {method}", *cells, f"{means.loc[method, 'seconds']:.1f}", str(counts[method])])
    peers = means.drop(index=DEFAULT)
    if len(peers) and not name.startswith(INGREDIENTS):
        best = [f"{_BETTER[c](peers[c]):.3f}" if c in _BETTER else "" for c in columns]
        found.append([f"  {BEST}", *best, "", ""])
    return found


def _measure(name: str, quick: bool) -> pd.DataFrame:
    seeds, fewer = range(2 if quick else _SEEDS), range(1 if quick else _FEWER_SEEDS)
    if name in _ALL_CLASSES:
        return pd.DataFrame(score_classes(name, seeds if name in CLASSES else fewer))
    if name in _ALL_VALUES:
        return pd.DataFrame(score_values(name, seeds if name in VALUES else fewer))
    if name == FEW:
        return pd.DataFrame(score_few_memberships(seeds))
    return pd.DataFrame(score_ingredients(name.removeprefix(f"{INGREDIENTS}: "), fewer))


def run(out: Path, console: Console, *, quick: bool = False, only: Sequence[str] = ()) -> None:
    """Measure all sets or those named, and write the tables of all that have been measured.

    Scores are kept set by set, so that what was interrupted goes on with ``only`` the sets that are left.
    """
    for name in only:
        _checks.one_of("only", name, (*SETS, INGREDIENTS))
    only = [each for name in only for each in (_OF_THEM if name == INGREDIENTS else (name,))]
    path = out / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    scores = pd.read_csv(path) if only and path.exists() else pd.DataFrame({"set": pd.Series(dtype=str)})
    for name in only or SETS:
        found = _measure(name, quick)
        scores = pd.concat([scores[~scores["set"].isin(found["set"].unique())], found], ignore_index=True)
        scores.to_csv(path, index=False, float_format="%.6g")
    write(out, console, scores)


def write(out: Path, console: Console, scores: pd.DataFrame) -> None:
    """Print and write the tables of what was measured, and say what was not."""
    measured = {*scores["set"], *scores["set"].str.split(": ").str[0]}
    missing = [name for name in SETS if name not in measured]
    notes = (
        "Both estimators with nothing set. Mean ± standard error over seeds; ECE: 10 equal bins; by chance: the ECE "
        "that these probabilities have on average where labels are drawn from them; densities with "
        "probabilities of at least 1e-6, for primary-school the median over seeds, since classes can be missing among "
        "the labels. Peers: settings by 5-fold cross-validated density among the labels. Ingredients: all else stays; "
        "where it is not scaled, the mean is learned in place of the level, and variational inference of many classes "
        "has the softmax for likelihood. Seconds: processor time of learning and predicting. "
        + (f"Not run: {', '.join(missing)}." if missing else "All sets were run.")
    )
    publish(console, out / "defaults.txt", "hypergauss reproduce defaults", tables(scores), notes)
