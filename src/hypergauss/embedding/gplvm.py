"""HypergraphGPLVM: a map of the vertices by a Gaussian process latent variable model (paper, section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Self

import numpy as np
import pandas as pd
from sklearn.utils import Tags, check_random_state

from hypergauss import _checks, parameters
from hypergauss._checks import Matrix, Seed
from hypergauss._progress import progress
from hypergauss.embedding.covariances import Covariances
from hypergauss.embedding.latent_derivatives import LatentDerivatives
from hypergauss.embedding.mapped import MappedVertices
from hypergauss.embedding.memberships import Memberships, check_missing, expected
from hypergauss.embedding.model import MapModel, Vertices
from hypergauss.embedding.newcomers import Newcomers, Scene, spreads
from hypergauss.embedding.objectives import LogPosterior
from hypergauss.embedding.pivots import choose_inducing, choose_solver
from hypergauss.embedding.prediction import condition_exactly, condition_on_inducing
from hypergauss.embedding.spectral_embedding import check_components
from hypergauss.embedding.starts import (
    STARTS,
    principal_coordinates,
    standardised,
    to_principal_axes,
)
from hypergauss.embedding.uncertainty import coordinate_covariances
from hypergauss.estimators.domain import Domain, Standardiser
from hypergauss.estimators.settings import check_flags, map_rules, refuse_idle
from hypergauss.estimators.vertices import warn_unless_converged
from hypergauss.hypergraph import Hypergraph
from hypergauss.kernels import Kernel, Linear, Matern, SquaredExponential
from hypergauss.learning.priors import LogNormal
from hypergauss.learning.search import Learned, Limits, climb, highest
from hypergauss.spectrum import cached_spectrum
from hypergauss.spectrum.coordinates import spectral_coordinates

#: The gain of an iteration, for each membership, below which a search ends: a map shows no smaller differences.
_TOLERANCE = 1e-7
#: Euclidean kernels of unit scale, by name; their variance and lengthscale are the model's own.
LATENT_KERNELS: dict[str, Callable[[np.ndarray], Kernel]] = {
    "squared-exponential": lambda U: SquaredExponential(U, fixed=("lengthscale", "variance")),
    "linear": lambda U: Linear(U, fixed=("variance",)),
}


class HypergraphGPLVM(MappedVertices):
    r"""Coordinates x_i ~ N(0, I) of the vertices under h_j | X ~ N(0, v K_XX * K_VV + sigma^2 I), column by column.

    The h_j are the columns of the incidence matrix as they are: the model has mean zero, like the paper's, and they
    are not centred. * is the elementwise product, K_XX a Euclidean kernel on the coordinates, K_VV the Matern kernel
    of the hypergraph. Coordinates, v, sigma^2 and the lengthscale l of K_XX are learned together by L-BFGS with exact
    gradients, from several starts, the highest of which is kept.

    Parameters
    ----------
    n_components : int, default 2
        Q, the dimension of the map, less than the number of vertices.
    nu, lengthscale : float, default 1.5 and 5.0
        Of the hypergraph's Matern kernel.
    fixed : sequence of str, default ("nu", "lengthscale")
        Which of "nu" and "lengthscale" learning leaves alone. The kernel is made from the same incidences that it
        explains, so learning them favours large values, which repeat the data and leave less to the map.
    latent_kernel : {"squared-exponential", "linear"} or callable, default "squared-exponential"
        The Euclidean kernel on coordinates in lengthscales, u = x / l. A callable is given coordinates, shape (N, Q),
        and returns a `Kernel` whose ``cross`` and ``variances`` take such arrays, complex ones too, by which its
        derivatives are found; its own free hyperparameters are learned too.
    covariates : array of shape (N, p) or DataFrame indexed by vertex, optional
        What else is known of each vertex: columns are standardised and enter K_VV as a further factor, a squared
        exponential kernel whose lengthscale is learned.
    size_exponent : float, default 0.0
        The a in hyperedge weights ``w(e) |e|^a``.
    priors : dict of name to LogNormal, optional
        Priors on hyperparameters: "variance", "noise_variance", "latent_lengthscale", and what is not ``fixed``.
    starts : sequence of {"spectral", "pca", "random"}
        Where learning starts.
    n_random : int, default 2
        How many random starts "random" stands for.
    solver : {"auto", "dense", "sparse"}
        "dense" is exact, O(N^3) an evaluation. "sparse" maximises a lower bound through inducing vertices, at
        O(N J^2 + N J M). "auto" takes the exact one up to 600 vertices. With missing memberships either costs as much
        again for each pattern in which columns are known.
    n_inducing : int, default 200
        J, the number of inducing vertices.
    max_iterations : int, default 500
        Of L-BFGS, for each start.
    random_state : int, RandomState or None
        For the random starts.
    verbose : bool, default False
        Show progress.

    Attributes
    ----------
    embedding_ : array, shape (N, Q)
        The coordinates u = x / l: a distance of 1 is one lengthscale of K_XX. Turned to their principal axes (except
        with a ``latent_kernel`` of your own).
    coordinate_covariance_ : array, shape (N, Q, Q)
        Covariance of each vertex's coordinates: Laplace's, from exact second derivatives. Turning and shifting the
        whole map is left out. With the sparse solver, given all other coordinates.
    coordinate_std_ : array, shape (N, Q)
        The root of its diagonal.
    log_posterior_ : float
        log p(H | X) + log p(X, l) at the optimum, or the bound on it, plus any log ``priors``.
    trace_ : array
        The log posterior after each iteration of the start that was kept.
    starts_ : DataFrame
        Every start: the log posterior it reached, iterations, evaluations, whether it converged, and which was kept.
    hyperparameters_ : dict
        All that was learned besides the coordinates, by name.
    model_ : MapModel
        The coordinates, all kernels and the variances.
    kernel_ : Matern
        The hypergraph kernel, with v as its variance.
    noise_variance_ : float
        sigma^2.
    solver_ : str
        The solver used.
    inducing_ : Index or None
        The inducing vertices.
    n_iter_ : int
        Iterations of the start that was kept.

    References
    ----------
    N. Lawrence (2003). Gaussian process latent variable models for visualisation of high dimensional data. NIPS.
    M. Titsias (2009). Variational learning of inducing variables in sparse Gaussian processes. AISTATS.

    Examples
    --------
    >>> from hypergauss import HypergraphGPLVM
    >>> from hypergauss.datasets import load_zoo
    >>> zoo = load_zoo().hypergraph
    >>> model = HypergraphGPLVM(starts=["spectral"]).fit(zoo)
    >>> model.embedding_.shape
    (101, 2)
    >>> scores = model.reconstruct()
    >>> bool(scores[("milk", 1)]["bear"] > scores[("milk", 1)]["carp"])
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        nu: float = 1.5,
        lengthscale: float = 5.0,
        *,
        fixed: Sequence[str] = ("nu", "lengthscale"),
        latent_kernel: str | Callable[[np.ndarray], Kernel] = "squared-exponential",
        covariates: Matrix | None = None,
        size_exponent: float = 0.0,
        priors: Mapping[str, LogNormal] | None = None,
        starts: Sequence[str] = STARTS,
        n_random: int = 2,
        solver: str = "auto",
        n_inducing: int = 200,
        max_iterations: int = 500,
        random_state: Seed = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.nu = nu
        self.lengthscale = lengthscale
        self.fixed = fixed
        self.latent_kernel = latent_kernel
        self.covariates = covariates
        self.size_exponent = size_exponent
        self.priors = priors
        self.starts = starts
        self.n_random = n_random
        self.solver = solver
        self.n_inducing = n_inducing
        self.max_iterations = max_iterations
        self.random_state = random_state
        self.verbose = verbose

    # ---------------------------------------------------------------- fitting

    def fit(self, H: Hypergraph, y: object = None, *, missing: Matrix | None = None) -> Self:  # noqa: ARG002
        """Place the vertices of a hypergraph.

        Parameters
        ----------
        H : Hypergraph
            Its incidence matrix is the data, and makes the kernel.
        y : None
            There for scikit-learn, and ignored.
        missing : bool array or DataFrame of shape (N, M), optional
            True where it is unknown whether the vertex belongs to the hyperedge, whatever ``H`` says there. Such
            entries are left out of the likelihood; in the Laplacian they count as their hyperedge's mean membership.
        """
        if not isinstance(H, Hypergraph):
            raise TypeError(
                f"`H` must be a Hypergraph. Got {type(H).__name__}. Build one with `Hypergraph.from_incidence(matrix)`."
            )
        check_flags(self, "verbose")
        n_components = check_components(self.n_components, H)
        n_inducing = _checks.count("n_inducing", self.n_inducing)
        max_iterations = _checks.count("max_iterations", self.max_iterations)
        unknown = check_missing(H, missing)
        data = Memberships.of(H, unknown)
        if not len(data.edges):
            raise ValueError(
                f"`H` must have a hyperedge with known members, or nothing tells vertices apart. Got {H} with none."
            )
        self.solver_ = choose_solver(self.solver, data, n_inducing)
        refuse_idle(self, map_rules(self.solver_))
        self._H = expected(H, unknown)
        kernels, vertices = self._kernels_and_vertices(H)
        starts = self._starts(n_components, data)
        models = {name: self._model(coordinates, kernels, data) for name, coordinates in starts.items()}
        first = next(iter(models.values()))
        LatentDerivatives.of(first.latent).check(first.coordinates)
        inducing = None
        if self.solver_ == "sparse":
            inducing = choose_inducing(first, vertices, min(n_inducing, H.num_vertices))
        objective = LogPosterior(first, data, vertices, inducing)
        with progress(self.verbose) as report:
            limits = Limits(max_iterations, _TOLERANCE, report=report)
            ends = {name: climb(objective, model, limits, priors=self.priors) for name, model in models.items()}
        best = highest(list(ends.values()))
        warn_unless_converged(best, max_iterations)
        self.starts_ = _report(ends, best)
        self.trace_, self.n_iter_, self.log_posterior_ = best.trace, len(best.trace) - 1, best.objective
        self._settle(best.model, vertices, data, inducing)
        return self

    def fit_transform(self, H: Hypergraph, y: object = None, *, missing: Matrix | None = None) -> np.ndarray:
        """Return the coordinates of the vertices, shape (N, Q)."""
        return self.fit(H, y, missing=missing).embedding_

    def _kernels_and_vertices(self, H: Hypergraph) -> tuple[tuple[Matern, Kernel | None], Vertices]:
        """Return the hypergraph kernel, the covariate kernel if there is one, and what they need of every vertex."""
        spectrum = cached_spectrum(self._H, None, _checks.real("size_exponent", self.size_exponent))
        named = (self.fixed,) if isinstance(self.fixed, str) else self.fixed
        fixed = [_checks.one_of("fixed", name, ("nu", "lengthscale")) for name in named]
        matern = Matern(spectrum, self.nu, self.lengthscale, fixed=(*fixed, "variance"))
        if self.covariates is None:
            self._standardise = None
            return (matern, None), Vertices(spectrum.vertex_vectors, None)
        raw = Domain.of(H).aligned(self.covariates)
        self._standardise = Standardiser.of(raw)
        table = self._standardise(raw)
        return (matern, SquaredExponential(table, fixed=("variance",))), Vertices(spectrum.vertex_vectors, table)

    def _model(self, coordinates: np.ndarray, kernels: tuple[Matern, Kernel | None], data: Memberships) -> MapModel:
        """Return the model at a start: the data's mean square, nine parts of it signal and one noise."""
        kernel = self.latent_kernel
        if not callable(kernel):
            kernel = LATENT_KERNELS[_checks.one_of("latent_kernel", kernel, tuple(LATENT_KERNELS))]
        size = float((data.values**2).sum() / data.num_known)
        return MapModel(
            kernel(coordinates),
            *kernels,
            coordinates=coordinates,
            latent_lengthscale=1.0,
            variance=0.9 * size,
            noise_variance=0.1 * size,
        )

    def _starts(self, n_components: int, data: Memberships) -> dict[str, np.ndarray]:
        """Return starting coordinates by name, each column with mean 0 and variance 1."""
        names = [_checks.one_of("starts", name, STARTS) for name in self.starts]
        if not names:
            raise ValueError(f"`starts` must name at least one of {', '.join(STARTS)}. Got none.")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        found: dict[str, np.ndarray] = {}
        if "spectral" in names:
            found["spectral"] = spectral_coordinates(self._H, n_components)[1]
        if "pca" in names:
            found["pca"] = principal_coordinates(data.values, n_components)
        if "random" in names:
            for number in range(_checks.count("n_random", self.n_random)):
                found[f"random {number + 1}"] = rng.standard_normal((len(data.values), n_components))
        return {name: standardised(start, n_components, rng) for name, start in found.items()}

    def _settle(self, model: MapModel, vertices: Vertices, data: Memberships, inducing: np.ndarray | None) -> None:
        """Keep what was learned, condition on the memberships, and measure how sure the coordinates are."""
        if not callable(self.latent_kernel):  # the named kernels see distances or products only
            model = model.with_coordinates(to_principal_axes(model.coordinates))
        anchors = np.arange(len(data.values)) if inducing is None else inducing
        table = model.tabulate(vertices, anchors)
        covariances = Covariances(model, table, anchors)
        if inducing is None:
            conditioned = condition_exactly(covariances, data)
            spread = coordinate_covariances(covariances, data, conditioned)
        else:
            conditioned = condition_on_inducing(covariances, data)
            known = data.patterns[data.pattern_of].T.astype(float)
            themselves = Newcomers(data.values, known, table.smooth, table.smooth_variances + table.nugget)
            spread = spreads(Scene(model, conditioned), themselves, model.coordinates)
        self.model_, self._anchors = model, vertices.at(anchors)
        self._conditioned, self._edges = conditioned, data.edges
        self.embedding_ = model.coordinates.copy()
        self.coordinate_covariance_ = spread
        self.coordinate_std_ = np.sqrt(np.diagonal(spread, axis1=1, axis2=2))
        learned = parameters.values(model)
        self.hyperparameters_ = {name: value for name, value in learned.items() if name != "coordinates"}
        self.kernel_ = model.hypergraph.scaled(float(model.variance))
        self.noise_variance_ = float(model.noise_variance)
        self.inducing_ = None if inducing is None else self._H.vertices[inducing]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


def _report(ends: Mapping[str, Learned], best: Learned) -> pd.DataFrame:
    """Return one row a start."""
    rows = [
        {
            "start": name,
            "log_posterior": end.objective,
            "iterations": len(end.trace) - 1,
            "evaluations": end.n_evaluations,
            "converged": end.converged,
            "kept": end is best,
        }
        for name, end in ends.items()
    ]
    return pd.DataFrame(rows).set_index("start")
