r"""Labels held out in folds, on a Markov field: what the labels of the other folds say of each, and its slopes.

With t the targets of n labels, measured with variance 1, and W_k one at every label but those of fold k, the function
that the others tell is

    m_k = mean + x_k,    (Q + W_k) x_k = W_k (t - mean),

one system for all classes: as many columns as there are classes, and no variance. If G are the slopes of something in
the means of held-out labels, u_k = (Q + W_k)^-1 G_k takes them to the hyperparameters:

    -u_k' (dQ) x_k  summed over folds and classes,    in mean_c  sum of G_c - u_kc' W_k 1.

A kernel of several parts has the posterior covariance H of h in place of (Q + W)^-1, W_k = 1 / (1 + R) with R what a
vertex has of its own (`solvers.markov.joint`). With alpha = W (t - mean - h), u = H G and gamma = G - W u, for which
K_h alpha = h and K_h gamma = u, the slopes are those of

    gamma' (dK_h) alpha - (W u)' (dR) alpha,

hence -b' (dQ) g in a field, gamma g + alpha b in its scale and (F' gamma)(F' alpha) in a feature's variance, where g
and b are what h and u have of the field.

Leaving out one label at a time would need the diagonal of (K_tt + I)^-1, which by products is known from draws alone,
or by a solve for each label; a few folds are a few solves, and exact.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from hypergauss import parameters
from hypergauss.kernels import Kernel
from hypergauss.operators import Block, LaplacianOperator, scattered
from hypergauss.solvers.markov.field import log_numbers
from hypergauss.solvers.markov.joint import Joint, JointSystem, JointWorkspace
from hypergauss.solvers.markov.joint_evidence import bilinear
from hypergauss.solvers.markov.system import System, Workspace
from hypergauss.solvers.work import FOLDS, num_held_out_folds


def fold_of(codes: np.ndarray) -> np.ndarray:
    """Return the fold of each label, shape (n,): each class is dealt out in a random order, the same each time."""
    shuffled = np.random.default_rng(0).permutation(len(codes))
    dealt = shuffled[np.argsort(codes[shuffled], kind="stable")]
    fold = np.empty(len(codes), dtype=np.int64)
    fold[dealt] = np.arange(len(codes)) % FOLDS
    return fold


class Folds(ABC):
    """Labels in folds, and the solves of the latest hyperparameters, from which the next begin.

    Parameters
    ----------
    operator : LaplacianOperator
        Whose vectors everything is made of.
    rows, codes : arrays, shape (n,)
        Labelled vertices by index, and their classes by number.
    targets : array, shape (n, C)
        t.
    """

    def __init__(self, operator: LaplacianOperator, rows: np.ndarray, codes: np.ndarray, targets: np.ndarray) -> None:
        self.operator, self.rows, self.targets = operator, rows, targets
        fold = fold_of(codes)
        numbers = np.unique(fold)[: num_held_out_folds(len(codes))]
        self._places = [np.flatnonzero(fold == number) for number in numbers]
        #: The labels that are held out, by their place, as `means` has them.
        self.places = np.concatenate(self._places)
        self._ends = np.cumsum([len(own) for own in self._places])[:-1]
        #: Of each fold, which labels are kept.
        self._kept = [fold != number for number in numbers]
        self._solved: list[Any] = [None] * len(numbers)
        self._adjoint: list[Any] = [None] * len(numbers)

    @abstractmethod
    def means(self, kernel: Kernel, mean: np.ndarray) -> np.ndarray:
        """Return m of each label that is held out, from the other folds, shape (h, C)."""

    @abstractmethod
    def pull_back(self, kernel: Kernel, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return slopes in the latest means, shape (h, C), as slopes in the kernel's coordinates and in the mean."""


