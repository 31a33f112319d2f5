"""Each parameter of each estimator acts, or is refused: nothing is accepted and ignored."""

import contextlib
import functools
import warnings
from unittest import mock

import numpy as np
import pytest

from hypergauss import (
    KPMF,
    HypergraphGPClassifier,
    HypergraphGPLVM,
    HypergraphGPRegressor,
    Iterative,
    SpectralEmbedding,
    Spectrum,
)
from hypergauss.estimators.averaging import average
from hypergauss.inference import LogNormal
from hypergauss.inference.mcmc.evidence import sample_hyperparameters
from hypergauss.kernels import Matern
from hypergauss.learning.search import maximise
from tests.contracts.cases import ESTIMATORS, covariates
from tests.hypergraphs import random_hypergraph

H = random_hypergraph(16, 12, seed=3)
OTHER = random_hypergraph(16, 12, seed=4)
NAMES, HALF = list(H.vertices), list(H.vertices)[::2]
X = covariates(H)
Y = H.vertex_degrees[::2] + 0.1 * X[::2, 1]
LABELS = np.array(["low", "high", "high", "low", "high", "low", "high", "low"])
USERS, ITEMS = np.repeat(NAMES, 3), np.array([f"item {(3 * i + j) % 7}" for i in range(16) for j in (0, 1, 4)])
RATINGS = 3.0 + np.round(2 * np.sin(np.arange(48.0)))
RELATION = OTHER.with_vertices(H.vertices)


def _regressed(model):
    fitted = model.fit(HALF, Y)
    return [*fitted.predict(NAMES, return_std=True), fitted.n_iter_]


def _classified(model):
    fitted = model.fit(HALF, LABELS)
    return [fitted.predict_proba(NAMES), fitted.elbo_]


def _mapped(model):
    fitted = model.fit(H)
    return [fitted.reconstruct().to_numpy(), fitted.embedding_, len(fitted.starts_)]


def _rated(model):
    fitted = model.fit(USERS, ITEMS, None if model.likelihood == "implicit" else RATINGS)
    return list(fitted.predict(USERS, ITEMS[::-1], return_std=True))


#: What an estimator answers.
ANSWERS = {
    HypergraphGPRegressor: _regressed,
    HypergraphGPClassifier: _classified,
    HypergraphGPLVM: _mapped,
    SpectralEmbedding: lambda model: [model.fit(H).embedding_],
    KPMF: _rated,
}

_OF_VERTICES = {
    "H": OTHER,
    "kernel": "diffusion",
    "covariates": X,
    "combine": "product",
    "size_exponent": 0.7,
    "rank": 3,
    "laplacian": "bolla",
    "learn": False,
    "integrate": False,
    "priors": {"variance": LogNormal(2.0, 0.01)},
    "solver": "iterative",
    "inducing": 4,
    "n_starts": 3,
    "max_iterations": 1,
}


class OneOf(tuple):
    """Values of which one at least acts."""

    __slots__ = ()


#: Another value of each parameter, at which answers must differ from the usual one's.
MOVED = {
    HypergraphGPRegressor: {
        **_OF_VERTICES,
        "noise_variance": 0.7,
        "scale_target": False,
        "inference": "mcmc",
        "likelihood": "student-t",
        "transform": "log",
    },
    HypergraphGPClassifier: {
        **_OF_VERTICES,
        "likelihood": "logit",
        "inference": "laplace",
        "batch_size": 3,
        "calibrate": OneOf((True, False)),  # "auto" is the other in each context
    },
    HypergraphGPLVM: {
        "n_components": 3,
        "nu": 0.7,
        "lengthscale": 2.0,
        "fixed": (),
        "latent_kernel": "linear",
        "covariates": X,
        "size_exponent": 0.7,
        "priors": {"noise_variance": LogNormal(1.0, 0.01)},
        "starts": ("random",),
        "n_random": 3,
        "solver": "sparse",
        "n_inducing": 4,
        "max_iterations": 2,
    },
    SpectralEmbedding: {"n_components": 3},
    KPMF: {
        "n_factors": 3,
        "inference": "map",
        "likelihood": "ordinal",
        "noise": "common",
        "kernel": "independent",
        "biases": False,
        "mean": "zero",
        "bounds": (1, 3.1),
        "unobserved": 0.5,
        "user_relations": {"other": RELATION},
        "item_relations": {"same": RELATION},
        "rank": 3,
        "size_exponent": 0.7,
        "priors": {"nu": LogNormal(0.6, 0.01)},
        "nu": 0.7,
        "lengthscale": 2.0,
        "variance": 2.0,
        "noise_variance": 0.2,
        "inducing": (3, 3),
        "max_iterations": 1,
        "chains": 1,
        "warm_up": 3,
        "draws": 7,
        "max_draws": 9,
        "thin": 2,
        "tolerance": 1e-6,
        "precision": "double",
        "checkpoint_every": 3,
    },
}
#: Parameters of how, not of what: where an answer is the same by design, its own test says what it does.
ELSEWHERE = {"random_state", "verbose", "show_progress", "n_jobs", "checkpoint"}

