"""Every kernel that the contracts run, made for any hypergraph, and every likelihood."""

import math

import numpy as np

from hypergauss import (
    KPMF,
    HypergraphGPClassifier,
    HypergraphGPLVM,
    HypergraphGPRegressor,
    SpectralEmbedding,
    Spectrum,
)
from hypergauss.kernels import (
    Bernstein,
    Components,
    Diffusion,
    Linear,
    Matern,
    ShapedWalk,
    SquaredExponential,
    Standardised,
    UnitRows,
    Walk,
    relations,
)
from hypergauss.likelihoods import (
    Bernoulli,
    Gaussian,
    MultinomialProbit,
    OrderedProbit,
    Poisson,
    RobustMax,
    Softmax,
    StudentT,
)

RISING = [0.05, 0.1, 0.4, 2.0]
WAVY = [1.5, 0.7, 2.0]


def covariates(H):
    """Two columns that depend on the vertex's name only, so that they follow a relabelling."""
    numbers = np.array([int(str(name).strip("v")) for name in H.vertices], dtype=float)
    return np.column_stack([np.sin(numbers), np.cos(1.3 * numbers)])


def _unnormalised(H):
    return Spectrum.of(H.clique_expansion(), laplacian="unnormalised")


KERNELS = {
    "matern": lambda H: Matern(Spectrum.of(H), 0.8, 2.0, variance=1.7),
    "matern in the limit": lambda H: Matern(Spectrum.of(H), math.inf, 3.0),
    "matern unnormalised": lambda H: Matern(Spectrum.of(H), 1.5, 2.0, normalise=False),
    "matern by size": lambda H: Matern(Spectrum.of(H, size_exponent=0.7), 0.8, 2.0),
    "matern of whole nu": lambda H: Matern(Spectrum.of(H), 2, 2.0, variance=0.6),
    "matern of whole nu by size": lambda H: Matern(Spectrum.of(H, size_exponent=0.7), 3, 2.0, normalise=False),
    "matern on a graph": lambda H: Matern(Spectrum.of(H.clique_expansion()), 1.5, 2.0),
    "diffusion": lambda H: Diffusion(Spectrum.of(H), 3.0, variance=0.6),
    "bernstein, rising": lambda H: Bernstein(Spectrum.of(H), RISING),
    # Not a whole number of steps, and enough of them for a polynomial of some tens of degrees.
    "walk": lambda H: Walk(Spectrum.of(H), 5.5, variance=1.3),
    "shaped walk": lambda H: ShapedWalk(Spectrum.of(H), 1.2, WAVY, variance=0.8),
    "shaped walk on a graph": lambda H: ShapedWalk(Spectrum.of(H.clique_expansion()), 0.8, WAVY),
    "standardised": lambda H: Standardised(ShapedWalk(Spectrum.of(H), 1.2, WAVY, variance=1.4), 0.4),
    "standardised, half even": lambda H: Standardised(ShapedWalk(Spectrum.of(H), 0.8, WAVY), 2.0, evenness=0.5),
    "standardised matern, half even": lambda H: Standardised(Matern(Spectrum.of(H)), 2.0, evenness=0.4, level=0.3),
    "standardised, with a level": lambda H: Standardised(Walk(Spectrum.of(H), variance=0.8), level=0.7),
    "standardised, with a relative level": lambda H: Standardised(
        Walk(Spectrum.of(H), variance=0.8), level=0.2, relative_level=0.9
    ),
    "standardised matern by size": lambda H: Standardised(Matern(Spectrum.of(H, size_exponent=0.7), 0.8, 2.0), 0.1),
    "standardised, rising": lambda H: Standardised(Bernstein(Spectrum.of(H), RISING), level=0.3),
    "standardised on a graph": lambda H: Standardised(Walk(Spectrum.of(H.clique_expansion()), 1.4), level=0.5),
    "standardised, active": lambda H: Standardised(Walk(Spectrum.of(H)), level=0.3, activity=0.6),
    "standardised, active, no level": lambda H: Standardised(Matern(Spectrum.of(H)), 0.5, activity=1.6),
    "standardised by D - W": lambda H: Standardised(Diffusion(_unnormalised(H), 0.3), level=0.5),
    "standardised and covariates": lambda H: Standardised(Walk(Spectrum.of(H)), level=0.6) + Linear(covariates(H)),
    "standardised times covariates": lambda H: Standardised(Walk(Spectrum.of(H)), level=0.6) * Linear(covariates(H)),
    "squared exponential": lambda H: SquaredExponential(covariates(H), [0.8, 2.0], variance=1.4),
    "linear": lambda H: Linear(covariates(H), [0.8, 2.0]),
    "components": lambda H: Components.of(covariates(H), steps=1.4, variance=0.8),
    "unit rows": lambda H: UnitRows(covariates(H), 0.8, variance=1.4),
    "sum": lambda H: Matern(Spectrum.of(H)) + Linear(covariates(H)),
    "sum without features": lambda H: Diffusion(Spectrum.of(H), 2.0) + SquaredExponential(covariates(H)),
    "product": lambda H: Matern(Spectrum.of(H), 1.5, 2.0) * Linear(covariates(H)),
    "product of filters": lambda H: Diffusion(Spectrum.of(H), 2.0) * Bernstein(Spectrum.of(H), RISING),
    "relations": lambda H: relations({"all": Spectrum.of(H), "cliques": Spectrum.of(H.clique_expansion())}),
}

