"""The classes whose objects a model file may hold, and what makes up an object of each: one table, kept by hand.

A file names a class by its key here and its state by the names beside it, so that code may move and be renamed while
files stay. Whoever adds a field to a class adds it here, with what an earlier file's objects have in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from hypergauss import parameters
from hypergauss.embedding import HypergraphGPLVM, SpectralEmbedding
from hypergauss.embedding.model import MapModel
from hypergauss.embedding.model import Vertices as MapVertices
from hypergauss.embedding.prediction import Conditioned
from hypergauss.estimators import HypergraphGPClassifier, HypergraphGPRegressor
from hypergauss.estimators.domain import Standardiser
from hypergauss.estimators.uncertainty import HyperparameterPosterior
from hypergauss.factorisation import KPMF
from hypergauss.factorisation.mode import Mode
from hypergauss.factorisation.moods import Days
from hypergauss.factorisation.predictive import Kept, Scale
from hypergauss.factorisation.ratings import Ratings
from hypergauss.factorisation.row_priors import Ground
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.latents import GaussianLatents, SampledLatents
from hypergauss.inference.mcmc.draws import Draws
from hypergauss.inference.mcmc.evidence import HyperparameterDraws
from hypergauss.inference.mcmc.whitened import Hyperprior, WhitenedModel
from hypergauss.inference.mixtures import MixedLatents, MixedPosterior
from hypergauss.inference.one_hot import OneHotLatents
from hypergauss.kernels import (
    Bernstein,
    Components,
    Diffusion,
    Linear,
    Matern,
    Product,
    ShapedWalk,
    SquaredExponential,
    Standardised,
    Sum,
    UnitRows,
    Walk,
)
from hypergauss.kernels.spectral import Vertices
from hypergauss.kernels.standard_parts import StandardVertices
from hypergauss.learning.priors import LogNormal
from hypergauss.learning.size_exponent import Profile
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
from hypergauss.solvers.base import Prior
from hypergauss.solvers.iterative.options import Iterative
from hypergauss.solvers.markov.options import Markov
from hypergauss.solvers.projection import InducingVertices, SpectralFeatures
from hypergauss.solvers.sites import Observations, Sites
from hypergauss.spectrum import (
    EigenSpectrum,
    FactoredLaplacian,
    GraphLaplacian,
    MatrixFreeSpectrum,
    SpectralDensity,
    ZhouLaplacian,
)
from hypergauss.spectrum.laplacians import MatrixFreeLaplacian
from hypergauss.storage.stored import Stored


def _profile(size_exponent: float, exponents: np.ndarray, objectives: np.ndarray) -> Profile:
    """Return a profile; what was learned on the way there is not kept."""
    return Profile(size_exponent, None, exponents, objectives)


def _hyperprior(template: LatentModel, names: Sequence[str], **numbers: Any) -> Hyperprior:
    """Return priors of hyperparameters in the order that the draws of the file have them in."""
    free = {slot.name: slot for slot in parameters.slots(template)}
    if sorted(free) != sorted(names):
        raise ValueError(f"priors of {', '.join(names)} do not fit a model of {', '.join(free)}")
    return Hyperprior(template, tuple(free[name] for name in names), **numbers)


def _of_hyperprior(held: Hyperprior) -> dict[str, Any]:
    numbers = {name: getattr(held, name) for name in ("centre", "spread", "lower", "upper")}
    return {"template": held.template, "names": [slot.name for slot in held.free], **numbers}


def _of_kpmf(held: KPMF) -> dict[str, Any]:
    """Return what a factorisation has learned: draws, or a mode."""
    return {name: getattr(held, name, None) for name in ESTIMATORS["KPMF"].state}


def _check_kpmf(held: KPMF) -> None:
    """Refuse names, ratings and factors of different numbers of users or items."""
    table, shape = held.ratings_, (len(held.users_), len(held.items_))
    count = len(table.values)
    fits = table.shape == shape and len(table.user) == len(table.item) == count
    fits &= all(part.min(initial=0) >= 0 for part in (table.user, table.item))
    fits &= table.user.max(initial=-1) < shape[0] and table.item.max(initial=-1) < shape[1]
    if held.inference == "gibbs":
        columns = held.draws_[0].users.shape[2] if held.draws_ else 0
        for chain in held.draws_:
            draws = len(chain.mean)
            fits &= chain.users.shape == (draws, shape[0], columns) and chain.items.shape == (draws, shape[1], columns)
            fits &= (chain.user_noise.shape, chain.item_noise.shape) == ((draws, shape[0]), (draws, shape[1]))
            fits &= all(len(part) == draws for part in chain)
        if held.days_ is not None:
            user, name, place = held.days_
            fits &= len(user) == len(name) == held.draws_[0].moods.shape[1] and len(place) == count
            fits &= place.max(initial=-1) < len(user) and user.max(initial=-1) < shape[0]
        fits &= len(held.draws_) > 0 and len(held.grounds_) == 2
    else:
        fits &= (len(held.mode_.users), len(held.mode_.items)) == shape
    if not fits:
        raise ValueError("names, ratings and factors do not fit together")


def _check_map(held: HypergraphGPLVM) -> None:
    """Refuse coordinates of other vertices than the hypergraph's; name the index of starts, as a fit does."""
    size = held._H.num_vertices
    scores = held._conditioned.left_out.shape
    if len(held.embedding_) != size or scores != (size, len(held._edges)) or len(held.coordinate_std_) != size:
        raise ValueError("coordinates and hypergraph do not fit together")
    held.starts_ = held.starts_.set_axis(pd.Index(held.starts_.index.tolist(), name="start"))


