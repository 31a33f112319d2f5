r"""What one would use without a Gaussian process on the hypergraph, its settings by cross-validated density.

On a relation with symmetric transitions S (A A' of the hypergraph; D^-1/2 W D^-1/2 of its weighted clique graph):

- label propagation keeps labels where they are and walks from everywhere else, F_u = (I - a P_uu)^-1 a P_ul Y with
  P = D^-1/2 S D^1/2;
- Zhou's regularisation is F = (I - a S)^-1 Y;
- logistic regression takes leading eigenvectors of S as features.

Scores F become probabilities as prior times lift to a power: with s the scores' shares and pi those of the labels,
p(c) is proportional to pi_c (s_c / pi_c)^power.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import StratifiedKFold

from hypergauss.hypergraph import Hypergraph
from hypergauss.spectrum import Spectrum

#: Probabilities are scored as at least this.
FLOOR = 1e-6
_FOLDS = 5
_REACHES = (0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99, 0.999)
_POWERS = (0.5, 1.0, 2.0, 4.0, 8.0)
#: Leading eigenvectors to choose from, one by one: the last, or some more than there are classes.
_MOST_VECTORS, _BEYOND_CLASSES = 12, 5
_PENALTIES = tuple(10.0 ** np.arange(-2, 4))
#: Leading eigenvectors that are found; and for values, how many to choose from.
_FOUND, _COUNTS = 33, (1, 2, 3, 5, 8, 12, 20, 32)
#: What a vertex that no label reaches has of each class, times its share.
_UNREACHED = 1e-9
_LARGE = 2000

#: (labelled vertices, their labels, vertices asked for) -> probabilities of the classes of the labels, sorted.
Peer = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


class Transitions(NamedTuple):
    """S = B B' - diag(c), the degrees, and the leading eigenvectors of S times sqrt(N), the trivial one first."""

    B: np.ndarray  # (N, r)
    c: np.ndarray  # (N,)
    degrees: np.ndarray  # (N,)
    vectors: np.ndarray  # (N, k)

    def solve(self, rows: np.ndarray, reach: float, right: np.ndarray) -> np.ndarray:
        """Return (I - reach S)^-1 right on some rows, by Woodbury's identity."""
        B, d = self.B[rows], 1.0 + reach * self.c[rows, None]
        inner = np.eye(B.shape[1]) - reach * (B.T @ (B / d))
        return right / d + reach * (B / d) @ np.linalg.solve(inner, B.T @ (right / d))


def transitions(H: Hypergraph) -> dict[str, Transitions]:
    """Return those of the hypergraph and of its weighted clique graph."""
    spectrum, most, root_n = Spectrum.of(H), _FOUND, np.sqrt(H.num_vertices)
    U, s = spectrum.vertex_vectors, spectrum.singular_values
    zeros = np.zeros(H.num_vertices)
    found = {"hypergraph": Transitions(U * s, zeros, np.asarray(H.vertex_degrees), U[:, :most] * root_n)}
    R = sp.csr_array(H.incidence) * np.sqrt(H.weights)
    own = np.asarray(R.power(2).sum(axis=1)).ravel()
    degrees = R @ (R.T @ np.ones(H.num_vertices)) - own
    scale = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    B = _thin(sp.diags_array(scale) @ R)
    c = own * scale**2
    found["clique graph"] = Transitions(B, c, degrees, _leading(B, c, most) * root_n)
    return found


def _thin(B: sp.csr_array) -> np.ndarray:
    """Return a factor of B B' with no more columns than rows."""
    if B.shape[1] <= B.shape[0]:
        return B.toarray()
    values, vectors = eigh((B @ B.T).toarray())
    return vectors * np.sqrt(np.maximum(values, 0.0))


def _leading(B: np.ndarray, c: np.ndarray, count: int) -> np.ndarray:
    """Return eigenvectors of the largest eigenvalues of B B' - diag(c)."""
    size = len(B)
    if size <= _LARGE:
        return eigh(B @ B.T - np.diag(c))[1][:, ::-1][:, :count]
    S = LinearOperator((size, size), matvec=lambda x: B @ (B.T @ x.ravel()) - c * x.ravel(), dtype=np.float64)
    values, vectors = eigsh(S, count, which="LA", v0=np.ones(size))
    return vectors[:, np.argsort(-values)]


def class_peers(H: Hypergraph) -> dict[str, Peer]:
    """Return every peer by the name that it has in the table."""
    chosen: dict[str, Peer] = {}
    for name, relation in transitions(H).items():
        chosen[f"label propagation, {name}"] = _spreading(relation, _propagated)
        chosen[f"Zhou's regularisation, {name}"] = _spreading(relation, _regularised)
        chosen[f"logistic on eigenvectors, {name}"] = _logistic(relation)
    return chosen