class FieldFolds(Folds):
    """Of one field as it is; parameters as of `Folds`, but for the workspace of the kernel."""

    def __init__(self, workspace: Workspace, rows: np.ndarray, codes: np.ndarray, targets: np.ndarray) -> None:
        super().__init__(workspace.operator, rows, codes, targets)
        self.workspace, self.tolerance = workspace, workspace.options.learning_tolerance
        self._precisions = [scattered(self.operator, rows, kept.astype(np.float64)) for kept in self._kept]
        self._systems: list[System] = []

    def means(self, kernel: Kernel, mean: np.ndarray) -> np.ndarray:  # noqa: D102
        operator, found = self.operator, []
        relative = scattered(operator, self.rows, self.targets - mean)
        self._systems = [System(self.workspace, kernel, precision, self.tolerance) for precision in self._precisions]
        for at, (system, own) in enumerate(zip(self._systems, self._places, strict=True)):
            x = system.solve(operator.settle(system.precision * relative), self._solved[at]).x
            self._solved[at] = x
            found.append(mean + operator.array(x, self.rows[own]))
        return np.concatenate(found)

    def pull_back(self, kernel: Kernel, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # noqa: D102
        operator, in_field, in_mean = self.operator, np.zeros(2), slopes.sum(axis=0)
        by_fold = np.split(slopes, self._ends)
        for at, (system, own) in enumerate(zip(self._systems, self._places, strict=True)):
            u = system.solve(scattered(operator, self.rows[own], by_fold[at]), self._adjoint[at]).x
            self._adjoint[at] = u
            in_field -= system.forms(u, self._solved[at]).array
            in_mean = in_mean - operator.fetch((u * system.precision).sum(axis=0))
        of_kernel = np.array(parameters.tangents(kernel, log_numbers)).reshape(-1, 2)
        return of_kernel @ in_field, in_mean


class JointFolds(Folds):
    """Of a kernel of several parts."""

    def __init__(self, workspace: JointWorkspace, rows: np.ndarray, codes: np.ndarray, targets: np.ndarray) -> None:
        super().__init__(workspace.operator, rows, codes, targets)
        self.workspace, self.tolerance = workspace, workspace.options.learning_tolerance
        self._systems: list[JointSystem] = []
        self._alphas: list[Block] = []

    def means(self, kernel: Kernel, mean: np.ndarray) -> np.ndarray:  # noqa: D102
        operator, found, relative = self.operator, [], self.targets - mean
        self._systems, self._alphas = [], []
        for at, (kept, own) in enumerate(zip(self._kept, self._places, strict=True)):
            rows = self.rows[kept]
            system = JointSystem(self.workspace, kernel, rows, np.ones(len(rows)), self.tolerance)
            targets = scattered(operator, rows, relative[kept])
            answer = system.smoothed(operator.settle(system.precision * targets), start=_solved(self._solved[at]))
            self._systems.append(system)
            self._solved[at] = answer
            self._alphas.append(operator.settle(system.precision * (targets - answer.h)))
            found.append(mean + operator.array(answer.h, self.rows[own]))
        return np.concatenate(found)

    def pull_back(self, kernel: Kernel, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # noqa: D102
        operator, in_mean, in_arrays = self.operator, slopes.sum(axis=0), None
        by_fold = np.split(slopes, self._ends)
        for at, (system, own) in enumerate(zip(self._systems, self._places, strict=True)):
            G = scattered(operator, self.rows[own], by_fold[at])
            adjoint = system.smoothed(G, start=_solved(self._adjoint[at]))
            self._adjoint[at] = adjoint
            pulled = operator.settle(system.precision * adjoint.h)
            in_mean = in_mean - operator.fetch(pulled.sum(axis=0))
            found = bilinear(system, operator.settle(G - pulled), adjoint, self._alphas[at], self._solved[at])
            in_own = operator.array(operator.settle(-(pulled * self._alphas[at]).sum(axis=1)[:, None]))[:, 0]
            found = found._replace(own=in_own)
            in_arrays = found if in_arrays is None else in_arrays.plus(found)
        return parameters.pull_back(kernel, self.workspace.parts.arrays, in_arrays), in_mean


def _solved(answer: Joint | None) -> list[Block] | None:
    return None if answer is None else answer.solved


def folds_of(
    workspace: Workspace | JointWorkspace, rows: np.ndarray, codes: np.ndarray, targets: np.ndarray
) -> FieldFolds | JointFolds:
    """Return labels in folds, of one field or of a kernel of several parts."""
    if isinstance(workspace, JointWorkspace):
        return JointFolds(workspace, rows, codes, targets)
    return FieldFolds(workspace, rows, codes, targets)
