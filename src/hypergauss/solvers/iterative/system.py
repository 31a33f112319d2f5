r"""The linear system behind every answer: B = I + W^1/2 K W^1/2 on all vertices, w = 0 where nothing is observed.

Sites of mean z and precision w give alpha = W^1/2 B^-1 W^1/2 (z - mean) = (K_tt + Sigma)^-1 (z - mean), padded with
zeros. Vertices without a site are rows of the identity, so vectors keep their length N, nothing is gathered or
scattered, and a site may say nothing at all.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from hypergauss.exceptions import ConvergenceError, NumericalError
from hypergauss.kernels import Kernel
from hypergauss.operators import Block, LaplacianOperator, column_slices, scattered
from hypergauss.solvers.conjugate_gradients import Solution, conjugate_gradients
from hypergauss.solvers.iterative.covariance import Covariance
from hypergauss.solvers.iterative.numbers import deflated
from hypergauss.solvers.iterative.options import Iterative
from hypergauss.solvers.iterative.preconditioner import Preconditioner
from hypergauss.solvers.iterative.terms import Terms
from hypergauss.spectrum.leading import Subspace, leading_subspace

#: Plain conjugate gradients may take this many iterations before leading eigenvectors are looked for.
_PATIENCE = 30
#: A product's rounding, times the condition number, must stay this far below the tolerance.
_MARGIN = 4.0
#: By how much rounding may leave a residual above the tolerance before that is called a failure.
_DRIFT = 2.0


class Workspace:
    """What a kernel's systems share over all hyperparameters and sites: its terms, in both precisions, and a subspace.

    Parameters
    ----------
    kernel : Kernel
        At any hyperparameters.
    options : Iterative
        Settings.
    """

    def __init__(self, kernel: Kernel, options: Iterative) -> None:
        self.options = options.checked()
        self.terms = Terms(kernel)
        self._single: Terms | None = None
        self._subspace: Subspace | None = None

    @property
    def operator(self) -> LaplacianOperator:
        """Whose vectors everything is made of."""
        return self.terms.operator

    @property
    def subspace(self) -> Subspace | None:
        """The leading eigenvectors, once they were needed."""
        return self._subspace

    @property
    def ritz_values(self) -> np.ndarray:
        """Their eigenvalues, roughly, shape (k,); none as long as there are no vectors."""
        return np.zeros(0) if self._subspace is None else self._subspace.values

    @property
    def num_products(self) -> int:
        """Vectors that Laplacians have multiplied so far."""
        kinds = [self.terms] if self._single is None else [self.terms, self._single]
        return sum(operator.num_products for terms in kinds for operator in terms.operators)

    def find_subspace(self) -> None:
        """Find the leading eigenvectors, unless they are known or not wanted."""
        if self._subspace is None and self.options.n_deflated:
            operator = self._in_single().operator
            self._subspace = leading_subspace(operator, self.options.n_deflated, self.options.generator(0))

    def terms_for(self, tolerance: float, condition: float) -> Terms:
        """Return the terms in single precision where a tolerance allows it, else in double."""
        if tolerance < _MARGIN * condition * float(np.finfo(np.float32).eps):
            return self.terms
        return self._in_single()

    def _in_single(self) -> Terms:
        if self._single is None:
            self._single = self.terms.in_single()
        return self._single


class System:
    """B for one kernel and one set of precisions, solved to a tolerance.

    Parameters
    ----------
    workspace : Workspace
        Of the kernel.
    kernel : Kernel
        At the hyperparameters wanted.
    precision : block, shape (N, 1)
        w >= 0 of each vertex's site, zero where there is none.
    tolerance : float
        Relative residual.
    """

    def __init__(self, workspace: Workspace, kernel: Kernel, precision: Block, tolerance: float) -> None:
        self.workspace, self.kernel, self.tolerance = workspace, kernel, tolerance
        self.operator = workspace.operator
        self.precision = precision
        self.root = np.sqrt(precision)
        #: How many vertices have a site.
        self.num_sites = int(self.operator.fetch((precision > 0).sum()))
        largest = float(self.operator.fetch(precision.max()))
        #: A bound on the condition number of B.
        self.condition = 1.0 + largest * Covariance(workspace.terms, kernel, 0.1).largest()
        terms = workspace.terms_for(tolerance, self.condition)
        # An error e of K moves the residual by at most e times alpha, hence by the condition number at most.
        floor = 4 * max(term.operator.precision for term in terms.spectral)
        self.covariance = Covariance(terms, kernel, max(tolerance / (4 * self.condition), floor))
        self.preconditioner = self._make_preconditioner()

    def product(self, X: Block) -> Block:
        """Return B X."""
        return X + self.root * (self.covariance @ (self.root * X))

    def solve(self, rhs: Block, start: Block | None = None, tolerance: float | None = None) -> Solution:
        """Return B^-1 rhs, from a start if there is one; if it is slow, leading eigenvectors are found for it.

        A tolerance can be given where less than the system's will do.
        """
        options = self.workspace.options
        tolerance = self.tolerance if tolerance is None else max(tolerance, self.tolerance)
        patience = options.max_iterations if self._is_final else min(_PATIENCE, options.max_iterations)
        solution = self._iterate(rhs, patience, start, tolerance)
        if solution.worst > tolerance and not self._is_final:
            self.workspace.find_subspace()
            self.preconditioner = self._make_preconditioner()
            solution = self._iterate(rhs, options.max_iterations, start, tolerance)
        check_converged(solution, tolerance, self.condition)
        if tolerance < _MARGIN * self.condition * self.operator.precision:
            # The residual that the recurrence keeps may drift away from the true one by so much rounding: look.
            true = solution._replace(residuals=self._residuals(solution.x, rhs))
            check_converged(true, _DRIFT * tolerance, self.condition)
        return solution

    def sample_noise(self, size: int, rng: np.random.Generator) -> Block:
        """Return white noise where there are sites, zero elsewhere."""
        return (self.precision > 0) * self.operator.white_noise(size, rng)

    def _residuals(self, x: Block, rhs: Block) -> np.ndarray:
        """Return the norm of rhs - B x of each column, relative to that of rhs."""
        left = rhs - self.product(x)
        squares, norms = self.operator.fetch([self.operator.dot(left, left), self.operator.dot(rhs, rhs)])
        return np.sqrt(squares / np.where(norms > 0, norms, 1.0))

    @property
    def _is_final(self) -> bool:
        """Whether the preconditioner is the best there will be."""
        return self.workspace.subspace is not None or self.workspace.options.n_deflated == 0

    def _iterate(self, rhs: Block, most: int, start: Block | None, tolerance: float) -> Solution:
        return conjugate_gradients(
            self.product,
            rhs,
            tolerance=tolerance,
            max_iterations=most,
            precondition=self.preconditioner.solve,
            start=start,
            blocks=self.operator,
        )

    def _make_preconditioner(self) -> Preconditioner:
        workspace = self.workspace
        background, gains = deflated(workspace.terms, self.kernel, workspace.ritz_values)
        return Preconditioner(self.operator, self.precision, float(background), workspace.subspace, gains)


class FactorisedSystem(System):
    """B of few sites, multiplied out and factorised: every solve and the log determinant to the same tolerance."""

    def __init__(self, workspace: Workspace, kernel: Kernel, precision: Block, tolerance: float) -> None:
        super().__init__(workspace, kernel, precision, tolerance)
        self.rows = np.flatnonzero(self.operator.array(precision)[:, 0])
        columns = []
        for some in column_slices(len(self.rows)):
            units = scattered(self.operator, self.rows[some], np.eye(some.stop - some.start))
            columns.append(self.operator.array(self.product(units), self.rows))
        whole = np.hstack(columns) if columns else np.zeros((0, 0))
        try:
            self._factor = scipy.linalg.cho_factor((whole + whole.T) / 2, lower=True)
        except scipy.linalg.LinAlgError as error:
            raise NumericalError(
                f"The system of {len(self.rows):,} sites could not be factorised. Likely cause: a noise variance very "
                f"small beside the kernel's (the system's condition number may be as large as {self.condition:.1e}). "
                "Raise the noise variance, or use `solver='dense'`."
            ) from error

    def solve(self, rhs: Block, start: Block | None = None, tolerance: float | None = None) -> Solution:  # noqa: ARG002
        """Return B^-1 rhs: where there is no site, B is the identity."""
        given = self.operator.array(rhs)
        x = given.copy()
        x[self.rows] = scipy.linalg.cho_solve(self._factor, given[self.rows])
        nothing = np.zeros((x.shape[1], 0))
        return Solution(self.operator.vector(x), nothing.sum(axis=1), 0, nothing, nothing)

    def log_det(self) -> float:
        """Return log det B."""
        return 2 * float(np.log(np.diagonal(self._factor[0])).sum())

    @property
    def log_det_bound(self) -> float:
        """What the polynomials may leave of it: in every direction a quarter of the tolerance, or else rounding."""
        return len(self.rows) * self.condition * self.covariance.tolerance


def evidence_system(workspace: Workspace, kernel: Kernel, precision: Block) -> System:
    """Return the system whose log determinant is wanted: factorised if sites are few, and otherwise loosely solved.

    Quadrature is exact to the square of what solves leave, and a mean over probes needs no more than a few digits.
    """
    options, operator = workspace.options, workspace.operator
    if options.factorises(int(operator.fetch((precision > 0).sum())), operator.size):
        return FactorisedSystem(workspace, kernel, precision, options.tolerance)
    return System(workspace, kernel, precision, options.probe_tolerance)


def check_converged(solution: Solution, tolerance: float, condition: float) -> None:
    """Raise, with the residual and likely causes, if a system was not solved to a tolerance."""
    if not solution.worst <= tolerance:
        raise ConvergenceError(
            f"Conjugate gradients stopped after {solution.iterations} iterations at a relative residual of "
            f"{solution.worst:.1e}, not {tolerance:.1e}. Likely causes: a noise variance very small beside the "
            f"kernel's (the system's condition number may be as large as {condition:.1e}), or a filter that falls "
            "steeply. Raise `tolerance`, `max_iterations` or `n_deflated` of `Iterative`, or the noise variance."
        )
