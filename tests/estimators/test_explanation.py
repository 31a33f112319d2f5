"""Contributions add up to the prediction, and are what they are said to be."""

import numpy as np
import pytest

import hypergauss as hg
from hypergauss.inference import SpectralFeatures
from hypergauss.inference.mixtures import components
from tests.hypergraphs import random_hypergraph

pytestmark = pytest.mark.usefixtures("short_fits")

H = random_hypergraph(14, 9, seed=5)
NAMES = list(H.vertices)
Y = np.sin(np.arange(9.0)) + 2.0
COVARIATES = np.column_stack([np.arange(14.0), np.arange(14.0) % 3])

CASES = {
    "low-rank": {"solver": "low-rank"},
    "dense": {"solver": "dense"},
    "a rising filter": {"kernel": hg.kernels.Bernstein(hg.Spectrum.of(H), [0.05, 0.1, 0.4, 2.0])},
    "covariates multiplied": {"covariates": COVARIATES, "combine": "product"},
    "two relations": {"H": {"all": H, "pairs": H.clique_expansion()}},
    "spectral features": {"inducing": SpectralFeatures(4)},
    "products": {"solver": hg.Iterative(tolerance=1e-10)},
    "products, two relations": {
        "solver": hg.Iterative(tolerance=1e-10),
        "H": {"all": H, "pairs": H.clique_expansion()},
        "size_exponent": 0.0,
    },
    "products and covariates": {
        "solver": hg.Iterative(tolerance=1e-10),
        "covariates": hg.kernels.Linear(COVARIATES),
        "combine": "product",
    },
    "products and a truncated spectrum": {
        "solver": hg.Iterative(tolerance=1e-10),
        "kernel": hg.kernels.Matern(hg.Spectrum.of(H, rank=4)),
    },
    "a graph by products, covariates before it": {
        "solver": hg.Iterative(tolerance=1e-10),
        "H": H.clique_expansion(),
        "kernel": hg.kernels.Linear(COVARIATES) * hg.kernels.Matern(hg.Spectrum.matrix_free(H.clique_expansion())),
    },
}


def fitted(y=Y, **options):
    return hg.HypergraphGPRegressor(**({"H": H, "learn": False} | options)).fit(NAMES[:9], y)


def assert_adds_up(explained, prediction):
    assert explained.prediction == pytest.approx(prediction, rel=1e-10)
    assert explained.mean + explained.vertices["contribution"].sum() == pytest.approx(prediction, rel=1e-9)
    through_edges = explained.edges["contribution"].sum() + sum(explained.rest.values())
    assert explained.mean + through_edges == pytest.approx(prediction, rel=1e-9)


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_either_kind_of_contribution_adds_up_to_the_prediction(options):
    model = fitted(**options)
    for vertex in (NAMES[0], NAMES[4], NAMES[11]):  # isolated, observed, not observed
        assert_adds_up(model.explain(vertex), model.predict([vertex])[0])


@pytest.mark.parametrize("solver", ["low-rank", "dense"])
def test_a_weight_is_how_much_the_prediction_follows_an_observation(solver):
    explained = fitted(solver=solver).explain(NAMES[11]).vertices
    for i in range(9):
        moved = Y.copy()
        moved[i] += 1.0
        gain = fitted(moved, solver=solver).predict(NAMES[11:12])[0] - fitted(solver=solver).predict(NAMES[11:12])[0]
        # The mean is that of the data, and moves along: what it moves by, the prediction does but for the weights.
        mean_moves = (1 - explained["weight"].sum()) / 9
        assert gain == pytest.approx(explained.loc[NAMES[i], "weight"] + mean_moves, abs=1e-9)


MATERN = hg.kernels.Matern(hg.Spectrum.of(H))


