r"""The linear system of several parts: fields side by side, and features by a small matrix beside it.

With h = sum over k of T_k g_k + U b, U = F V^1/2, b ~ N(0, 1), and sites of precision W = (R + Sigma)^-1, the fields
given b = 0 have the precision

    B = blockdiag(Q_k) + (T_1 ... T_K)' W (T_1 ... T_K),    Q_k = Q + (1 / s_u - 1 / s) u u' where it is centred,

u the direction that centring takes out, s_u the variance that is left along it. With Z = B^-1 T' W U and
M = I + U' W (U - T Z), which is I + U' C^-1 U of the fields' C, for any right-hand side r of h

    delta = M^-1 U' (r - W T B^-1 T' r),    g = B^-1 T' r - Z delta,    H r = T g + U delta,

and H is the posterior covariance of h: what S is to a single field. What is a vertex's own, e, is found afterwards.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg

from hypergauss.kernels import Kernel
from hypergauss.operators import Block, LaplacianOperator, ShardedLaplacian, scattered
from hypergauss.solvers.conjugate_gradients import Solution, conjugate_gradients
from hypergauss.solvers.iterative.determinant import log_forms
from hypergauss.solvers.markov.field import Field
from hypergauss.solvers.markov.noise import FieldNoise
from hypergauss.solvers.markov.options import Markov
from hypergauss.solvers.markov.parts import Arrays, FieldTerm, Parts
from hypergauss.solvers.markov.system import check_converged, check_true_residual
from hypergauss.solvers.pathwise import Estimate


class JointWorkspace:
    """What a kernel's systems share over all hyperparameters and sites: its parts, and their noise.

    Parameters
    ----------
    kernel : Kernel
        At any hyperparameters: a sum of Markov fields and features, or one that is standardised.
    options : Markov
        Settings.
    """

    def __init__(self, kernel: Kernel, options: Markov) -> None:
        self.parts = Parts(kernel)
        self.options = options.checked()
        self.operator: LaplacianOperator = self.parts.fields[0].operator
        if len(self.parts.fields) > 1 and any(isinstance(one, ShardedLaplacian) for one in self.parts.operators):
            raise ValueError(
                "The Markov solver adds relations on one machine. Got several on a cluster. Use `solver='iterative'`."
            )
        self.noises = {id(operator): FieldNoise(operator) for operator in self.parts.operators}
        self.features = self.operator.vector(self.parts.features) if self.parts.features.shape[1] else None
        self._latest: tuple[Kernel | None, Arrays | None] = (None, None)
        self._systems: dict[float, JointSystem] = {}

    def system(self, kernel: Kernel, rows: np.ndarray, variance: np.ndarray, tolerance: float) -> JointSystem:
        """Return B for a kernel and sites: the latest if it is of the same, as for classes, whose labels alone differ.

        What features take, a column each, is then solved for once for all of them.
        """
        held = self._systems.get(tolerance)
        if held is None or not held.is_of(kernel, rows, variance):
            held = self._systems[tolerance] = JointSystem(self, kernel, rows, variance, tolerance)
        return held

    def arrays(self, kernel: Kernel) -> Arrays:
        """Return what a kernel's hyperparameters set; of the latest one that is known."""
        if self._latest[0] is not kernel or self._latest[1] is None:
            self._latest = kernel, (found := self.parts.arrays(kernel))
            return found
        return self._latest[1]

    @property
    def num_products(self) -> int:
        """Vectors that Laplacians have multiplied so far."""
        return sum(operator.num_products for operator in self.parts.operators)

    def noise(self, term: FieldTerm) -> FieldNoise:
        """Return what draws with the precision of a field for their covariance."""
        return self.noises[id(term.operator)]