def log_densities(y: np.ndarray, proba: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the log probability of each true label, floored; a label that is no class has the floor."""
    true = (np.asarray(y)[:, None] == classes[None, :]) @ np.ones(len(classes), dtype=int) > 0
    column = np.where(true, np.searchsorted(classes, y), 0)
    return np.log(np.maximum(np.where(true, proba[np.arange(len(y)), column], 0.0), FLOOR))


def _propagated(S: Transitions, labelled: np.ndarray, onehot: np.ndarray, reach: float) -> np.ndarray:
    root = np.sqrt(S.degrees)
    free = np.setdiff1d(np.arange(len(root)), labelled)
    known = root[labelled, None] * onehot
    into = S.B[free] @ (S.B[labelled].T @ known)
    F = np.zeros((len(root), onehot.shape[1]))
    F[labelled] = onehot
    with_degree = np.divide(1.0, root[free], out=np.zeros(len(free)), where=root[free] > 0)
    F[free] = with_degree[:, None] * S.solve(free, reach, reach * into)
    return F


def _regularised(S: Transitions, labelled: np.ndarray, onehot: np.ndarray, reach: float) -> np.ndarray:
    everywhere = np.zeros((len(S.degrees), onehot.shape[1]))
    everywhere[labelled] = onehot
    return S.solve(np.arange(len(S.degrees)), reach, everywhere)


def _spreading(S: Transitions, spread: Callable[[Transitions, np.ndarray, np.ndarray, float], np.ndarray]) -> Peer:
    def predict(train: np.ndarray, y: np.ndarray, test: np.ndarray) -> np.ndarray:
        def at(labelled: np.ndarray, labels: np.ndarray, asked: np.ndarray, reach: float) -> Callable:
            classes = np.unique(labels)
            onehot = (labels[:, None] == classes).astype(float)
            prior = onehot.mean(axis=0)
            scores = np.maximum(spread(S, labelled, onehot, reach)[asked], 0.0) + _UNREACHED * prior
            lift = np.log(scores / scores.sum(axis=1, keepdims=True) / prior)

            def powered(power: float) -> np.ndarray:
                log_p = np.log(prior) + power * lift
                p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
                return p / p.sum(axis=1, keepdims=True)

            return powered

        def scored(fold: Sequence[np.ndarray]) -> list[float]:
            a, b = fold
            found = []
            for reach in _REACHES:
                powered = at(train[a], y[a], train[b], reach)
                found += [log_densities(y[b], powered(power), np.unique(y[a])).mean() for power in _POWERS]
            return found

        reach, power = _best(list(product(_REACHES, _POWERS)), [scored(fold) for fold in _folds(y)])
        return at(train, y, test, reach)(power)

    return predict


def _logistic(S: Transitions) -> Peer:
    """Number of eigenvectors and penalty by cross-validation; the trivial one is among them."""

    def predict(train: np.ndarray, y: np.ndarray, test: np.ndarray) -> np.ndarray:
        def at(a: np.ndarray, labels: np.ndarray, b: np.ndarray, choice: tuple[int, float]) -> np.ndarray:
            k, penalty = choice
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = LogisticRegression(C=penalty, max_iter=500).fit(S.vectors[a, :k], labels)
            return model.predict_proba(S.vectors[b, :k])

        most = min(max(_MOST_VECTORS, len(np.unique(y)) + _BEYOND_CLASSES), S.vectors.shape[1])
        choices = list(product(range(2, most + 1), _PENALTIES))

        def scored(fold: Sequence[np.ndarray]) -> list[float]:
            a, b = fold
            classes = np.unique(y[a])
            return [log_densities(y[b], at(train[a], y[a], train[b], c), classes).mean() for c in choices]

        return at(train, y, test, _best(choices, [scored(fold) for fold in _folds(y)]))

    return predict


_Choice = TypeVar("_Choice")


def _best(choices: Sequence[_Choice], scores: Iterable[Sequence[float]]) -> _Choice:
    return choices[int(np.mean(list(scores), axis=0).argmax())]


def _folds(y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of classes with fewer members than folds
        found = list(StratifiedKFold(_FOLDS, shuffle=True, random_state=0).split(y, y))
    return [fold for fold in found if len(np.unique(y[fold[0]])) > 1]


#: (training vertices, their values, vertices asked for) -> mean and standard deviation.
Predictor = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def value_peers(H: Hypergraph) -> dict[str, Predictor]:
    """Return ridge regression and a Euclidean Gaussian process, both on the incidence matrix."""
    incidence = H.incidence.toarray()
    return {
        "ridge on the incidence matrix": _best_of([incidence], _ridge),
        "scikit-learn GP on the incidence matrix": _best_of([incidence], _euclidean),
    }


def eigenvector_peers(H: Hypergraph) -> dict[str, Predictor]:
    """Return the same on leading eigenvectors: how many by leave-one-out error, and by the evidence."""
    vectors = Spectrum.of(H).vertex_vectors * np.sqrt(H.num_vertices)
    leading = [vectors[:, : k + 1] for k in _COUNTS if k < vectors.shape[1]]
    return {
        "ridge on eigenvectors": _best_of(leading, _ridge),
        "scikit-learn GP on eigenvectors": _best_of(leading, _euclidean),
    }


class _Fit(NamedTuple):
    """What a model promises by itself, and its mean and standard deviation where it was asked."""

    merit: float
    mean: np.ndarray
    std: np.ndarray


def _best_of(choices: Sequence[np.ndarray], fit: Callable[[np.ndarray, np.ndarray, np.ndarray], _Fit]) -> Predictor:
    def predict(train: np.ndarray, y: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        best = max((fit(features[train], y, features[test]) for features in choices), key=lambda found: found.merit)
        return best.mean, best.std

    return predict


def _ridge(known: np.ndarray, y: np.ndarray, asked: np.ndarray) -> _Fit:
    model = RidgeCV(np.logspace(-3, 3, 25), store_cv_results=True).fit(known, y)
    # Its spread is that of its own leave-one-out residuals at the penalty it chose.
    residuals = model.cv_results_.mean(axis=0).min()
    return _Fit(-residuals, model.predict(asked), np.full(len(asked), np.sqrt(residuals)))


def _euclidean(known: np.ndarray, y: np.ndarray, asked: np.ndarray) -> _Fit:
    kernel = ConstantKernel() * RBF(3.0, (1e-2, 1e4)) + WhiteKernel(0.1)
    model = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of hyperparameters at their bounds
        mean, std = model.fit(known, y).predict(asked, return_std=True)
    return _Fit(model.log_marginal_likelihood_value_, mean, std)