def _check_embedding(held: SpectralEmbedding) -> None:
    if np.ndim(held.embedding_) != 2 or held.embedding_.shape[1] != len(held.eigenvalues_):
        raise ValueError("coordinates and eigenvalues do not fit together")


_FILTER = ("spectrum", "normalise", "variance", "fixed")
STORED = {
    "Bernoulli": Stored(Bernoulli, ("link", "num_classes")),
    "Bernstein": Stored(Bernstein, (*_FILTER, "coefficients")),
    "Conditioned": Stored(Conditioned, Conditioned._fields),
    "Components": Stored(Components, ("vectors", "squares", "steps", "variance", "fixed")),
    "Days": Stored(Days, Days._fields),
    "Diffusion": Stored(Diffusion, (*_FILTER, "beta")),
    "Draws": Stored(Draws, ("rows", "latents", "log_likelihood", "coordinates", "whitened")),
    "EigenSpectrum": Stored(
        EigenSpectrum, ("eigenvalues", "singular_values", "vertex_vectors", "rest", "source", "size_exponent")
    ),
    "FactoredLaplacian": Stored(FactoredLaplacian, ("diagonal", "factor", "signs", "bound", "counts")),
    "Gaussian": Stored(Gaussian, ("noise_variance", "fixed")),
    "GaussianLatents": Stored(GaussianLatents, GaussianLatents._fields, later={"coupling": None, "own": None}),
    "Ground": Stored(Ground, Ground._fields),
    "GraphLaplacian": Stored(GraphLaplacian, ("matrix", "bound")),
    "HyperparameterDraws": Stored(HyperparameterDraws, ("coordinates", "hyperparameters", "log_posterior")),
    "HyperparameterPosterior": Stored(
        HyperparameterPosterior, ("entries", "covariance", "lower", "upper", "prior_variance")
    ),
    "Hyperprior": Stored(
        Hyperprior, ("template", "names", "centre", "spread", "lower", "upper"), _hyperprior, _of_hyperprior
    ),
    "InducingVertices": Stored(InducingVertices, ("rows", "inputs")),
    "Iterative": Stored(
        Iterative,
        (
            "tolerance",
            "n_samples",
            "sample_tolerance",
            "n_probes",
            "learning_tolerance",
            "probe_tolerance",
            "n_deflated",
            "max_iterations",
            "seed",
        ),
    ),
    "Kept": Stored(Kept, Kept._fields),
    "LatentModel": Stored(LatentModel, ("kernel", "likelihood", "mean", "fixed")),
    "Linear": Stored(Linear, ("covariates", "variance", "fixed")),
    "LogNormal": Stored(LogNormal, ("median", "spread")),
    "MapModel": Stored(
        MapModel,
        ("latent", "hypergraph", "covariates", "coordinates", "latent_lengthscale", "variance", "noise_variance"),
    ),
    "MapVertices": Stored(MapVertices, MapVertices._fields),
    "Markov": Stored(
        Markov,
        (
            "tolerance",
            "n_samples",
            "sample_tolerance",
            "n_probes",
            "learning_tolerance",
            "probe_tolerance",
            "max_iterations",
            "seed",
        ),
    ),
    "Matern": Stored(Matern, (*_FILTER, "inverse_nu", "lengthscale")),
    "MatrixFreeLaplacian": Stored(MatrixFreeLaplacian, ("products", "counts"), later={"counts": None}),
    "MatrixFreeSpectrum": Stored(
        MatrixFreeSpectrum, ("density", "source", "size_exponent", "rest", "estimated_at"), later={"estimated_at": 0}
    ),
    "MixedLatents": Stored(MixedLatents, MixedLatents._fields, later={"log_evidences": None}),
    "MixedPosterior": Stored(MixedPosterior, ("components", "weights", "log_evidence")),
    "Mode": Stored(Mode, Mode._fields),
    "MultinomialProbit": Stored(MultinomialProbit, ("num_classes",)),
    "Observations": Stored(
        Observations, ("rows", "mean", "counts", "scatter", "known_variance", "known_offset", "is_uniform")
    ),
    "OneHotLatents": Stored(OneHotLatents, OneHotLatents._fields, later={"coupling": None, "own": None}),
    "OrderedProbit": Stored(OrderedProbit, ("num_classes", "first_threshold", "gaps", "fixed")),
    "Poisson": Stored(Poisson, ()),
    "Prior": Stored(Prior, ("kernel", "mean")),
    "Product": Stored(Product, ("factors", "labels")),
    "Profile": Stored(Profile, ("size_exponent", "exponents", "objectives"), _profile),
    "Ratings": Stored(Ratings, Ratings._fields),
    "RobustMax": Stored(RobustMax, ("num_classes", "epsilon", "fixed")),
    "SampledLatents": Stored(SampledLatents, ("draws",)),
    "Scale": Stored(Scale, Scale._fields),
    "ShapedWalk": Stored(ShapedWalk, (*_FILTER, "steps", "shape")),
    "Sites": Stored(Sites, ("rows", "mean", "variance", "log_offset")),
    "Softmax": Stored(Softmax, ("num_classes",)),
    "SpectralDensity": Stored(SpectralDensity, ("nodes", "weights", "n_random")),
    "SpectralFeatures": Stored(SpectralFeatures, ("num_features",)),
    "SquaredExponential": Stored(SquaredExponential, ("covariates", "lengthscale", "variance", "fixed")),
    "StandardVertices": Stored(StandardVertices, ("index", "vectors", "memberships", "trivial", "activity")),
    "Standardiser": Stored(Standardiser, Standardiser._fields),
    "Standardised": Stored(
        Standardised,
        ("part", "level", "relative_level", "individuality", "evenness", "activity", "fixed"),
        later={"relative_level": 0.0},
    ),
    "StudentT": Stored(StudentT, ("scale", "degrees_of_freedom", "fixed")),
    "Sum": Stored(Sum, ("terms", "labels")),
    "UnitRows": Stored(UnitRows, ("rows", "angle", "variance", "fixed")),
    "Vertices": Stored(Vertices, ("index", "vectors")),
    "Walk": Stored(Walk, (*_FILTER, "steps")),
    "WhitenedModel": Stored(WhitenedModel, ("hyperprior", "inputs", "position", "y")),
    "ZhouLaplacian": Stored(ZhouLaplacian, ("incidence", "null"), later={"null": None}),
}
#: The key of each class.
KEYS = {stored.cls: key for key, stored in STORED.items()}

