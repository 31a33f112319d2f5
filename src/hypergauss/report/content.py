"""What the page shows, as plain numbers and text: gathered here, drawn by the page's own script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from hypergauss import _checks, metrics
from hypergauss._version import __version__
from hypergauss.analysis.assessment import CLASSIFICATION_SCORES, REGRESSION_SCORES, Assessment
from hypergauss.analysis.suggestions import suggest_vertices
from hypergauss.estimators import HypergraphGPClassifier, HypergraphGPRegressor
from hypergauss.estimators.domain import Domain
from hypergauss.estimators.edge_names import edge_names
from hypergauss.hypergraph import Hypergraph
from hypergauss.inference.latents import SampledLatents
from hypergauss.inference.mixtures import components
from hypergauss.inference.predictive import level_numbers
from hypergauss.kernels import Product, SpectralKernel, Standardised, Sum
from hypergauss.solvers.contributions import EdgeValues, edge_values
from hypergauss.spectrum import EigenSpectrum, Spectrum
from hypergauss.spectrum.leading import leading_subspace

#: Of intervals.
_LEVEL = 0.9
#: Hyperedges shown for a vertex, vertices worth observing, and points of the calibration figure.
_SPEAKING, _NEXT, _POINTS = 8, 10, 1500


def page_content(
    model: Any, observed: Any, *, assessment: Assessment | None, notes: Sequence[str] = ()
) -> dict[str, Any]:
    """Return everything the page shows."""
    check_is_fitted(model)
    is_classifier = isinstance(model, HypergraphGPClassifier)
    if not is_classifier and not isinstance(model, HypergraphGPRegressor):
        raise TypeError(
            f"`model` must be a HypergraphGPRegressor or HypergraphGPClassifier. Got {type(model).__name__}."
        )
    if not is_classifier and not model._flat:
        raise ValueError("The report is about one target. Got a model of several. Fit them one by one.")
    domain = Domain.of(model.H)
    known = pd.Series(observed) if isinstance(observed, Mapping) else observed
    rows = model._rows(known.index)
    predicted = _classes(model) if is_classifier else _numbers(model)
    seen = np.full(len(domain.vertices), None, dtype=object)
    if is_classifier:
        seen[rows] = _checks.positions(known, model.classes_).tolist()
    else:
        seen[rows] = _rounded(known if model.levels_ is None else _level_values(model, known))
    x, y = _layout(model)
    next_vertices = [] if _is_sampled(model) else _next(model, domain)
    return {
        "task": "classification" if is_classifier else "regression",
        "lead": _lead(len(known), is_classifier),
        "summary": _summary(domain, len(np.unique(rows))),
        "notes": [*notes, *model.summary().notes],
        "classes": [str(label) for label in model.classes_] if is_classifier else [],
        "doubt": "chance of being wrong" if is_classifier else "standard deviation",
        "vertices": {
            "names": [str(name) for name in domain.vertices],
            "x": _rounded(x),
            "y": _rounded(y),
            "observed": seen.tolist(),
            **predicted,
        },
        "scores": None if assessment is None else _scores(assessment, is_classifier),
        "calibration": None if assessment is None else _calibration(assessment, domain, is_classifier),
        "learned": _learned(model),
        "speaking": _speaking(model, domain, predicted),
        "next": next_vertices,
        "footer": f"Made by hypergauss {__version__}. The page is complete in itself and asks nothing of any network.",
    }


def _learned(model: Any) -> list[dict[str, str]]:
    """Return name, value with its interval, and meaning of everything that was learned, as the summary has them."""
    return [{"name": row.name, "value": row.value, "meaning": row.meaning} for row in model.summary().rows]


def _lead(observed: int, is_classifier: bool) -> str:
    what = "The class of every vertex" if is_classifier else "The value of every vertex"
    return f"{what}, predicted from {observed:,} observed ones and from who takes part in what."


def _summary(domain: Domain, observed: int) -> list[tuple[str, str]]:
    pairs = [("vertices", f"{len(domain.vertices):,}"), ("observed", f"{observed:,}")]
    for name, relation in domain.relations.items():
        of = "" if len(domain.relations) == 1 else f" ({name})"
        if isinstance(relation, Hypergraph):
            sizes = np.diff(relation.incidence.tocsc().indptr)
            pairs += [
                (f"hyperedges{of}", f"{relation.num_edges:,}"),
                (f"memberships{of}", f"{relation.num_incidences:,}"),
                (f"median hyperedge size{of}", f"{np.median(sizes):g}" if len(sizes) else "-"),
                (f"in no hyperedge{of}", f"{len(relation.isolated_vertices):,}"),
                (f"separate parts{of}", f"{int(relation.connected_components().max(initial=-1)) + 1:,}"),
            ]
        else:
            pairs.append((f"links{of}", f"{relation.num_edges:,}"))
    return pairs


def _numbers(model: HypergraphGPRegressor) -> dict[str, Any]:
    mean, std = model.predict(model.vertices_, return_std=True)
    low, high = model.predict_quantiles(model.vertices_, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2]).T
    if model.levels_ is not None:
        low, high = (_level_values(model, ends) for ends in (low, high))
    return {"mean": _rounded(mean), "low": _rounded(low), "high": _rounded(high), "uncertainty": _rounded(std)}


def _level_values(model: HypergraphGPRegressor, levels: Any) -> np.ndarray:
    """Return levels as numbers: as they are, or their places in the order."""
    assert model.levels_ is not None
    return level_numbers(model.levels_)[_checks.positions(levels, model.levels_)]


def _classes(model: HypergraphGPClassifier) -> dict[str, Any]:
    proba = model.predict_proba(model.vertices_)
    return {
        "proba": _rounded(proba.ravel()),
        "predicted": proba.argmax(axis=1).tolist(),
        "uncertainty": _rounded(1 - proba.max(axis=1)),
    }


def _scores(assessment: Assessment, is_classifier: bool) -> dict[str, Any]:
    names = CLASSIFICATION_SCORES if is_classifier else REGRESSION_SCORES
    summary = assessment.summary()
    folds = assessment.scores["fold"].nunique()
    rows = []
    for method in summary.index:
        cells = [(summary.loc[method, ("mean", name)], summary.loc[method, ("error", name)]) for name in names]
        rows.append({"method": method, "values": [[_finite(mean), _finite(error, None)] for mean, error in cells]})
    return {
        "text": f"Each observed vertex predicted from the others in {folds} folds: mean and standard error over folds. "
        "Hyperparameters were learned anew in each fold, size exponents aside.",
        "columns": [{"name": name, "better": better} for name, better in names.items()],
        "rows": rows,
    }


def _calibration(assessment: Assessment, domain: Domain, is_classifier: bool) -> dict[str, Any]:
    held = assessment.held_out
    if is_classifier:
        proba = held.drop(columns="observed")
        bins = metrics.reliability(held["observed"].to_numpy(), proba.to_numpy(), proba.columns.to_numpy())
        full = np.flatnonzero(bins.counts)
        return {
            "title": "Can its probabilities be believed?",
            "text": "If honest, a prediction made with 80% confidence is right 8 times in 10, and circles lie on the "
            f"dashed line; the larger the circle, the more vertices. Mean gap: {bins.calibration_error():.3f}.",
            "bins": [[_finite(bins.confidence[b]), _finite(bins.accuracy[b]), int(bins.counts[b])] for b in full],
        }
    rows = domain.rows(held.index)
    covered = float(((held["observed"] >= held["low"]) & (held["observed"] <= held["high"])).mean())
    kept = np.linspace(0, len(held) - 1, min(len(held), _POINTS)).round().astype(int)
    some = f" {len(kept):,} of {len(held):,} are drawn." if len(kept) < len(held) else ""
    drawn = held[["observed", "mean", "low", "high"]].to_numpy(dtype=float)[kept]
    return {
        "title": "Can its intervals be believed?",
        "text": f"Each observed vertex against its prediction from the others. {covered:.0%} of the {_LEVEL:.0%} "
        f"intervals hold the observation; those that miss it are orange.{some}",
        "points": [[*map(_finite, point), int(row)] for point, row in zip(drawn, rows[kept], strict=True)],
    }


def _layout(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates in [0, 1] from the leading eigenvectors: those that the kernel knows, or else three by heat.

    Eigenvectors of the random walk, that is divided by the first; half of each coordinate is its rank, which keeps a
    few outliers from pressing all others together.
    """
    kernel = model.kernel_
    kernels = kernel.terms if isinstance(kernel, Sum) else kernel.factors if isinstance(kernel, Product) else (kernel,)
    spectral = [part for part in kernels if isinstance(part, SpectralKernel | Standardised)]
    n = kernel.num_vertices
    columns = [np.zeros(n), np.zeros(n)]
    if spectral:
        U = _leading_vectors(spectral[0].spectrum)
        first = np.abs(U[:, 0]) if U.shape[1] else np.zeros(n)
        scale = np.where(first > 1e-6, first, np.inf)
        columns = [U[:, j] / scale if j < U.shape[1] else np.zeros(n) for j in (1, 2)]
    return _spread(columns[0]), _spread(columns[1])