@pytest.mark.parametrize(
    ("options", "kernel"),
    [
        ({}, None),
        ({"kernel": MATERN}, MATERN),
        ({"solver": hg.Iterative(tolerance=1e-10)}, MATERN),
    ],
    ids=["standardised", "dense", "products"],
)
def test_hyperedges_say_what_the_pseudoinverse_of_the_incidence_says(options, kernel):
    model = fitted(**options)
    kernel, rows = kernel or model.kernel_, H.vertex_rows(NAMES[:9])
    K, everything = np.asarray(kernel.gram()), kernel.inputs(np.arange(14))
    noise = model.noise_variance_ * np.eye(9)
    alpha = np.linalg.solve(K[np.ix_(rows, rows)] + noise, Y - model.mean_)
    A = hg.spectrum.normalised_incidence(H).toarray()
    smooth = K - np.diag(np.broadcast_to(kernel.remainder(everything), 14)) - getattr(kernel, "level", 0.0)
    if isinstance(kernel, hg.kernels.Standardised):
        h = kernel.spectrum.relative_activities  # what the number of memberships says speaks through no hyperedge
        smooth = smooth - kernel.variance * kernel.activity * np.outer(h, h)
    # A vertex with a scale of its own hears what hyperedges say times that.
    scale = kernel.scale(np.arange(14)) if isinstance(kernel, hg.kernels.Standardised) else np.ones(14)
    unscaled = np.divide(smooth, scale[:, None], out=np.zeros_like(smooth), where=scale[:, None] > 0)
    g = np.linalg.pinv(A) @ unscaled[:, rows] @ alpha
    explained = model.explain(NAMES[11]).edges.set_index("edge")["contribution"]
    assert set(explained.index) == set(np.flatnonzero(A[11]))
    for edge, contribution in explained.items():
        assert contribution == pytest.approx(scale[11] * A[11, edge] * g[edge], abs=1e-9)


def averaged(make, y, **options):
    model = make(**({"H": H, "random_state": 0} | options)).fit(NAMES[:9], y)
    assert len(components(model.posterior_)) > 3
    return model


@pytest.mark.parametrize(
    "options",
    [{}, {"H": {"all": H, "pairs": H.clique_expansion()}}, {"kernel": "matern"}, {"covariates": COVARIATES}],
    ids=["usual", "two relations", "matern", "covariates"],
)
def test_averaged_predictions_are_explained_by_each_hyperedge_once(options):
    model = averaged(hg.HypergraphGPRegressor, Y, **options)
    parts = components(model.posterior_)
    for vertex in (NAMES[0], NAMES[4], NAMES[11]):
        row = H.vertex_rows([vertex])
        explained = model.explain(vertex)
        assert_adds_up(explained, model.predict([vertex])[0])
        assert set(explained.edges["edge"]) == set(H.incidence[row].indices)
        assert explained.edges["edge"].is_unique
        weights = sum(w * part.observation_weights(row)[0] for w, part in parts)
        assert np.allclose(explained.vertices["weight"].loc[NAMES[:9]], weights, atol=1e-12)
    if not options:  # averages over size exponents are among them
        assert len({part.prior.kernel.spectrum.size_exponent for _, part in parts}) > 1


@pytest.mark.parametrize("number", [2, 3])
def test_averaged_classes_are_explained_by_each_hyperedge_once(number):
    labels = LABELS if number == 3 else ["red" if label == "red" else "other" for label in LABELS]
    model = averaged(hg.HypergraphGPClassifier, labels)
    latents = model.posterior_.conditionals(H.vertex_rows([NAMES[11]]))[0][0]
    for column, label in enumerate(model.classes_):
        margin = latents[column] - np.delete(latents, column).mean() if number == 3 else (2 * column - 1) * latents[0]
        explained = model.explain(NAMES[11], label=label)
        assert_adds_up(explained, margin)
        assert explained.edges["edge"].is_unique


OTHER = hg.Hypergraph.from_incidence(
    random_hypergraph(14, 9, seed=6).incidence, vertices=H.vertices, edges=[f"other {j}" for j in range(9)]
)


