r"""Data drawn from the default model itself: its intervals and probabilities should be as often right as they say.

Hyperparameters are learned and averaged as in any fit. For classes the standard is the exact posterior at the true
hyperparameters, by importance sampling: latents f of the labelled vertices are drawn from the Gaussian q of expectation
propagation and weighted by p(y | f) p(f) / q(f).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from hypergauss import metrics
from hypergauss.datasets import make_planted_hypergraph
from hypergauss.estimators import HypergraphGPClassifier, HypergraphGPRegressor
from hypergauss.estimators.blueprint import ACTIVITY, LEVEL, RELATIVE_LEVEL
from hypergauss.estimators.defaults import CLASS_VARIANCE, default_priors
from hypergauss.experiments.peers import log_densities
from hypergauss.experiments.tables import make_table, publish
from hypergauss.hypergraph import Hypergraph
from hypergauss.inference.coupled_propagation import CoupledPropagation
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.propagation import PropagationObjective
from hypergauss.kernels import Kernel, ShapedWalk, Standardised
from hypergauss.learning.size_exponent import PRIOR_MEAN, PRIOR_SPREAD
from hypergauss.likelihoods import Bernoulli, Classification, MultinomialProbit
from hypergauss.solvers import solver_for
from hypergauss.solvers.base import ExactSolver
from hypergauss.spectrum import Spectrum

NUM_VERTICES, NUM_EDGES, MEAN_SIZE, NUM_DRAWS = 300, 100, 15, 100
SIZES, NUM_LABELS, CLASS_COUNTS = (20, 50, 200), 20, (2, 4)
_VALUES = default_priors(1.0)
#: Where the truth's hyperparameters come from: with the first, intervals that are right on average are a theorem.
DRAWN, AT_MEDIANS = "drawn from the priors", "at their medians"
#: The truth: medians of the priors, and a size exponent between Zhou's hypergraph and the clique graph.
STEPS, INDIVIDUALITY, SIZE_EXPONENT = _VALUES["steps"].median, _VALUES["individuality"].median, PRIOR_MEAN
VALUE_VARIANCE, NOISE_VARIANCE = _VALUES["variance"].median, _VALUES["noise_variance"].median
#: Draws of q, and those that predictions are averaged over, drawn from them by weight.
_PROPOSALS, _KEPT = 4000, 200
#: Directions of less than this share of the largest prior variance are none.
_RELATIVE_RANK = 1e-12
#: The proposal is this much wider than q, so that weights are bounded.
_WIDER = 1.05
OURS, EXACT = "learned and averaged (default)", "exact, at the true hyperparameters"

Row = dict[str, Any]


class Truth(NamedTuple):
    """A hypergraph and the kernel that functions on it are drawn from."""

    hypergraph: Hypergraph
    kernel: Kernel


def draw_hypergraph(seed: int, size: int = NUM_VERTICES) -> Hypergraph:
    """Return a random hypergraph."""
    num_edges = size * NUM_EDGES // NUM_VERTICES
    return make_planted_hypergraph(size, num_edges, mean_extra=MEAN_SIZE - 2, random_state=seed).hypergraph


def draw_truth(seed: int, variance: float, relative_level: float = 0.0, size: int = NUM_VERTICES) -> Truth:
    """Return a random hypergraph, and the default kernel on it at medians of its priors."""
    H = draw_hypergraph(seed, size)
    walk = ShapedWalk(Spectrum.of(H, size_exponent=SIZE_EXPONENT), STEPS, variance=variance)
    return Truth(H, Standardised(walk, INDIVIDUALITY, level=LEVEL, relative_level=relative_level, activity=ACTIVITY))


def draw_hyperparameters(seed: int, size: int = NUM_VERTICES) -> tuple[Truth, float]:
    """Return a random hypergraph, the default kernel at draws from its priors, and such a noise variance."""
    H, rng = draw_hypergraph(seed, size), np.random.default_rng([seed, 1])

    def drawn(name: str, count: int | None = None) -> Any:
        return _VALUES[name].median * np.exp(_VALUES[name].spread * rng.standard_normal(count))

    spectrum = Spectrum.of(H, size_exponent=PRIOR_MEAN + PRIOR_SPREAD * rng.standard_normal())
    shape = drawn("shape", len(ShapedWalk(spectrum).shape))
    walk = ShapedWalk(spectrum, drawn("steps"), shape, variance=drawn("variance"))
    kernel = Standardised(walk, drawn("individuality"), level=LEVEL, activity=drawn("activity"))
    return Truth(H, kernel), drawn("noise_variance")


def score_intervals(n: int, seeds: range, size: int = NUM_VERTICES, *, truth: str = DRAWN) -> Iterator[Row]:
    """Yield coverage of 50% and 90% intervals of f and of a new measurement at vertices that were not measured."""
    for seed in track(seeds, f"{n} measurements, hyperparameters {truth}", transient=True):
        rng = np.random.default_rng(seed)
        if truth == DRAWN:
            (H, kernel), noise = draw_hyperparameters(seed, size)
        else:
            (H, kernel), noise = draw_truth(seed, VALUE_VARIANCE, size=size), NOISE_VARIANCE
        f = kernel.prior_draws(np.arange(size), 1, rng)[:, 0]
        y = f + np.sqrt(noise) * rng.standard_normal(size)
        order = rng.permutation(size)
        train, test = order[:n], order[n:]
        model = HypergraphGPRegressor(H, random_state=0).fit(train, y[train])
        row: Row = {"hyperparameters": truth, "n": n, "seed": seed}
        for name, values, noisy in (("of f", f, False), ("of a measurement", y, True)):
            mean, std = model.predict(test, return_std=True, include_noise=noisy)
            for level in (0.5, 0.9):
                row[f"{level:.0%} {name}"] = metrics.interval_coverage(values[test], mean, std, level)
        yield row


class Labelled(NamedTuple):
    """What was predicted of the classes of some vertices, by us and by the exact posterior, and what they are."""

    truth: np.ndarray
    ours: np.ndarray
    exact: np.ndarray
    effective_size: float


def draw_labels(
    num_classes: int, seed: int, size: int = NUM_VERTICES, *, num_labels: int = NUM_LABELS
) -> tuple[LatentModel, Hypergraph, np.ndarray, np.ndarray]:
    """Return the true model, its hypergraph, a class for each vertex and their order; all classes are labelled."""
    truth = draw_truth(seed, CLASS_VARIANCE, RELATIVE_LEVEL, size)
    likelihood: Classification = Bernoulli("probit") if num_classes == 2 else MultinomialProbit(num_classes)
    latents = likelihood.num_latents
    for attempt in range(1000):
        rng = np.random.default_rng([seed, attempt])
        f = truth.kernel.prior_draws(np.arange(size), latents, rng)
        noisy = f + rng.standard_normal(f.shape)
        y = noisy.argmax(axis=1) if latents > 1 else (noisy[:, 0] > 0).astype(int)
        order = rng.permutation(size)
        if len(np.unique(y[order[:num_labels]])) == num_classes:
            break
    return LatentModel(truth.kernel, likelihood, np.zeros(latents)), truth.hypergraph, y, order


def score_labels(
    num_classes: int, seeds: range, size: int = NUM_VERTICES, *, num_labels: int = NUM_LABELS
) -> Iterator[Labelled]:
    """Yield predictions of the vertices without a label, draw by draw."""
    for seed in track(seeds, f"{num_classes} classes", transient=True):
        model, H, y, order = draw_labels(num_classes, seed, size, num_labels=num_labels)
        train, test = order[:num_labels], order[num_labels:]
        ours = HypergraphGPClassifier(H, random_state=0).fit(train, y[train]).predict_proba(test)
        exact, effective = exact_probabilities(model, train, y[train], test, np.random.default_rng(seed))
        yield Labelled(y[test], ours, exact, effective)


def exact_probabilities(
    model: LatentModel, train: np.ndarray, y: np.ndarray, test: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Return the probability of each class by importance sampling, and how many equally weighted draws it is worth.

    Latents are drawn as f = F z with K = F F' and z standard normal a priori, so that vertices with the same
    memberships, which make K singular, do no harm.
    """
    likelihood, n = model.likelihood, len(train)
    assert isinstance(likelihood, Classification)
    classes, rows = likelihood.num_latents, np.concatenate([train, test])
    whole = model.kernel.gram(rows, rows)
    values, vectors = np.linalg.eigh(whole[:n, :n])
    kept = values > _RELATIVE_RANK * values.max()
    F = vectors[:, kept] * np.sqrt(values[kept])
    mean, root = _proposal(model, train, y, F)
    steps = rng.standard_normal((_PROPOSALS, len(mean)))
    z = (mean + _WIDER * steps @ root.T).reshape(_PROPOSALS, classes, -1)
    f = z @ F.T
    points = np.ascontiguousarray(f.transpose(0, 2, 1)).reshape(-1, classes)
    log_likelihood = likelihood.log_density(points, np.tile(y, _PROPOSALS)).reshape(-1, n).sum(axis=1)
    log_weights = log_likelihood + ((steps**2).sum(axis=1) - (z**2).sum(axis=(1, 2))) / 2
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    # Systematic draws by weight: each is kept about as often as it weighs.
    at = np.searchsorted(weights.cumsum(), (rng.random() + np.arange(_KEPT)) / _KEPT).clip(max=_PROPOSALS - 1)
    gain = whole[n:, :n] @ vectors[:, kept] / np.sqrt(values[kept])  # the covariance of f elsewhere with z
    means = np.einsum("scr,mr->smc", z[at], gain)
    left = np.maximum(np.diagonal(whole)[n:] - (gain**2).sum(axis=1), 0.0)
    variances = np.broadcast_to(left[None, :, None], means.shape)
    p = likelihood.probabilities(means.reshape(-1, classes), variances.reshape(-1, classes))
    return p.reshape(_KEPT, len(test), -1).mean(axis=0), float(1.0 / (weights**2).sum())


