r"""Topics of papers from their words, from their authors, and from both: Cora, half of the labels known.

2,708 papers, a hyperedge for the papers of each of 1,072 authors, 1,433 words, 7 topics. Ten random splits: half of the
papers to learn from, a quarter to choose kernels by and to set a temperature, a quarter to test. Papers of the last two
lend their words and authors to learning, never their topics.

Words enter by a squared exponential kernel on rows of unit length. Both kinds of information meet twice: in the sum of
kernels, whose weights the evidence learns, and in words smoothed over co-authors (`smooth_covariates`).

One line: the classifier with the words as its covariates and nothing set (`inference.one_hot`), which calibrates itself
by the labels that it learns from and never sees the validation quarter.

The recipes before it, of two likelihoods. Least squares: topics as seven columns of zeros and ones, regressed together,
whose predictions are probabilities but for a floor and a temperature, which the validation quarter sets. Softmax: the
classifier, kernels in their leading principal components (of all papers), few enough for the low-rank solver, and a
temperature.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import scipy.sparse as sp
from rich.console import Console
from rich.progress import track
from scipy.optimize import minimize_scalar
from sklearn.decomposition import KernelPCA
from sklearn.preprocessing import normalize

from hypergauss.analysis.smoothing import smooth_covariates
from hypergauss.datasets import fetch_cora_coauthorship
from hypergauss.estimators import HypergraphGPClassifier, HypergraphGPRegressor
from hypergauss.exceptions import LearningWarning
from hypergauss.experiments.tables import make_table, mean_and_error, publish
from hypergauss.hypergraph import Hypergraph
from hypergauss.kernels import Kernel, Linear, Matern, SquaredExponential, Sum
from hypergauss.metrics import accuracy, expected_calibration_error, log_predictive_density, reliability
from hypergauss.plotting.figures import reliability_diagram
from hypergauss.spectrum import Spectrum

#: Chosen by the accuracy of GP regression of one-hot labels on the validation quarters of seeds 0 to 2 and 0 to 4.
_LENGTHSCALE, _RESTART = 0.7, 0.4
#: Principal components of smoothed words and of words themselves for softmax.
_COMPONENTS = {"words of co-authors": 250, "words": 100}
#: Where learning starts for softmax: near what the bound finds.
_VARIANCES = {"words of co-authors": 9.0, "words": 0.1}
#: Of L-BFGS: what ten splits can afford.
_ITERATIONS = {"least squares": 20, "softmax": 8}
#: What a predicted probability may be at least, before the temperature.
_FLOORS = (0.003, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2)
_CALIBRATED = "{}, calibrated"
ONE_LINE = "both, in one line"
_PEERS = [
    ["MLP on the words", "0.763", "", ""],
    ["HGNN with self-loops", "0.832", "0.038", "-0.521"],
    ["ED-HNN", "0.841", "0.051", "-0.528"],
    ["ED-HNN, tempered", "0.841", "0.033", "-0.507"],
]
_NOTES = (
    f"At most {_ITERATIONS['least squares']} and {_ITERATIONS['softmax']} iterations of L-BFGS on the log evidence of "
    "least squares and on softmax's bound. Lengthscales of words are held at 0.7. Calibration error: 10 bins of equal "
    "width; on 677 papers chance alone gives perfect probabilities some.\n"
    "Calibrated: probabilities in proportion to max(p, floor)^(1/T), T, and for least squares the floor, by the log "
    "density of the split's validation quarter."
)


class Problem(NamedTuple):
    """The papers: who wrote them, their words and topics, and the kernels of least squares by name and of softmax."""

    hypergraph: Hypergraph
    words: sp.csr_array
    topics: np.ndarray
    models: dict[str, Kernel]
    for_softmax: Kernel


class Split(NamedTuple):
    """Positions of the papers to learn from, to choose by, and to test on."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


def load_problem() -> Problem:
    """Return Cora with its kernels, the variances of a sum equal."""
    data = fetch_cora_coauthorship()
    H = data.hypergraph
    rows = {"words": normalize(data.features)}
    rows["words of co-authors"] = normalize(smooth_covariates(H, rows["words"], _RESTART))
    models: dict[str, Kernel] = {
        "words": _of_words(rows["words"]),
        "hypergraph": Matern(Spectrum.of(H)),
        "both": Sum.of_equal_shares(
            {**{n: _of_words(r) for n, r in rows.items()}, "hypergraph": Matern(Spectrum.of(H))}
        ),
    }
    parts = [Linear(_components(r, _COMPONENTS[name]), _VARIANCES[name]) for name, r in rows.items()]
    for_softmax = Sum(parts, labels=tuple(rows))
    return Problem(H, data.features, data.target.to_numpy(), models, for_softmax)


def _of_words(rows: Any) -> SquaredExponential:
    return SquaredExponential(rows.toarray() if sp.issparse(rows) else rows, _LENGTHSCALE, fixed=("lengthscale",))


def _components(rows: sp.csr_array | np.ndarray, number: int) -> np.ndarray:
    """Return features whose inner products are the leading part of a squared exponential kernel, of mean square 1."""
    leading = KernelPCA(number, kernel="rbf", gamma=0.5 / _LENGTHSCALE**2, eigen_solver="randomized", random_state=0)
    features = leading.fit_transform(rows)
    return features / np.sqrt((features**2).sum(axis=1).mean())