@pytest.mark.parametrize("make", [hg.Spectrum.of, hg.Spectrum.matrix_free], ids=["eigenvectors", "products"])
def test_hyperedges_of_a_kernel_from_elsewhere_are_not_given_the_names_of_these(make):
    matern = hg.kernels.Matern(make(OTHER, size_exponent=0.5))
    foreign = fitted(kernel=matern).explain(NAMES[11]).edges
    its_own = fitted(H=OTHER, kernel=matern).explain(NAMES[11]).edges
    assert its_own["edge"].str.startswith("other").all()
    assert foreign["edge"].tolist() == [
        name.replace("other", "hyperedge") + " of the kernel" for name in its_own["edge"]
    ]
    assert foreign["contribution"].tolist() == its_own["contribution"].tolist()


def test_each_part_of_a_kernel_names_the_hyperedges_of_its_own_hypergraph():
    kernel = hg.kernels.Matern(hg.Spectrum.of(OTHER)) + hg.kernels.Matern(hg.Spectrum.of(H))
    explained = fitted(H={"these": H, "others": OTHER}, kernel=kernel).explain(NAMES[11]).edges
    for name, relation in zip(kernel.labels, (OTHER, H), strict=True):
        expected = {relation.edges[j] for j in relation.incidence[[11]].indices}
        assert set(explained.loc[explained["relation"] == name, "edge"]) == expected


def test_an_isolated_vertex_speaks_only_for_itself():
    alone = H.isolated_vertices[0]
    explained = fitted().explain(alone)
    assert explained.edges.empty
    assert list(explained.rest) == ["its own observation", "level", "activity"]
    by_filter = fitted(kernel=MATERN).explain(alone)
    assert by_filter.edges.empty
    assert list(by_filter.rest) == ["its own observation"]


def test_several_outputs_are_explained_one_at_a_time():
    y = np.column_stack([Y, Y[::-1]])
    model = fitted(y)
    assert_adds_up(model.explain(NAMES[11], output=1), model.predict(NAMES[11:12])[0, 1])
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.explain(NAMES[11], output=2)


LABELS = ["red", "blue", "red", "green", "blue", "red", "green", "blue", "red"]


def test_classes_are_explained_by_the_margin_of_their_latent_function():
    model = hg.HypergraphGPClassifier(H, learn=False).fit(NAMES[:9], LABELS)
    row = H.vertex_rows([NAMES[11]])
    latents = model.posterior_.conditionals(row)[0][0]
    for column, label in enumerate(model.classes_):
        margin = latents[column] - np.delete(latents, column).mean()
        assert_adds_up(model.explain(NAMES[11], label=label), margin)
    predicted = model.predict(NAMES[11:12])[0]
    assert model.explain(NAMES[11]).of == f"latent margin for {predicted}"
    with pytest.raises(ValueError, match="must be one of the classes"):
        model.explain(NAMES[11], label="purple")


def test_a_printed_explanation_has_numbers_below_one_another_that_add_up():
    H = random_hypergraph(30, 20, seed=3, awkward=False)
    model = hg.HypergraphGPRegressor(H, learn=False).fit(list(H.vertices[:20]), np.arange(20.0))
    found = model.explain(H.vertices[25])
    lines = str(found).splitlines()
    middle = next(at for at, line in enumerate(lines) if line.startswith("  by observed vertex"))
    parts = {"by hyperedge": lines[2:middle], "by observed vertex": lines[middle + 1 :]}
    assert "others together" in parts["by observed vertex"][-1]
    for rows in parts.values():
        numbers = [line.split()[0] for line in rows]
        assert len({line.index(number) + len(number) for line, number in zip(rows, numbers, strict=True)}) == 1
        assert len({len(number.partition(".")[2]) for number in numbers}) == 1
        size = 10.0 ** -len(numbers[0].partition(".")[2])
        assert abs(found.mean + sum(map(float, numbers)) - found.prediction) <= len(numbers) * size


def test_an_unknown_vertex_is_named():
    with pytest.raises(ValueError, match="'nobody'"):
        fitted().explain("nobody")
