r"""Topics of papers from their words, from their authors, and from both: Cora, half of the labels known.

2,708 papers, a hyperedge for the papers of each of 1,072 authors, 1,433 words, 7 topics. Ten random splits: half of the
papers to learn from, a quarter to choose kernels by and to set a temperature, a quarter to test. Papers of the last two
lend their words and authors to learning, never their topics.

Words enter by a squared exponential kernel on rows of unit length, in its leading principal components (of all papers):
few enough for the low-rank solver. Both kinds of information meet twice: in the sum of kernels, whose weights the bound
learns, and in words smoothed over co-authors (`smooth_covariates`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import track
from scipy.optimize import minimize_scalar
from sklearn.decomposition import KernelPCA
from sklearn.preprocessing import normalize

from hypergauss.datasets import fetch_cora_coauthorship
from hypergauss.estimators import HypergraphGPClassifier
from hypergauss.exceptions import LearningWarning
from hypergauss.experiments.tables import make_table, mean_and_error, publish
from hypergauss.hypergraph import Hypergraph
from hypergauss.kernels import Kernel, Linear, Matern, Sum
from hypergauss.metrics import accuracy, expected_calibration_error, log_predictive_density, reliability
from hypergauss.plotting import reliability_diagram
from hypergauss.smoothing import smooth_covariates
from hypergauss.spectrum import Spectrum

#: Chosen by the accuracy of GP regression of one-hot labels on the validation quarters of seeds 0 to 2 and 0 to 4.
_LENGTHSCALE, _RESTART = 0.7, 0.4
#: Principal components of a words kernel, and eigenvectors of the Laplacian.
_COMPONENTS, _EIGENVECTORS = 250, 300
#: Where learning starts: near what the bound finds for smoothed words alone.
_VARIANCE = 12.0
#: Of L-BFGS, for every model: what ten splits can afford.
_ITERATIONS = 8
_TEMPERED = "{}, tempered"
_PEERS = [
    ["MLP on the words", "0.763", "", ""],
    ["HGNN with self-loops", "0.832", "0.038", "-0.521"],
    ["ED-HNN", "0.841", "0.051", "-0.528"],
    ["ED-HNN, tempered", "0.841", "0.033", "-0.507"],
]
_NOTES = (
    f"Softmax, at most {_ITERATIONS} iterations of L-BFGS on the bound. Calibration error: 10 bins of equal width.\n"
    "Tempered: probabilities in proportion to p^(1/T), T by the log density of the split's validation quarter."
)


class Problem(NamedTuple):
    """The papers: who wrote them, their topics, and the kernel of each model."""

    hypergraph: Hypergraph
    topics: np.ndarray
    models: dict[str, Kernel]


class Split(NamedTuple):
    """Positions of the papers to learn from, to choose by, and to test on."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


def load_problem() -> Problem:
    """Return Cora with the three kernels, their variances equal."""
    data = fetch_cora_coauthorship()
    H, words = data.hypergraph, normalize(data.features)
    of_words = Linear(_components(words), _VARIANCE)
    of_authors = Matern(Spectrum.of(H, rank=_EIGENVECTORS), variance=_VARIANCE)
    of_both = Linear(_components(normalize(smooth_covariates(H, words, _RESTART))), _VARIANCE)
    both = Sum.of_equal_shares({"words": of_words, "words of co-authors": of_both})
    models: dict[str, Kernel] = {"words": of_words, "hypergraph": of_authors, "both": both}
    return Problem(H, data.target.to_numpy(), models)


def _components(rows: Any) -> np.ndarray:
    """Return features whose inner products are the leading part of a squared exponential kernel, of mean square 1."""
    leading = KernelPCA(
        _COMPONENTS, kernel="rbf", gamma=0.5 / _LENGTHSCALE**2, eigen_solver="randomized", random_state=0
    )
    features = leading.fit_transform(rows)
    return features / np.sqrt((features**2).sum(axis=1).mean())


def splits(n: int, seeds: range) -> Iterator[tuple[int, Split]]:
    """Yield (seed, split): the first half, what is left, and the last quarter of a permutation."""
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(n)
        yield seed, Split(order[: n // 2], order[n // 2 : n - n // 4], order[n - n // 4 :])


def predictions(problem: Problem, split: Split) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each model's probabilities of the test papers, as the bound leaves them and after a temperature."""
    for name, kernel in problem.models.items():
        model = HypergraphGPClassifier(
            problem.hypergraph, kernel, likelihood="softmax", max_iterations=_ITERATIONS, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LearningWarning)  # so few iterations are the study's own choice
            model.fit(split.train, problem.topics[split.train])
        p = model.predict_proba(split.test)
        yield name, p
        checked = model.predict_proba(split.validation)
        yield _TEMPERED.format(name), tempered(p, best_temperature(checked, problem.topics[split.validation]))


def tempered(p: np.ndarray, temperature: float) -> np.ndarray:
    """Return probabilities in proportion to p^(1 / temperature)."""
    powers = p ** (1 / temperature)
    return powers / powers.sum(axis=1, keepdims=True)


def best_temperature(p: np.ndarray, topics: np.ndarray) -> float:
    """Return the temperature of the highest log predictive density."""
    classes = np.arange(p.shape[1])

    def loss(log_temperature: float) -> float:
        return -log_predictive_density(topics, tempered(p, np.exp(log_temperature)), classes)

    return float(np.exp(minimize_scalar(loss, bounds=(-2.0, 2.0), method="bounded").x))


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
    for ax, form, title in zip(
        axes, ("{}", _TEMPERED), ("As the bound leaves it", "Temperature from the validation quarter"), strict=True
    ):
        for name in problem.models:
            reliability_diagram(reliability(y, collected[form.format(name)], classes), ax=ax, label=name)
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