def splits(n: int, seeds: range) -> Iterator[tuple[int, Split]]:
    """Yield (seed, split): the first half, what is left, and the last quarter of a permutation."""
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(n)
        yield seed, Split(order[: n // 2], order[n // 2 : n - n // 4], order[n - n // 4 :])


def predictions(problem: Problem, split: Split) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each model's probabilities of the test papers; those of recipes as learning leaves them and calibrated."""
    yield ONE_LINE, in_one_line(problem.hypergraph, problem.words, problem.topics, split)
    y = problem.topics[split.validation]
    for name, kernel in problem.models.items():
        predict = _least_squares(problem, kernel, split.train)
        p, checked = predict(split.test), predict(split.validation)
        yield f"{name}, least squares", calibrated(p, 1.0, _FLOORS[0])
        yield _CALIBRATED.format(f"{name}, least squares"), calibrated(p, *best_calibration(checked, y, _FLOORS))
    predict = _softmax(problem, problem.for_softmax, split.train)
    p, checked = predict(split.test), predict(split.validation)
    yield "both, softmax", p
    yield _CALIBRATED.format("both, softmax"), calibrated(p, *best_calibration(checked, y, (1e-6,)))


def in_one_line(H: Hypergraph, words: sp.csr_array, topics: np.ndarray, split: Split) -> np.ndarray:
    """Return the probabilities of the test papers by the classifier with nothing set."""
    model = HypergraphGPClassifier(H, covariates=words).fit(split.train, topics[split.train])
    return model.predict_proba(split.test)


def _least_squares(problem: Problem, kernel: Kernel, train: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    topics = problem.topics
    model = HypergraphGPRegressor(
        problem.hypergraph, kernel, n_starts=1, max_iterations=_ITERATIONS["least squares"], random_state=0
    )
    with _few_iterations():
        model.fit(train, (topics[train][:, None] == np.unique(topics)).astype(float))
    return model.predict


def _softmax(problem: Problem, kernel: Kernel, train: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    model = HypergraphGPClassifier(
        problem.hypergraph, kernel, likelihood="softmax", max_iterations=_ITERATIONS["softmax"], random_state=0
    )
    with _few_iterations():
        model.fit(train, problem.topics[train])
    return model.predict_proba


@contextmanager
def _few_iterations() -> Iterator[None]:
    """So few iterations are the study's own choice: nothing to warn of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LearningWarning)
        yield


def calibrated(p: np.ndarray, temperature: float, floor: float) -> np.ndarray:
    """Return probabilities in proportion to max(p, floor)^(1 / temperature)."""
    powers = np.maximum(p, floor) ** (1 / temperature)
    return powers / powers.sum(axis=1, keepdims=True)


def best_calibration(p: np.ndarray, topics: np.ndarray, floors: tuple[float, ...]) -> tuple[float, float]:
    """Return the temperature, and the floor among some, of the highest log predictive density."""
    classes = np.arange(p.shape[1])

    def loss(log_temperature: float, floor: float) -> float:
        return -log_predictive_density(topics, calibrated(p, np.exp(log_temperature), floor), classes)

    ends = [(minimize_scalar(loss, bounds=(-3.0, 2.0), args=(floor,), method="bounded"), floor) for floor in floors]
    best, floor = min(ends, key=lambda end: float(end[0].fun))
    return float(np.exp(best.x)), floor


def score(problem: Problem, seeds: range) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """Return every model's scores on each split, and its probabilities of all test papers of all splits."""
    classes, rows = np.unique(problem.topics), []
    collected: dict[str, list[np.ndarray]] = {}
    for seed, split in track(list(splits(len(problem.topics), seeds)), "splits", transient=True):
        y = problem.topics[split.test]
        for name, p in predictions(problem, split):
            error, density = expected_calibration_error(y, p, classes), log_predictive_density(y, p, classes)
            rows.append(
                {"model": name, "seed": seed, "accuracy": accuracy(y, p, classes), "ece": error, "density": density}
            )
            collected.setdefault(name, []).append(p)
    return pd.DataFrame(rows), {name: np.vstack(parts) for name, parts in collected.items()}


def draw(problem: Problem, seeds: range, collected: dict[str, np.ndarray], path: Path) -> None:
    """Draw confidence against accuracy, each test paper of each split once; before and after the temperature."""
    classes = np.unique(problem.topics)
    y = np.concatenate([problem.topics[split.test] for _, split in splits(len(problem.topics), seeds)])
    figure, axes = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained", sharey=True)
    names = [*(f"{name}, least squares" for name in problem.models), "both, softmax"]
    for ax, form, title in zip(
        axes, ("{}", _CALIBRATED), ("As learning leaves it", "Calibrated on the validation quarter"), strict=True
    ):
        for name in names:
            found = reliability(y, collected[form.format(name)], classes)
            reliability_diagram(found, ax=ax, label=name, counts=False)
        ax.set_title(title)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def run(out: Path, console: Console, *, quick: bool = False) -> None:
    """Print and write the table, and draw the figure."""
    problem = load_problem()
    seeds = range(2 if quick else 10)
    scores, collected = score(problem, seeds)
    columns = ["model", "accuracy", "calibration error", "log predictive density"]
    rows = mean_and_error(scores, "model", {"accuracy": ".3f", "ece": ".3f", "density": ".3f"})
    title = f"Topic of the 677 papers of the test quarter, mean ± standard error over {len(seeds)} random splits"
    peers = "Networks on the same ten splits, means measured before and quoted here, not run by this command"
    tables = [make_table(title, columns, rows), make_table(peers, columns, _PEERS)]
    publish(console, out / "cora.txt", "hypergauss reproduce cora", tables, _NOTES)
    draw(problem, seeds, collected, out / "cora.png")
