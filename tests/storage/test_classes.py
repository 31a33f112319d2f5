"""The table of what a file may hold says of each class all that makes up its objects."""

import dataclasses

import numpy as np
import pytest

import hypergauss as hg
from hypergauss import kernels, likelihoods, parameters
from hypergauss.embedding.model import MapModel
from hypergauss.inference import InducingVertices, SpectralFeatures
from hypergauss.inference.latent_model import LatentModel
from hypergauss.parameters import Parametrised
from hypergauss.solvers import projection
from hypergauss.storage.classes import ESTIMATORS, KEYS, STORED
from tests.hypergraphs import random_hypergraph

pytestmark = pytest.mark.usefixtures("few_points")

H = random_hypergraph(8, 6, seed=1)
SPECTRUM = hg.Spectrum.of(H)
MATERN = kernels.Matern(SPECTRUM)
X = np.arange(8.0)[:, None]
#: An object of each class that has hyperparameters, or holds them.
PARAMETRISED = [
    MATERN,
    kernels.Diffusion(SPECTRUM),
    kernels.Bernstein(SPECTRUM),
    kernels.Walk(SPECTRUM),
    kernels.ShapedWalk(SPECTRUM),
    kernels.Standardised(MATERN, level=1.0),
    kernels.SquaredExponential(X),
    kernels.Linear(X),
    kernels.Components.of(X),
    kernels.UnitRows(X),
    MATERN + kernels.Linear(X),
    MATERN * kernels.Linear(X),
    likelihoods.Bernoulli(),
    likelihoods.Gaussian(),
    likelihoods.MultinomialProbit(3),
    likelihoods.OrderedProbit(3),
    likelihoods.Poisson(),
    likelihoods.RobustMax(3),
    likelihoods.Softmax(3),
    likelihoods.StudentT(),
    InducingVertices.of(MATERN, np.array([1, 2])),
    SpectralFeatures(3),
    LatentModel(MATERN, likelihoods.Softmax(3), np.zeros(3)),
    MapModel(kernels.Linear(X), MATERN, None, coordinates=X, latent_lengthscale=1.0, variance=1.0, noise_variance=0.1),
]


@pytest.mark.parametrize("made", PARAMETRISED, ids=lambda made: type(made).__name__)
def test_every_field_of_an_object_is_in_the_table_in_its_order(made):
    state = STORED[KEYS[type(made)]].state
    assert tuple(vars(made)) == state
    again = STORED[KEYS[type(made)]].make({name: getattr(made, name) for name in reversed(state)})
    assert parameters.values(again) == parameters.values(made)


def test_the_table_has_an_object_here_for_each_of_its_classes():
    tested = {type(made) for made in PARAMETRISED}
    assert {stored.cls for stored in STORED.values() if issubclass(stored.cls, Parametrised)} == tested


def test_every_kernel_and_likelihood_of_ours_is_in_the_table():
    def public(module):
        return {value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Parametrised)}

    for cls in public(kernels) | public(likelihoods) | public(projection):
        if not getattr(cls, "__abstractmethods__", None) and cls is not projection.Projection:
            assert cls in KEYS or cls is Parametrised


@pytest.mark.parametrize("key", [k for k, stored in STORED.items() if not issubclass(stored.cls, Parametrised)])
def test_every_field_of_a_plain_class_is_in_the_table_or_made_anew(key):
    stored = STORED[key]
    fields = stored.cls._fields if issubclass(stored.cls, tuple) else [f.name for f in dataclasses.fields(stored.cls)]
    anew = {"Profile": {"best", "outcomes"}, "Hyperprior": {"free"}}.get(key, set())
    assert set(stored.state) - {"names"} == set(fields) - anew


@pytest.mark.parametrize(
    ("name", "targets"),
    [("HypergraphGPRegressor", [0.0, 1.0, 2.0]), ("HypergraphGPClassifier", ["a", "b", "a"])],
)
def test_all_that_an_estimator_has_learned_is_in_the_table(name, targets):
    model = ESTIMATORS[name].cls(H, learn=False).fit(list(H.vertices)[:3], targets)
    assert set(vars(model)) - set(model.get_params(deep=False)) == set(ESTIMATORS[name].state)


OTHERS = {
    "KPMF": lambda: hg.KPMF(1, warm_up=1, draws=1).fit(["a", "b"], ["x", "y"], [1, 2]),
    "KPMF at its mode": lambda: hg.KPMF(1, inference="map").fit(["a", "b"], ["x", "y"], [1, 2]),
    "HypergraphGPLVM": lambda: hg.HypergraphGPLVM(starts=["spectral"]).fit(H),
    "SpectralEmbedding": lambda: hg.SpectralEmbedding().fit(H),
}


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS)
def test_all_that_other_estimators_have_learned_is_in_the_table(make):
    model = make()
    stored = ESTIMATORS[type(model).__name__]
    learned = set(vars(model)) - set(model.get_params(deep=False))
    assert learned <= set(stored.state)
    assert set(stored.state) - learned <= set(stored.later)


def test_every_public_estimator_can_be_saved():
    offered = (getattr(hg, name) for name in hg.__all__)
    assert {made.__name__ for made in offered if isinstance(made, type) and hasattr(made, "fit")} == set(ESTIMATORS)
