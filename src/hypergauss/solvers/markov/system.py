r"""The linear system behind every answer: B = Q + W on all vertices, w = 0 where nothing is observed.

With S = B^-1, sites of precision w and targets r relative to the prior mean,

    posterior mean = S W r,    posterior covariance = S,    (K_tt + Sigma)^-1 = W - W S W.

B is sparse and well conditioned. With D = q + w, q the mean eigenvalue of Q, conjugate gradients are preconditioned by

    D^-1 + b q D^-1 (I - Delta / u) D^-1,

u the largest eigenvalue of Delta: one more product a step, and so many fewer steps where b is chosen well that products
are a quarter fewer at nu = 2 and a third at nu = 3 (`Field.lift`; docs/theory/markov.md). At nu = 1, b = 0.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from hypergauss.exceptions import ConvergenceError
from hypergauss.kernels import Kernel
from hypergauss.operators import Block, LaplacianOperator
from hypergauss.solvers.conjugate_gradients import Product, Solution, conjugate_gradients
from hypergauss.solvers.markov.field import Field, check_kernel
from hypergauss.solvers.markov.noise import FieldNoise
from hypergauss.solvers.markov.options import Markov

#: A product's rounding, times the condition number, must stay this far below the tolerance for it not to be felt.
_MARGIN = 4.0
#: Residuals down to which single precision is tried: bounds of the condition number are far above what systems have.
_SINGLE = 1e-4
#: By how much rounding may leave a residual above the tolerance before that is called a failure.
_DRIFT = 2.0


class Workspace:
    """What a kernel's systems share over all hyperparameters and sites: its Laplacian, in both precisions, and noise.

    Parameters
    ----------
    kernel : Matern
        At any hyperparameters, of whole nu.
    options : Markov
        Settings.
    """

    def __init__(self, kernel: Kernel, options: Markov) -> None:
        check_kernel(kernel)
        self.options = options.checked()
        self.operator: LaplacianOperator = kernel.spectrum.source.multiplier()  # type: ignore[attr-defined]
        self.noise = FieldNoise(self.operator)
        self._single: LaplacianOperator | None = None

    @property
    def num_products(self) -> int:
        """Vectors that the Laplacian has multiplied so far."""
        return self.operator.num_products + (0 if self._single is None else self._single.num_products)

    def operator_for(self, tolerance: float) -> LaplacianOperator:
        """Return the operator in single precision where a tolerance may allow it, else in double."""
        if tolerance < _SINGLE:
            return self.operator
        if self._single is None:
            self._single = self.operator.in_single()
        return self._single


class Forms(NamedTuple):
    """x' M y summed over columns, M one of Q's derivatives: in log c and in log s."""

    in_log_c: float
    in_log_s: float

    @property
    def array(self) -> np.ndarray:
        """Both of them."""
        return np.array(self)


class System:
    """B for one kernel and one set of precisions, solved to a tolerance.

    Parameters
    ----------
    workspace : Workspace
        Of the kernel.
    kernel : Matern
        At the hyperparameters wanted.
    precision : block, shape (N, 1)
        w >= 0 of each vertex's site, zero where there is none.
    tolerance : float
        Relative residual.
    """

    def __init__(self, workspace: Workspace, kernel: Kernel, precision: Block, tolerance: float) -> None:
        self.workspace, self.precision, self.tolerance = workspace, precision, tolerance
        self.field = Field.of(kernel)
        largest = float(workspace.operator.fetch(precision.max()))
        #: A bound on the condition number of B.
        self.condition = self.field.condition + self.field.s * largest
        #: D, shape (N, 1).
        self.diagonal = self.field.mean_eigenvalue() + precision
        self._use(workspace.operator_for(tolerance))

    def _use(self, operator: LaplacianOperator) -> None:
        self.operator = operator
        self._inside = operator.enter(self.precision)
        self._inverse = operator.enter(1.0 / self.diagonal)

    @cached_property
    def _lift(self) -> float:
        """The number b q."""
        free, operator = self.field.mean_eigenvalue(), self.workspace.operator
        return free * self.field.lift(float(operator.fetch((free / self.diagonal).mean())), self.tolerance)

    def _precondition(self, R: Block) -> Block:
        by_diagonal = R * self._inverse
        if not self._lift:
            return by_diagonal
        return self._inverse * self.operator.affine(
            by_diagonal, -self._lift / self.operator.upper, self._lift, (1.0, R)
        )

    def solve(
        self, rhs: Block, start: Block | None = None, tolerance: float | None = None, *, by_diagonal: bool = False
    ) -> Solution:
        """Return S rhs for an outside block, from a start if there is one.

        A tolerance can be given where less than the system's will do, and that D alone is to precondition, whose
        determinant is known. Where single precision was tried and its rounding is felt, this system goes on in double.
        """
        tolerance = self.tolerance if tolerance is None else max(tolerance, self.tolerance)
        if self.operator is not self.workspace.operator:
            try:
                return self._solve(rhs, start, tolerance, by_diagonal)
            except ConvergenceError:
                self._use(self.workspace.operator)
        return self._solve(rhs, start, tolerance, by_diagonal)

    def _solve(self, rhs: Block, start: Block | None, tolerance: float, by_diagonal: bool) -> Solution:
        operator = self.operator
        inside = operator.settle(operator.enter(rhs))
        found = conjugate_gradients(
            self._product,
            inside,
            tolerance=tolerance,
            max_iterations=self.workspace.options.max_iterations,
            precondition=(lambda R: R * self._inverse) if by_diagonal else self._precondition,
            start=None if start is None else operator.settle(operator.enter(start)),
            blocks=operator,
        )
        check_converged(found, tolerance, self.condition)
        check_true_residual(found, self._product, inside, tolerance, self.condition, operator)
        return found._replace(x=operator.settle(operator.leave(found.x)))

    def forms(self, X: Block, Y: Block) -> Forms:
        """Return x' (dQ / dlog c) y and x' (dQ / dlog s) y, each summed over the columns of outside blocks."""
        operator = self.operator
        return Forms(*self.field.forms(operator, operator.enter(X), operator.enter(Y)))

    def precision_product(self, X: Block, *, in_log_c: bool = False) -> Block:
        """Return Q X, or (dQ / dlog c) X, for an outside block."""
        operator = self.operator
        multiply = self.field.in_log_c if in_log_c else self.field.product
        return operator.settle(operator.leave(multiply(operator, operator.enter(X))))

    def in_log_c(self, x: Block) -> Block:
        """Return (dK / dlog c) Q x = nu (c + Delta)^-1 Delta x for an outside block, to a few digits."""
        operator = self.operator
        rhs = operator.settle(operator.affine(operator.enter(x), float(self.field.nu), 0.0))
        found = conjugate_gradients(
            lambda X: operator.affine(X, 1.0, self.field.c),
            rhs,
            tolerance=self.tolerance,
            max_iterations=self.workspace.options.max_iterations,
            blocks=operator,
        )
        return operator.settle(operator.leave(found.x))

    def draws(self, size: int, rng: np.random.Generator, *, signs: bool = False) -> tuple[Block, Block]:
        """Return S (noise of covariance Q + W^1/2 z), whose covariance is S, and the noise W^1/2 z, (N, size) each.

        Of signs where second moments are wanted alone (`FieldNoise.draw`).
        """
        noise = self.workspace.noise.draw(self.field, size, rng, signs=signs, operator=self.operator)
        operator = self.workspace.operator
        white = operator.signs(size, rng) if signs else operator.white_noise(size, rng)
        of_sites = np.sqrt(self.precision) * white
        return self.solve(noise + of_sites).x, of_sites

    def _product(self, X: Block) -> Block:
        image = self.field.product(self.operator, X)
        return image + self._inside * X


def check_converged(solution: Solution, tolerance: float, condition: float) -> None:
    """Raise, with the residual and likely causes, if a system was not solved to a tolerance."""
    if not solution.worst <= tolerance:
        raise ConvergenceError(
            f"Conjugate gradients stopped after {solution.iterations} iterations at a relative residual of "
            f"{solution.worst:.1e}, not {tolerance:.1e}. Likely causes: a lengthscale so large, or a noise "
            f"variance so small beside the kernel's, that the condition number may be {condition:.1e}. Raise "
            "`tolerance` or `max_iterations` of `Markov`, or the noise variance, or use `solver='iterative'`."
        )


def check_true_residual(
    solution: Solution, product: Product, rhs: Block, tolerance: float, condition: float, blocks: LaplacianOperator
) -> None:
    """Look at the true residual where rounding may have let that of the recurrence drift away from it by so much."""
    if tolerance < _MARGIN * condition * blocks.precision:
        left = blocks.settle(rhs - product(solution.x))
        squares, norms = blocks.fetch([blocks.dot(left, left), blocks.dot(rhs, rhs)])
        true = solution._replace(residuals=np.sqrt(squares / np.where(norms > 0, norms, 1.0)))
        check_converged(true, _DRIFT * tolerance, condition)