#: Of another hypergraph only the vertices would count, which are the same.
_WITH_KERNEL = {"H": H, "kernel": Matern(Spectrum.of(H))}
#: The search of the size exponent is the same whatever else is set: under "usual" alone it is made.
UNSEARCHED = {"size_exponent": 0.0}
#: Settings under which every other parameter is moved in turn.
CONTEXTS = {
    HypergraphGPRegressor: {
        "usual": {},
        "nothing learned": {"learn": False},
        "products": {"solver": Iterative(tolerance=1e-3, n_samples=4, n_probes=2, learning_tolerance=0.1)},
        "inducing vertices": {"inducing": 4, **UNSEARCHED},
        "covariates": {"covariates": X, **UNSEARCHED},
        "graph": {"H": H.clique_expansion()},
        "kernel": _WITH_KERNEL,
        "errors of heavy tails": {"likelihood": "student-t", **UNSEARCHED},
    },
    HypergraphGPClassifier: {
        "usual": {},
        "nothing learned": {"learn": False},
        "laplace": {"likelihood": "softmax", "inference": "laplace", **UNSEARCHED},
        "mini-batches": {"inducing": 4, "batch_size": 4, "max_iterations": 3},
        "kernel": _WITH_KERNEL,
    },
    HypergraphGPLVM: {
        "usual": {},
        "dense, from one start": {"solver": "dense", "starts": ("spectral",)},
        "sparse": {"solver": "sparse", "n_inducing": 6, "starts": ("pca",)},
    },
    SpectralEmbedding: {"usual": {}},
    KPMF: {
        "usual": {},
        "grades": {"likelihood": "ordinal"},
        "events": {"likelihood": "implicit"},
        # Without a hypergraph the preconditioner is the system's inverse, and one step meets any tolerance.
        "independent": {"kernel": "independent", "tolerance": 3e-3},
        "mode": {"inference": "map"},
        "mode of diffusion": {"inference": "map", "kernel": "diffusion"},
    },
}
_QUICK = {KPMF: {"n_factors": 2, "chains": 2, "warm_up": 1, "draws": 3}, HypergraphGPLVM: {"max_iterations": 5}}

CASES = [
    pytest.param(make, context, name, id=f"{make.__name__}, {label}: {name}")
    for make, contexts in CONTEXTS.items()
    for label, context in contexts.items()
    for name in MOVED[make]
    if name not in context or name in UNSEARCHED
]


#: Iterations of a search for hyperparameters, points of an average and chains, enough to tell two settings apart.
ENOUGH, POINTS = 2, 3
short = functools.partial(sample_hyperparameters, chains=1, draws=4, warm_up=2)


