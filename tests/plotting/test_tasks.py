"""Each fitted model has an obvious picture, and a view in notebooks."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from hypergauss import (
    HypergraphGPClassifier,
    HypergraphGPLVM,
    HypergraphGPRegressor,
    SpectralEmbedding,
    Spectrum,
    kernels,
)
from hypergauss.datasets import load_zoo, make_planted_hypergraph

pytestmark = pytest.mark.usefixtures("few_points")

PLANTED = make_planted_hypergraph(60, 90, 2, random_state=0)
H = PLANTED.hypergraph


@pytest.fixture(scope="module")
def regressor():
    return HypergraphGPRegressor(H, kernel="walk", size_exponent=0.0, random_state=0).fit(
        H.vertices[:40], PLANTED.signal[:40]
    )


@pytest.fixture(scope="module")
def classifier():
    classes = np.where(PLANTED.communities == 0, "left", "<right>")
    return HypergraphGPClassifier(H, kernel="walk", size_exponent=0.0, random_state=0).fit(
        H.vertices[:40], classes[:40]
    )


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_values_are_drawn_against_predictions_that_have_not_seen_them(regressor):
    ax = regressor.plot(H.vertices[30:50], PLANTED.signal[30:50])
    drawn = np.concatenate(
        [line.get_ydata() for line in ax.lines if len(line.get_ydata()) and line.get_marker() == "o"]
    )
    left_out = regressor.leave_one_out()["mean"].loc[H.vertices[30:40]]
    expected = [*left_out, *regressor.predict(H.vertices[40:50])]
    np.testing.assert_allclose(np.sort(drawn), np.sort(expected))


def test_without_observations_intervals_are_drawn_of_some_vertices(regressor):
    ax = regressor.plot()
    assert len(ax.get_yticklabels()) == 40
    assert "40 of 60 vertices" in ax.get_title()
    with pytest.raises(ValueError, match="`X` and `y` go together"):
        regressor.plot(H.vertices)


def test_classes_are_a_map_with_what_was_predicted_otherwise(classifier):
    predicted = classifier.predict(H.vertices)
    y = predicted.copy()
    y[:3] = np.where(y[:3] == "left", "<right>", "left")
    ax = classifier.plot(H.vertices, y)
    crosses = [c for c in ax.collections if c.get_label() == "predicted otherwise"]
    assert [len(c.get_offsets()) for c in crosses] == [3]


def test_a_map_is_drawn_with_its_uncertainty():
    model = HypergraphGPLVM(max_iterations=3, random_state=0)
    with pytest.warns(UserWarning, match="stopped before it converged"):
        model.fit(H)
    assert len(model.plot(PLANTED.communities).patches) >= H.num_vertices


def test_fitted_models_show_what_they_learned_in_notebooks(regressor, classifier):
    shown = regressor._repr_mimebundle_()["text/html"]
    assert "HypergraphGPRegressor, fitted" in shown
    assert "steps" in shown
    assert "&lt;right&gt;" in classifier._repr_mimebundle_()["text/html"]
    assert "fitted" not in HypergraphGPRegressor(H)._repr_mimebundle_()["text/plain"]
    assert "exact solver" not in HypergraphGPRegressor(H)._repr_mimebundle_()["text/html"]


def test_maps_and_data_sets_show_what_is_in_them_in_notebooks():
    zoo = load_zoo()
    view = zoo._repr_html_()
    assert "type, known of 101" in view
    assert "hyperedge sizes" in view
    embedding = SpectralEmbedding()
    assert "eigenvalues" not in embedding._repr_mimebundle_()["text/html"]
    shown = embedding.fit(zoo.hypergraph)._repr_mimebundle_()["text/html"]
    assert "SpectralEmbedding, fitted" in shown
    assert f"{embedding.eigenvalues_[0]:.4f}" in shown
    model = HypergraphGPLVM(max_iterations=3, random_state=0)
    with pytest.warns(UserWarning, match="stopped before it converged"):
        model.fit(H)
    shown = model._repr_mimebundle_()["text/html"]
    assert "HypergraphGPLVM, fitted" in shown
    assert "noise variance" in shown


def test_kernels_spectra_and_explanations_have_views(regressor):
    spectrum = Spectrum.of(H)
    assert "smallest eigenvalues" in spectrum._repr_html_()
    assert "the others lie in" in Spectrum.of(H, rank=5)._repr_html_()
    assert "known by products alone" in Spectrum.matrix_free(H)._repr_html_()
    assert "lengthscale" in kernels.Matern(spectrum)._repr_html_()
    view = regressor.explain(H.vertices[50])._repr_html_()
    assert "by hyperedge" in view
    assert view.count("<tr>") >= 10
