"""Fits that nothing can be learned from end with a level, and say why in one sentence."""

import warnings

import numpy as np
import pytest

from hypergauss import Hypergraph, HypergraphGPClassifier, HypergraphGPRegressor, Spectrum
from hypergauss.exceptions import LearningWarning
from hypergauss.spectrum import LAPLACIANS

pytestmark = pytest.mark.usefixtures("short_fits")

ALL = Hypergraph.from_edges([list("abcdef")])
TWO = Hypergraph.from_edges([list("abc"), list("def"), ["a", "b"]])
EMPTY = Hypergraph.from_edges([[]], vertices=list("abcdef"))
ALIKE = "'hypergraph' relates all vertices alike"


def told(fit):
    """Return what a fit came to, and the sentences that it said."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = fit()
    assert all(issubclass(w.category, LearningWarning) for w in caught)
    return model, [str(w.message) for w in caught]


#: Silence is of the spectrum, whatever filter is laid on it: each Laplacian with one filter, each filter with one.
@pytest.mark.parametrize(
    ("kernel", "laplacian"),
    [*(("auto", name) for name in LAPLACIANS), ("matern", LAPLACIANS[0]), ("diffusion", LAPLACIANS[0])],
)
def test_one_hyperedge_of_all_vertices_leaves_the_level_and_says_so_once(kernel, laplacian):
    model, said = told(
        lambda: HypergraphGPRegressor(ALL, kernel, laplacian=laplacian).fit(list("abcd"), [1.0, 2, 3, 4])
    )
    assert len(said) == 1
    assert said[0].startswith("Predictions will be little more than the mean, since")
    assert ALIKE in said[0]
    assert np.allclose(model.predict(["e", "f"]), 2.5, atol=1e-6)


@pytest.mark.parametrize("measured", [[3.0], [3.0, 3.5, 4.0]])
def test_one_vertex_is_predicted_at_its_level_and_that_is_said_once(measured):
    H = Hypergraph.from_edges([["a"]])
    model, said = told(lambda: HypergraphGPRegressor(H).fit(["a"] * len(measured), measured))
    assert len(said) == 1
    assert "one measurement only" in said[0] if len(measured) == 1 else "only one vertex was measured" in said[0]
    assert model.predict(["a"]) == pytest.approx(np.mean(measured))


@pytest.mark.parametrize("H", [TWO, ALL], ids=["two hyperedges", "one"])
@pytest.mark.parametrize("value", [0.0, 2.0, -1e6])
def test_a_constant_target_is_predicted_everywhere_and_that_is_said_once(H, value):
    model, said = told(lambda: HypergraphGPRegressor(H).fit(list("abcd"), np.full(4, value)))
    assert len(said) == 1
    assert "all measurements are equal" in said[0]
    assert np.allclose(model.predict(list("abcdef")), value)
    assert np.isfinite(model.predict(list("abcdef"), return_std=True).std).all()


def test_without_any_member_there_is_one_sentence_too():
    model, said = told(lambda: HypergraphGPRegressor(EMPTY).fit(list("abcd"), [1.0, 2, 3, 4]))
    assert len(said) == 1
    assert "has no hyperedge with members" in said[0]
    assert np.allclose(model.predict(["e", "f"]), 2.5)


@pytest.mark.parametrize(("H", "why"), [(ALL, ALIKE), (EMPTY, "no hyperedge with members")], ids=["one", "none"])
@pytest.mark.parametrize("labels", ["xxyx", "xyzx"])
def test_classes_are_those_of_the_level(H, why, labels):
    model, said = told(lambda: HypergraphGPClassifier(H).fit(list("abcd"), list(labels)))
    assert len(said) == 1
    assert said[0].startswith("Probabilities will be little more than the shares of the classes, since")
    assert why in said[0]
    probabilities = model.predict_proba(["e", "f"])
    assert np.allclose(probabilities[0], probabilities[1])
    assert probabilities[0].argmax() == 0


def test_labels_in_one_component_are_enough():
    model, said = told(lambda: HypergraphGPRegressor(TWO).fit(list("abc"), [1.0, 2.0, 3.0]))
    assert said == []
    assert np.isfinite(model.predict(list("def"))).all()
    _, said = told(lambda: HypergraphGPClassifier(TWO).fit(list("abc"), list("xxy")))
    assert said == []


def test_a_silent_relation_beside_one_that_speaks_is_named_alone():
    _, said = told(lambda: HypergraphGPRegressor({"talk": TWO, "all": ALL}).fit(list("abcd"), [1.0, 2, 3, 4]))
    assert len(said) == 1
    assert said[0].startswith("Predictions are those of the other parts, since 'all' relates all vertices alike")


@pytest.mark.parametrize("laplacian", LAPLACIANS)
def test_only_a_multiple_of_the_identity_is_silent(laplacian):
    assert Spectrum.of(ALL, laplacian=laplacian).is_silent
    assert Spectrum.of(EMPTY, laplacian=laplacian).is_silent
    assert Spectrum.of(Hypergraph.from_edges([["a"]]), laplacian=laplacian).is_silent
    assert not Spectrum.of(TWO, laplacian=laplacian).is_silent
    assert not Spectrum.of(Hypergraph.from_edges([["a", "b"], ["c", "d"]]), laplacian=laplacian).is_silent
