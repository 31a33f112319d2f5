r"""Labels held out in folds, on a Markov field: what the labels of the other folds say of each, and its slopes.

With t the targets of n labels, measured with variance 1, and W_k one at every label but those of fold k, the function
that the others tell is

    m_k = mean + x_k,    (Q + W_k) x_k = W_k (t - mean),

one system for all classes: as many columns as there are classes, and no variance. If G are the slopes of something in
the means of held-out labels, u_k = (Q + W_k)^-1 G_k takes them to the hyperparameters:

    -u_k' (dQ) x_k  summed over folds and classes,    in mean_c  sum of G_c - u_kc' W_k 1.

Leaving out one label at a time would need the diagonal of (K_tt + I)^-1, which by products is known from draws alone,
or by a solve for each label; a few folds are a few solves, and exact.
"""

from __future__ import annotations

import numpy as np

from hypergauss import parameters
from hypergauss.kernels import Kernel
from hypergauss.operators import Block, scattered
from hypergauss.solvers.markov.field import log_numbers
from hypergauss.solvers.markov.system import System, Workspace
from hypergauss.solvers.work import FOLDS, num_held_out_folds


def fold_of(codes: np.ndarray) -> np.ndarray:
    """Return the fold of each label, shape (n,): each class is dealt out in a random order, the same each time."""
    shuffled = np.random.default_rng(0).permutation(len(codes))
    dealt = shuffled[np.argsort(codes[shuffled], kind="stable")]
    fold = np.empty(len(codes), dtype=np.int64)
    fold[dealt] = np.arange(len(codes)) % FOLDS
    return fold


class Folds:
    """Labels in folds, and the solves of the latest hyperparameters, from which the next begin.

    Parameters
    ----------
    workspace : Workspace
        Of the kernel.
    rows, codes : arrays, shape (n,)
        Labelled vertices by index, and their classes by number.
    targets : array, shape (n, C)
        t.
    """

    def __init__(self, workspace: Workspace, rows: np.ndarray, codes: np.ndarray, targets: np.ndarray) -> None:
        self.workspace, self.rows, self.targets = workspace, rows, targets
        self.tolerance = workspace.options.learning_tolerance
        fold = fold_of(codes)
        numbers = np.unique(fold)[: num_held_out_folds(len(codes))]
        self._places = [np.flatnonzero(fold == number) for number in numbers]
        #: The labels that are held out, by their place, as `means` has them.
        self.places = np.concatenate(self._places)
        self._ends = np.cumsum([len(own) for own in self._places])[:-1]
        self._precisions: list[Block] = [
            scattered(workspace.operator, rows, (fold != number).astype(np.float64)) for number in numbers
        ]
        self._solved: list[Block | None] = [None] * len(numbers)
        self._adjoint: list[Block | None] = [None] * len(numbers)
        self._systems: list[System] = []

    def means(self, kernel: Kernel, mean: np.ndarray) -> np.ndarray:
        """Return m of each label that is held out, from the other folds, shape (h, C)."""
        operator, found = self.workspace.operator, []
        relative = scattered(operator, self.rows, self.targets - mean)
        self._systems = [System(self.workspace, kernel, precision, self.tolerance) for precision in self._precisions]
        for at, (system, own) in enumerate(zip(self._systems, self._places, strict=True)):
            x = system.solve(operator.settle(system.precision * relative), self._solved[at]).x
            self._solved[at] = x
            found.append(mean + operator.array(x, self.rows[own]))
        return np.concatenate(found)

    def pull_back(self, kernel: Kernel, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return slopes in the latest means, shape (h, C), as slopes in the kernel's coordinates and in the mean."""
        operator, in_field, in_mean = self.workspace.operator, np.zeros(2), slopes.sum(axis=0)
        by_fold = np.split(slopes, self._ends)
        for at, (system, own) in enumerate(zip(self._systems, self._places, strict=True)):
            x = self._solved[at]
            assert x is not None, "means are found first"
            u = system.solve(scattered(operator, self.rows[own], by_fold[at]), self._adjoint[at]).x
            self._adjoint[at] = u
            in_field -= system.forms(u, x).array
            in_mean = in_mean - operator.fetch((u * system.precision).sum(axis=0))
        of_kernel = np.array(parameters.tangents(kernel, log_numbers)).reshape(-1, 2)
        return of_kernel @ in_field, in_mean