class CentredField(NamedTuple):
    """Q of one field, with what centring adds, and its scale T, (N, 1)."""

    term: FieldTerm
    field: Field
    along: float  # s_u
    scale: Block

    @property
    def stiffness(self) -> float:
        """What is added to Q along u."""
        return 0.0 if self.term.direction is None else 1.0 / self.along - 1.0 / self.field.s

    def product(self, X: Block) -> Block:
        """Return Q X for an outside block."""
        operator, u = self.term.operator, self.term.direction
        image = operator.leave(self.field.product(operator, operator.enter(X)))
        return image if u is None else image + u @ (self.stiffness * (u.T @ X))

    def lifted(self, X: Block, lift: float) -> Block:
        """Return lift (I - Delta / u) X for an outside block, u the largest eigenvalue (see `Field.lift`)."""
        operator = self.term.operator
        return operator.leave(operator.affine(operator.enter(X), -lift / operator.upper, lift))

    def log_det(self) -> tuple[float, float]:
        """Return log det Q and its standard error."""
        value, error = self.field.log_det()
        return value + self._num_directions * float(np.log(self.field.s / self.along)), error

    @property
    def _num_directions(self) -> int:
        """How many directions are taken out: one, or none where Delta has no eigenvalue 0, and u is zeros."""
        operator, u = self.term.operator, self.term.direction
        return 0 if u is None else round(float(operator.fetch(operator.dot(u, u))[0]))

    def slopes_of_log_det(self) -> np.ndarray:
        """Return those in log c, log s and log s_u, shape (3,)."""
        along = float(self._num_directions)
        return np.array([self.field.log_det_in_log_c(), along - self.field.spectrum.num_vertices, -along])

    def forms(self, X: Block, Y: Block) -> np.ndarray:
        """Return x' dQ y for outside blocks, summed over columns, in log c, log s and log s_u, shape (3,)."""
        operator, u = self.term.operator, self.term.direction
        in_log_c, in_log_s = self.field.forms(operator, operator.enter(X), operator.enter(Y))
        if u is None:
            return np.array([in_log_c, in_log_s, 0.0])
        both = float((operator.fetch(u.T @ X) * operator.fetch(u.T @ Y)).sum())
        return np.array([in_log_c, in_log_s + both / self.field.s, -both / self.along])

    def noise(self, noise: FieldNoise, size: int, rng: np.random.Generator, *, signs: bool = False) -> Block:
        """Return draws of covariance Q, shape (N, size)."""
        draws, u = noise.draw(self.field, size, rng, signs=signs), self.term.direction
        return draws if u is None else draws + u @ (np.sqrt(self.stiffness) * rng.standard_normal((1, size)))


class JointProbes(NamedTuple):
    """Solved probes z of the fields: B^-1 z and P^-1 z, a block (N, s) of each field, and log det(I + K_h W)."""

    solved: list[Block]
    preconditioned: list[Block]
    log_det: Estimate


class JointNoise(NamedTuple):
    """What draws are made of: noise of covariance Q_k of each field, and white noise of sites and features."""

    fields: list[Block]
    sites: Block
    features: np.ndarray