def _leading_vectors(spectrum: Spectrum) -> np.ndarray:
    if isinstance(spectrum, EigenSpectrum):
        return spectrum.vertex_vectors
    operator = spectrum.source.multiplier()
    return operator.array(leading_subspace(operator.in_single(), 3, np.random.default_rng(0)).vectors).astype(float)


def _spread(values: np.ndarray) -> np.ndarray:
    ranks = pd.Series(values).rank(method="average").to_numpy()
    return (_unit(values) + _unit(ranks)) / 2


def _unit(values: np.ndarray) -> np.ndarray:
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.full(len(values), 0.5)


def _speaking(model: Any, domain: Domain, predicted: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return for each vertex the hyperedges that contribute most to what is predicted of it."""
    if _is_sampled(model):
        return None
    is_regressor = isinstance(model, HypergraphGPRegressor)
    target = np.zeros(len(domain.vertices), dtype=int) if is_regressor else np.asarray(predicted["predicted"])
    values: Any = 0.0
    for weight, part in components(model._function if is_regressor else model.posterior_):
        told = [edge_values(posterior) for posterior in ([part] if is_regressor else part.posteriors)]
        if not told[0]:
            return None
        # Whatever the hyperparameters, memberships are those of the hypergraph: entries stand in the same places.
        incidence = sp.csr_array(sp.hstack([each.incidence for each in told[0]]))
        incidence.sort_indices()
        row_of = np.repeat(np.arange(incidence.shape[0]), np.diff(incidence.indptr))
        g = np.stack([np.concatenate([each.values for each in parts]) for parts in told], axis=1)
        if not is_regressor:
            g = _for_each_class(g, len(model.classes_), is_ordered=len(model.classes_) > 2)
        values = values + weight * incidence.data * g[incidence.indices, target[row_of]]
    order = np.lexsort((-np.abs(values), row_of))
    rank = np.arange(len(order)) - incidence.indptr[row_of]
    top: list[list[Any]] = [[] for _ in range(incidence.shape[0])]
    for at in order[rank < _SPEAKING]:
        top[row_of[at]].append([int(incidence.indices[at]), _finite(values[at])])
    return {"edges": _edge_texts(told[0], domain), "top": top, "count": np.diff(incidence.indptr).tolist()}


def _for_each_class(g: np.ndarray, num_classes: int, *, is_ordered: bool) -> np.ndarray:
    """Return what speaks for each class: its latent less the mean of the others, or one latent and its opposite."""
    if g.shape[1] == 1:
        return np.tile(g, num_classes) if is_ordered else np.hstack([-g, g])
    others = (g.sum(axis=1, keepdims=True) - g) / (g.shape[1] - 1)
    return g - others


def _edge_texts(parts: Sequence[EdgeValues], domain: Domain) -> list[str]:
    texts = []
    for part in parts:
        prefix = f"{part.label}: " if len(parts) > 1 else ""
        texts += [f"{prefix}{_edge_text(edge)}" for edge in edge_names(part.label, part.spectrum, domain.relations)]
    return texts


def _edge_text(edge: Any) -> str:
    """Write a hyperedge that stands for the value of an attribute as it would be said."""
    return " = ".join(str(part) for part in edge) if isinstance(edge, tuple) else str(edge)


def _next(model: Any, domain: Domain) -> list[list[Any]]:
    suggested = suggest_vertices(model, _NEXT, random_state=0)
    rows = domain.rows(suggested.index)
    return [[int(row), _finite(gain)] for row, gain in zip(rows, suggested["information"], strict=True)]


def _is_sampled(model: Any) -> bool:
    return isinstance(model, HypergraphGPClassifier) and isinstance(model.posterior_, SampledLatents)


def _rounded(values: Any) -> list[float]:
    """Return numbers to five digits, which is what can be seen, in half the space."""
    return [float(f"{value:.5g}") for value in np.asarray(values, dtype=float).tolist()]


def _finite(value: Any, otherwise: Any = 0.0) -> Any:
    number = float(value)
    return float(f"{number:.5g}") if np.isfinite(number) else otherwise