def _proposal(model: LatentModel, train: np.ndarray, y: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and root of the covariance of q in the coordinates z, class by class."""
    solver = solver_for(model.kernel, train, "dense")
    assert isinstance(solver, ExactSolver)
    classes = model.likelihood.num_latents
    kind = PropagationObjective if classes == 1 else CoupledPropagation
    (nu, a), _, _ = kind(solver, y.astype(float), classes).settle(model)
    tied, shift = np.diag(a[:, 0]), nu
    if classes > 1:
        beta, total = a.sum(axis=1), nu.sum(axis=1)
        each = range(classes)
        tied = np.block([[np.diag(a[:, c] * (c == d) - a[:, c] * a[:, d] / beta) for d in each] for c in each])
        shift = total[:, None] * a / beta[:, None] - nu
    along = np.kron(np.eye(classes), F)
    factor = cho_factor(np.eye(along.shape[1]) + along.T @ tied @ along, lower=True)
    root = solve_triangular(factor[0], np.eye(along.shape[1]), lower=True, trans=1)
    return cho_solve(factor, along.T @ shift.T.ravel()), root


def label_table(found: dict[int, list[Labelled]]) -> Table:
    """Return calibration error of all draws pooled, and mean log density, of ours and of the exact posterior."""
    rows = []
    for num_classes, parts in found.items():
        truth, classes = np.concatenate([p.truth for p in parts]), np.arange(num_classes)
        for name in ("ours", "exact"):
            p = np.concatenate([getattr(part, name) for part in parts])
            p = p / p.sum(axis=1, keepdims=True)
            each = [log_densities(q.truth, getattr(q, name), classes).mean() for q in parts]
            behind = [log_densities(q.truth, q.exact, classes).mean() for q in parts]
            gap = np.asarray(each) - np.asarray(behind)
            rows.append(
                [
                    str(num_classes),
                    OURS if name == "ours" else EXACT,
                    f"{metrics.accuracy(truth, p, classes):.3f}",
                    f"{metrics.expected_calibration_error(truth, p, classes):.3f}",
                    f"{np.mean(each):.3f}",
                    f"{gap.mean():+.3f} ± {gap.std(ddof=1) / len(gap) ** 0.5:.3f}" if name == "ours" else "",
                    str(len(parts)),
                ]
            )
    header = ["classes", "method", "accuracy", "ECE, pooled", "log density", "less the exact one's", "draws"]
    return make_table(f"{NUM_LABELS} labels among {NUM_VERTICES} vertices", header, rows)


def interval_table(scores: pd.DataFrame) -> Table:
    """Return the mean share of values that intervals cover."""
    columns = [c for c in scores.columns if c not in ("hyperparameters", "n", "seed")]
    rows = []
    for truth in scores["hyperparameters"].unique():
        for n in scores["n"].unique():
            part = scores[(scores["hyperparameters"] == truth) & (scores["n"] == n)]
            cells = [f"{part[c].mean():.3f} ± {part[c].sem():.3f}" for c in columns]
            rows.append([str(truth), str(n), *cells, str(len(part))])
    header = ["hyperparameters", "measured", *columns, "draws"]
    return make_table(f"Intervals that cover, {NUM_VERTICES} vertices", header, rows)


def run(out: Path, console: Console, *, quick: bool = False) -> None:
    """Print and write both tables."""
    seeds = range(4 if quick else NUM_DRAWS)
    scores = (score_intervals(n, seeds, truth=truth) for truth in (DRAWN, AT_MEDIANS) for n in SIZES)
    intervals = pd.DataFrame([row for rows in scores for row in rows])
    labelled = {classes: list(score_labels(classes, seeds)) for classes in CLASS_COUNTS}
    least = min(part.effective_size for parts in labelled.values() for part in parts)
    notes = (
        f"Truth: hypergraphs of {NUM_EDGES} hyperedges of some {MEAN_SIZE} members, and hyperparameters drawn from "
        f"the priors, where intervals should cover as often as they say, or at their medians: {STEPS:g} steps of the "
        f"walk, size exponent {SIZE_EXPONENT:g}, "
        f"individuality {INDIVIDUALITY:g}, variance {VALUE_VARIANCE:g} and noise {NOISE_VARIANCE:g} of values, "
        f"variance {CLASS_VARIANCE:g} of classes; the model learns all of them. Intervals are of vertices that were "
        "not measured, mean ± standard error over draws. Draws whose labels miss a class are drawn again. The exact "
        f"posterior is by importance sampling; its least effective sample size is {least:.0f} of {_PROPOSALS:,}."
    )
    publish(
        console,
        out / "calibration.txt",
        "hypergauss reproduce calibration",
        [interval_table(intervals), label_table(labelled)],
        notes,
    )