class JointSystem:
    """B for one kernel and one set of sites, solved to a tolerance, and the features beside it.

    Parameters
    ----------
    workspace : JointWorkspace
        Of the kernel.
    kernel : Kernel
        At the hyperparameters wanted.
    rows, variance : arrays, shape (n,)
        The sites' vertices, and the variances of their noise.
    tolerance : float
        Relative residual.
    """

    def __init__(
        self, workspace: JointWorkspace, kernel: Kernel, rows: np.ndarray, variance: np.ndarray, tolerance: float
    ) -> None:
        self.workspace, self.operator, self.tolerance = workspace, workspace.operator, tolerance
        self._of = kernel, rows, variance
        self.arrays = workspace.arrays(kernel)
        self.fields = [
            CentredField(term, term.field(kernel), float(np.exp(numbers[2])), self.operator.vector(scale[:, None]))
            for term, numbers, scale in zip(workspace.parts.fields, self.arrays.fields, self.arrays.scales, strict=True)
        ]
        #: W, shape (N, 1), zero where there is no site.
        self.precision = scattered(self.operator, rows, 1.0 / (variance + self.arrays.own[rows]))
        #: U, shape (N, p).
        self.features = None
        if workspace.features is not None:
            self.features = self.operator.settle(workspace.features * np.sqrt(self.arrays.weights))
        self._stiff = [one.field.mean_eigenvalue() for one in self.fields]
        #: T' Q^-1 T of the preconditioner, whose Q are multiples of the identity.
        self._ease = sum((one.scale**2 / q for one, q in zip(self.fields, self._stiff, strict=True)), 0.0)
        largest = float(self.operator.fetch((self.precision * sum(one.scale**2 for one in self.fields)).max()))
        #: A bound on the condition number of B.
        self.condition = (max(one.field.condition / one.field.s for one in self.fields) + largest) * max(
            one.field.s for one in self.fields
        )

    def is_of(self, kernel: Kernel, rows: np.ndarray, variance: np.ndarray) -> bool:
        """Tell whether this is the system of a kernel and sites."""
        own, *sites = self._of
        return own is kernel and all(map(np.array_equal, sites, (rows, variance)))

    # ------------------------------------------------ the fields side by side, as one block of K N rows

    def _split(self, X: Block) -> list[Block]:
        N = self.operator.size
        return [X] if len(self.fields) == 1 else [X[k * N : (k + 1) * N] for k in range(len(self.fields))]

    @staticmethod
    def _join(parts: list[Block]) -> Block:
        return parts[0] if len(parts) == 1 else np.vstack(parts)

    def seen(self, parts: list[Block]) -> Block:
        """Return the sum of T_k g_k."""
        return self.operator.settle(sum(one.scale * g for one, g in zip(self.fields, parts, strict=True)))

    def spread(self, r: Block) -> list[Block]:
        """Return T_k r for each field."""
        return [one.scale * r for one in self.fields]

    def _product(self, X: Block) -> Block:
        parts = self._split(X)
        pulled = self.precision * self.seen(parts)
        return self._join([one.product(g) + one.scale * pulled for one, g in zip(self.fields, parts, strict=True)])

    @cached_property
    def _lifts(self) -> list[float]:
        """The number b_k q_k of each field, from the mean of the diagonal of q_k P^-1."""
        at_sites = self.precision / (1.0 + self.precision * self._ease)
        shares = [(1.0 - one.scale**2 / q * at_sites).mean() for one, q in zip(self.fields, self._stiff, strict=True)]
        known = zip(self.fields, self._stiff, self.operator.fetch(shares), strict=True)
        return [q * one.field.lift(float(share), self.tolerance) for one, q, share in known]

    def _precondition(self, X: Block) -> Block:
        """Return (P^-1 + P^-1 blockdiag(b_k q_k (I - Delta_k / u_k)) P^-1) X, as for one field (`system`)."""
        by_diagonal = self._by_diagonal(X)
        if not any(self._lifts):
            return by_diagonal
        parts = zip(self.fields, self._split(by_diagonal), self._lifts, strict=True)
        return self._by_diagonal(X + self._join([one.lifted(g, lift) for one, g, lift in parts]))

    def _by_diagonal(self, X: Block) -> Block:
        """Return P^-1 X, P = diag(q_k) + T' W T, by Sherman and Morrison at each vertex."""
        parts = [g / q for g, q in zip(self._split(X), self._stiff, strict=True)]
        pulled = self.precision / (1.0 + self.precision * self._ease) * self.seen(parts)
        pairs = zip(self.fields, self._stiff, parts, strict=True)
        return self._join([g - one.scale / q * pulled for one, q, g in pairs])

    def _coloured(self, X: Block) -> Block:
        """Return L X with L L' = P: q^1/2 (I + k v v'), v_k = T_k / q_k^1/2."""
        parts, roots = self._split(X), np.sqrt(self._stiff)
        along = self.seen([g / root for g, root in zip(parts, roots, strict=True)])
        along = self.precision / (1.0 + np.sqrt(1.0 + self.precision * self._ease)) * along
        return self._join(
            [root * g + one.scale * along for one, root, g in zip(self.fields, roots, parts, strict=True)]
        )

    def solve(
        self, parts: list[Block], tolerance: float | None = None, start: list[Block] | None = None
    ) -> list[Block]:
        """Return B^-1 of a block of each field, from a start if there is one."""
        begin = None if start is None else self._join(start)
        return self._split(self._solved(self._join(parts), tolerance, begin).x)

    def _solved(
        self, rhs: Block, tolerance: float | None = None, start: Block | None = None, *, by_diagonal: bool = False
    ) -> Solution:
        tolerance = self.tolerance if tolerance is None else max(tolerance, self.tolerance)
        rhs = self.operator.settle(rhs)
        found = conjugate_gradients(
            self._product,
            rhs,
            tolerance=tolerance,
            max_iterations=self.workspace.options.max_iterations,
            precondition=self._by_diagonal if by_diagonal else self._precondition,
            start=start,
            blocks=self.operator,
        )
        check_converged(found, tolerance, self.condition)
        check_true_residual(found, self._product, rhs, tolerance, self.condition, self.operator)
        return found

    # ------------------------------------------------ features

    @cached_property
    def through(self) -> list[Block]:
        """Z, a block (N, p) of each field."""
        return self.solve(self.spread(self.precision * self.features))

    @cached_property
    def apart(self) -> Block:
        """U - T Z, shape (N, p): what fields leave of the features."""
        return self.operator.settle(self.features - self.seen(self.through))

    @property
    def has_features(self) -> bool:
        """Whether there are any."""
        return self.features is not None

    @cached_property
    def reduced(self) -> np.ndarray:
        """M, shape (p, p)."""
        M = self.operator.fetch((self.precision * self.features).T @ self.apart)
        return np.eye(len(M)) + (M + M.T) / 2

    @cached_property
    def root(self) -> np.ndarray:
        """Return R with R R' = M^-1."""
        return scipy.linalg.inv(scipy.linalg.cholesky(self.reduced))

    def respond(
        self,
        own: list[Block],
        of_features: np.ndarray | float = 0.0,
        tolerance: float | None = None,
        start: list[Block] | None = None,
    ) -> Joint:
        """Return what fields and features answer to right-hand sides of each; ``start`` as of `Joint.solved`."""
        solved = parts = self.solve(own, tolerance, start)
        h = self.seen(parts)
        if self.features is None:
            return Joint(parts, h, solved)
        left = of_features - self.operator.fetch(self.features.T @ (self.precision * h))
        delta = self.root @ (self.root.T @ left)
        parts = [g - Z @ delta for g, Z in zip(parts, self.through, strict=True)]
        settled = [self.operator.settle(g) for g in parts]
        return Joint(settled, self.operator.settle(h + self.apart @ delta), solved)

    def smoothed(self, r: Block, tolerance: float | None = None, start: list[Block] | None = None) -> Joint:
        """Return H r, and the fields behind it."""
        return self.respond(self.spread(r), self._of_features(r), tolerance, start)

    def noise(self, size: int, rng: np.random.Generator, *, signs: bool = False) -> JointNoise:
        """Return what so many draws are made of, at any sites; of signs where second moments are wanted alone."""
        of_sites = self.operator.signs(size, rng) if signs else self.operator.white_noise(size, rng)
        of_fields = [one.noise(self.workspace.noise(one.term), size, rng, signs=signs) for one in self.fields]
        return JointNoise(of_fields, of_sites, rng.standard_normal((len(self.arrays.weights), size)))

    def draws(self, size: int, rng: np.random.Generator, *, signs: bool = False) -> tuple[Block, Block]:
        """Return draws of covariance H, and the noise W^1/2 z of the sites in them, (N, size) each."""
        noise = self.noise(size, rng, signs=signs)
        of_sites = np.sqrt(self.precision) * noise.sites
        return self.respond(*self._perturbed(noise, of_sites)).h, of_sites

    def mean_and_draws(self, targets: Block, noise: JointNoise, start: list[Block] | None = None) -> Joint:
        """Return H W targets, the first column, and draws of covariance H beside it."""
        of_draws, for_features = self._perturbed(noise, np.sqrt(self.precision) * noise.sites)
        pulled = self.precision * targets
        pairs = zip(self.spread(pulled), of_draws, strict=True)
        parts = [self.operator.concatenate(list(pair)) for pair in pairs]
        of_features = 0.0 if self.features is None else np.hstack([self._of_features(pulled), for_features])
        return self.respond(parts, of_features, start=start)

    def _perturbed(self, noise: JointNoise, of_sites: Block) -> tuple[list[Block], np.ndarray | float]:
        """Return the right-hand sides of draws."""
        parts = [own + one.scale * of_sites for one, own in zip(self.fields, noise.fields, strict=True)]
        return parts, 0.0 if self.features is None else noise.features + self._of_features(of_sites)

    def _of_features(self, r: Block) -> np.ndarray | float:
        return 0.0 if self.features is None else self.operator.fetch(self.features.T @ r)

    # ------------------------------------------------ the log determinant

    def log_determinant(self) -> JointProbes:
        """Return log det(I + K_h W) with its standard error, and the solves behind it."""
        operator, options = self.operator, self.workspace.options
        N, K = operator.size, len(self.fields)
        size, rng = K * N, options.generator(2)
        count = options.probes_for(size)
        if count >= size:
            parts = [operator.vector(np.sqrt(size) * np.eye(size)[k * N : (k + 1) * N]) for k in range(K)]
            count = size
        else:
            parts = [operator.signs(count, rng) for _ in range(K)]
        coloured = operator.settle(self._coloured(self._join(parts)))
        solution = self._solved(coloured, by_diagonal=True)
        by_probe, missing = log_forms(solution, np.full(count, float(size)))
        spread = 0.0 if count >= size else float(by_probe.std(ddof=1) / np.sqrt(count))
        of_prior = [one.log_det() for one in self.fields]
        of_preconditioner = N * float(np.log(self._stiff).sum())
        of_preconditioner += float(operator.fetch(np.log1p(self.precision * self._ease).sum()))
        value = of_preconditioner + float(by_probe.mean()) - sum(value for value, _ in of_prior)
        if self.has_features:
            value += float(np.linalg.slogdet(self.reduced)[1])
        error = float(np.sqrt(max(spread, missing) ** 2 + sum(error**2 for _, error in of_prior)))
        preconditioned = self._split(operator.settle(self._by_diagonal(coloured)))
        return JointProbes(self._split(solution.x), preconditioned, Estimate(value, error))


class Joint(NamedTuple):
    """An answer: of each field, of h = sum of T_k g_k + U b, and B^-1 of the fields' right-hand sides alone."""

    fields: list[Block]
    h: Block
    solved: list[Block]