def answers(make, settings):
    needs = {"H": H} if "H" in make._get_param_names() else {}
    if "random_state" in make._get_param_names():
        needs["random_state"] = 0
    # Under "map" the lengths of chains would be refused.
    quick = {} if settings.get("inference") == "map" else _QUICK.get(make, {})
    work = []

    def counted(*arguments, max_iterations, **options):
        learned = maximise(*arguments, max_iterations=min(max_iterations, ENOUGH), **options)
        work.append(learned.n_evaluations)
        return learned

    def few(task, attempt, neighbours, count):
        return average(task, attempt, neighbours, min(count, POINTS))

    with (
        warnings.catch_warnings(),
        mock.patch("hypergauss.estimators.tasks.maximise", counted),
        mock.patch("hypergauss.estimators.fitting.average", few),
        mock.patch("hypergauss.estimators.drawing.sample_hyperparameters", short),
    ):
        warnings.simplefilter("ignore")
        found = ANSWERS[make](make(**{**needs, **quick, **settings}))
    return [*found, work]  # a further start may come to the same top


def same(one, other):
    shapes = [np.shape(part) for part in one]
    return shapes == [np.shape(part) for part in other] and all(map(np.array_equal, one, other))


class _RefusedError(Exception):
    """A parameter was refused by its name."""


@contextlib.contextmanager
def _naming(name):
    try:
        yield
    except (ValueError, TypeError) as error:
        if name not in str(error):
            raise
        raise _RefusedError from error


_REMEMBERED = {}


def usual_answers(make, context):
    key = (make, tuple(context))
    if key not in _REMEMBERED:
        _REMEMBERED[key] = answers(make, context)
    return _REMEMBERED[key]


def test_every_parameter_of_every_estimator_is_tried():
    for make in ESTIMATORS:
        assert set(make._get_param_names()) <= {*MOVED[make], *ELSEWHERE}


@pytest.mark.parametrize(("make", "context", "name"), CASES)
def test_a_parameter_acts_or_is_refused(make, context, name):
    before, moved = usual_answers(make, context), MOVED[make][name]
    with contextlib.suppress(_RefusedError):
        with _naming(name):
            after = [
                answers(make, {**context, name: each}) for each in (moved if isinstance(moved, OneOf) else (moved,))
            ]
        assert not all(same(before, each) for each in after), "accepted, and ignored"


#: Parameters of `KPMF` that act in one way of inference alone.
OF_DRAWS = (
    {"likelihood", "unobserved", "user_relations", "item_relations", "priors", "chains", "warm_up", "draws", "thin"}
    | {"noise", "max_draws", "precision", "checkpoint", "checkpoint_every", "n_jobs"}
)  # fmt: skip
OF_THE_MODE = {"mean", "nu", "lengthscale", "variance", "noise_variance", "inducing", "max_iterations"}
_BOTH = {"n_factors", "inference", "kernel", "biases", "bounds", "rank", "size_exponent", "tolerance"}


def test_each_parameter_of_a_factorisation_belongs_to_draws_to_the_mode_or_to_both():
    assert set(KPMF._get_param_names()) == OF_DRAWS | OF_THE_MODE | _BOTH | {"show_progress", "random_state"}


@pytest.mark.parametrize(
    ("inference", "name"),
    [("map", name) for name in sorted(OF_DRAWS)] + [("gibbs", name) for name in sorted(OF_THE_MODE)],
)
def test_draws_and_mode_refuse_one_anothers_parameters(inference, name):
    value = {"checkpoint": "chains.npz", "n_jobs": 2}.get(name, MOVED[KPMF].get(name))
    with pytest.raises(ValueError, match=f"`{name}` must be left as it is unless inference="):
        KPMF(inference=inference, **{name: value}).fit(USERS, ITEMS, RATINGS)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (HypergraphGPRegressor, "learn"),
        (HypergraphGPRegressor, "integrate"),
        (HypergraphGPRegressor, "scale_target"),
        (HypergraphGPRegressor, "verbose"),
        (HypergraphGPClassifier, "learn"),
        (HypergraphGPClassifier, "integrate"),
        (HypergraphGPClassifier, "verbose"),
        (HypergraphGPLVM, "verbose"),
        (KPMF, "biases"),
        (KPMF, "show_progress"),
    ],
)
def test_text_is_not_taken_for_yes(make, name):
    with pytest.raises(TypeError, match=f"`{name}` must be True or False. Got str: 'no'"):
        answers(make, {name: "no"})