_LEARNED = (
    "vertices_",
    "posterior_",
    "kernel_",
    "hyperparameters_",
    "hyperparameter_posterior_",
    "size_exponent_",
    "size_exponent_profile_",
    "relation_weights_",
    "solver_",
    "solver_plan_",
    "n_iter_",
    "n_features_in_",
)
#: What estimators of earlier files do not have yet.
_LATER = {"hyperparameter_posterior_": None, "draws_": None}
#: The estimators, and what each has learned; their parameters are those of their constructors.
ESTIMATORS = {
    "HypergraphGPRegressor": Stored(
        HypergraphGPRegressor,
        (
            *_LEARNED,
            "_flat",
            "noise_variance_",
            "mean_",
            "log_marginal_likelihood_",
            "learning_trace_",
            "draws_",
            "transform_",
            "transform_evidence_",
            "levels_",
            "observations_",
            "_log_slope",
        ),
        later={
            **_LATER,
            "transform_": "none",
            "transform_evidence_": None,
            "levels_": None,
            "observations_": None,
            "_log_slope": 0.0,
        },
    ),
    "HypergraphGPClassifier": Stored(
        HypergraphGPClassifier,
        (*_LEARNED, "classes_", "elbo_", "elbo_trace_", "draws_", "temperature_", "shares_", "labels_"),
        later={**_LATER, "temperature_": 1.0, "shares_": None, "labels_": None},
    ),
    "HypergraphGPLVM": Stored(
        HypergraphGPLVM,
        (
            "solver_",
            "_H",
            "_standardise",
            "starts_",
            "trace_",
            "n_iter_",
            "log_posterior_",
            "model_",
            "_anchors",
            "_conditioned",
            "_edges",
            "embedding_",
            "coordinate_covariance_",
            "coordinate_std_",
            "hyperparameters_",
            "kernel_",
            "noise_variance_",
            "inducing_",
        ),
        check=_check_map,
    ),
    "KPMF": Stored(
        KPMF,
        (
            "draws_",
            "mode_",
            "scale_",
            "levels_",
            "cells_",
            "grounds_",
            "users_",
            "items_",
            "bounds_",
            "ratings_",
            "days_",
        ),
        taker=_of_kpmf,
        later={
            "days_": None,
            "draws_": None,
            "mode_": None,
            "levels_": None,
            "cells_": None,
            "grounds_": None,
            "bounds_": None,
        },
        check=_check_kpmf,
    ),
    "SpectralEmbedding": Stored(SpectralEmbedding, ("eigenvalues_", "embedding_"), check=_check_embedding),
}
#: The layout since which files hold an estimator: a version that does not know it says so, and not that it is damaged.
SINCE = {"HypergraphGPLVM": 3, "KPMF": 3, "SpectralEmbedding": 3}