#: Those without low-rank structure, which only the dense solver serves.
FEATURELESS = {"squared exponential", "unit rows", "sum without features", "standardised times covariates"}
#: Those that products with Laplacians alone do not serve.
NEEDING_EIGENVECTORS = {
    *FEATURELESS,
    "linear",
    "components",
    "product of filters",
    # The waves of a shape end at the smallest eigenvalue above 0, in a kink that no polynomial follows.
    "shaped walk",
    "shaped walk on a graph",
    *(name for name in KERNELS if name.startswith("standardised")),
}

LIKELIHOODS = {
    "logit": Bernoulli("logit"),
    "probit": Bernoulli("probit"),
    "softmax": Softmax(3),
    "robust-max": RobustMax(3),
    "multinomial probit": MultinomialProbit(3),
    "multinomial probit, two classes": MultinomialProbit(2),
    "ordered probit": OrderedProbit(4, [-1.0, 0.2, 2.0]),
    "ordered probit, two classes": OrderedProbit(2, [0.4]),
    "ordered probit, a narrow class": OrderedProbit(3, [0.3, 0.302]),
    "gaussian": Gaussian(0.4),
    "poisson": Poisson(),
    "student": StudentT(0.3, 4.0, fixed=()),
    "student in the limit": StudentT(0.5, 1000.0, fixed=()),
}


def _regression(H):
    model = HypergraphGPRegressor(H, random_state=0).fit(H.vertices, covariates(H)[:, 0])
    return np.column_stack(model.predict(H.vertices, return_std=True))


def _classification(H):
    labels = np.where(covariates(H)[:, 0] > 0, "high", "low")
    return HypergraphGPClassifier(H, random_state=0).fit(H.vertices, labels).predict_proba(H.vertices)


def _ratings(H):
    """Each vertex rates one of four items."""
    items = [str(i % 4) for i in range(H.num_vertices)]
    model = KPMF(2, inference="map", random_state=0).fit(H.vertices, items, 3 + covariates(H)[:, 0])
    return model.predict(H.vertices, ["1"] * H.num_vertices)


#: Every estimator, and its answers when fitted to a hypergraph, one row a vertex.
ESTIMATORS = {
    HypergraphGPRegressor: _regression,
    HypergraphGPClassifier: _classification,
    HypergraphGPLVM: lambda H: HypergraphGPLVM(starts=["spectral"], random_state=0).fit(H).reconstruct().to_numpy(),
    SpectralEmbedding: lambda H: np.abs(SpectralEmbedding(2).fit(H).embedding_),
    KPMF: _ratings,
}
