"""A saved model predicts the same to the last digit; a file that is not one is refused with a sentence."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import hypergauss as hg
from hypergauss.exceptions import FileError, LearningWarning
from hypergauss.inference import LogNormal, SpectralFeatures
from hypergauss.operators import JaxLaplacian
from hypergauss.spectrum import normalised_incidence
from tests.hypergraphs import random_hypergraph
from tests.io.awkward import noted

H = random_hypergraph(14, 9, seed=5)
NAMES = list(H.vertices)
Y = np.sin(np.arange(9.0))
LABELS = ["red", "blue", "red", "green", "blue", "red", "green", "blue", "red"]
GRAPH = H.clique_expansion()
COVARIATES = pd.DataFrame({"age": np.arange(14.0), "size": np.arange(14.0) % 3}, index=NAMES)

REGRESSORS = {
    "low-rank": {"solver": "low-rank"},
    "dense": {"solver": "dense"},
    "a product": {"covariates": COVARIATES, "combine": "product"},
    "two relations": {"H": {"all": H, "pairs": GRAPH}, "priors": {"noise_variance": LogNormal(0.1)}},
    "spectral features": {"inducing": SpectralFeatures(4)},
    "a kernel": {"kernel": hg.kernels.Matern(hg.Spectrum.of(H), fixed=("nu",)) + hg.kernels.Linear(COVARIATES)},
    "learned": {"learn": True, "max_iterations": 5, "random_state": np.random.RandomState(0)},
}


def fitted_regressor(**options):
    return hg.HypergraphGPRegressor(**({"H": H, "learn": False} | options)).fit(NAMES[:9], Y)


def copied(model, tmp_path):
    hg.save(model, tmp_path / "model.hypergauss")
    return hg.load(tmp_path / "model.hypergauss")


@pytest.mark.filterwarnings("ignore::hypergauss.exceptions.LearningWarning")
@pytest.mark.parametrize("options", REGRESSORS.values(), ids=REGRESSORS)
def test_a_regressor_predicts_the_same_to_the_last_digit(tmp_path, options):
    model = fitted_regressor(**options)
    again = copied(model, tmp_path)
    for mine, theirs in zip(model.predict(NAMES, return_std=True), again.predict(NAMES, return_std=True), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(model.sample(NAMES, 3, 0), again.sample(NAMES, 3, 0))
    assert again.log_marginal_likelihood_ == model.log_marginal_likelihood_
    assert list(again.hyperparameters_) == list(model.hyperparameters_)


@pytest.mark.filterwarnings("ignore::hypergauss.exceptions.LearningWarning")
@pytest.mark.parametrize(
    "options",
    [
        {"solver": "iterative", "learn": True, "max_iterations": 2},
        {"kernel": hg.kernels.Matern(hg.Spectrum.matrix_free(H))},
        {"kernel": hg.kernels.Matern(hg.Spectrum.matrix_free(GRAPH))},
    ],
    ids=["eigenvectors", "matrix-free", "matrix-free graph"],
)
def test_a_regressor_of_the_iterative_solver_predicts_the_same_to_its_tolerance(tmp_path, options):
    model = fitted_regressor(**options)
    again = copied(model, tmp_path)
    for mine, theirs in zip(model.predict(NAMES, return_std=True), again.predict(NAMES, return_std=True), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)
    assert again.log_marginal_likelihood_ == model.log_marginal_likelihood_


def test_products_elsewhere_than_in_this_process_cannot_be_saved(tmp_path):
    operator = JaxLaplacian.of_incidence(normalised_incidence(H))
    model = fitted_regressor(kernel=hg.kernels.Matern(hg.Spectrum.matrix_free(operator)))
    with pytest.raises(TypeError, match="holds JaxLaplacian, which a model file cannot"):
        hg.save(model, tmp_path / "model.hypergauss")


def test_a_classifier_predicts_the_same_to_the_last_digit(tmp_path):
    model = hg.HypergraphGPClassifier(H, learn=False).fit(NAMES[:9], LABELS)
    again = copied(model, tmp_path)
    np.testing.assert_array_equal(model.predict_proba(NAMES), again.predict_proba(NAMES))
    assert again.predict(NAMES).tolist() == model.predict(NAMES).tolist()
    assert again.elbo_ == model.elbo_


def test_names_and_attributes_of_all_kinds_survive(tmp_path):
    model = hg.HypergraphGPRegressor(noted(), learn=False).fit(["a", 7], [0.0, 1.0])
    again = copied(model, tmp_path)
    assert again.H.equals(noted())
    assert again.H.attributes == noted().attributes
    tuples = hg.HypergraphGPRegressor(H.dual(), learn=False)
    names = [("a", i) for i in range(3)]
    tuples = hg.HypergraphGPRegressor(hg.Hypergraph.from_edges([names]), learn=False).fit(names[:2], [0.0, 1.0])
    assert copied(tuples, tmp_path).predict(names).tolist() == tuples.predict(names).tolist()


def test_a_loaded_model_can_be_fitted_again(tmp_path):
    model = fitted_regressor()
    again = clone(copied(model, tmp_path)).fit(NAMES[:9], Y)
    np.testing.assert_array_equal(again.predict(NAMES), model.predict(NAMES))


def test_equal_models_give_equal_files(tmp_path):
    for name in ("a", "b"):
        hg.save(fitted_regressor(), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_only_fitted_estimators_of_ours_can_be_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        hg.save(hg.HypergraphGPRegressor(H), tmp_path / "m")
    with pytest.raises(TypeError, match="must be one of"):
        hg.save("a model", tmp_path / "m")

    class Own(hg.kernels.Matern):
        pass

    model = fitted_regressor(kernel=Own(hg.Spectrum.of(H)))
    with pytest.raises(TypeError, match="holds Own"):
        hg.save(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.hypergauss"
    hg.save(fitted_regressor(), path)
    return path


def rewritten(file, target, change=lambda members: members, method=zipfile.ZIP_STORED):
    """Write the archive again with its members, by name, changed."""
    with zipfile.ZipFile(file) as archive:
        members = change({name: archive.read(name) for name in archive.namelist()})
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return target


def with_content(change):
    def apply(members):
        content = json.loads(members["content.json"])
        change(content)
        return members | {"content.json": json.dumps(content)}

    return apply


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_content(lambda c: c.update(format_version=2)), r"newer layout \(2\)"),
        (with_content(lambda c: c.update(format="a poem")), "no model of hypergauss"),
        (with_content(lambda c: c.update(estimator="os.system")), "damaged"),
        (with_content(lambda c: c["state"].update(H={"$node": 10_000})), "refers to nothing"),
        (with_content(lambda c: c["state"].pop("kernel")), "damaged"),
        (with_content(lambda c: c["nodes"].insert(0, ["object", "Popen", {"args": "ls"}])), "damaged"),
        (lambda m: m | {"arrays/0.npy": npy(np.array([object()], dtype=object))}, "damaged"),
        (lambda m: m | {"arrays/0.npy": m["arrays/0.npy"][:-8]}, "damaged"),
        (lambda m: m | {"../evil.npy": b"x"}, "does not belong"),
        (lambda m: m | {"/tmp/evil.npy": b"x"}, "does not belong"),
        (lambda m: {name: data for name, data in m.items() if name != "content.json"}, "damaged"),
    ],
)
def test_a_file_that_is_damaged_newer_or_foreign_is_refused(tmp_path, file, change, message):
    with pytest.raises(FileError, match=message):
        hg.load(rewritten(file, tmp_path / "bad", change))
    assert [path.name for path in tmp_path.iterdir()] == ["bad"]


def test_a_compressed_archive_is_refused(tmp_path, file):
    with pytest.raises(FileError, match="compressed"):
        hg.load(rewritten(file, tmp_path / "bad", method=zipfile.ZIP_DEFLATED))


def test_every_truncation_and_flipped_byte_is_refused_or_harmless(tmp_path, file):
    data = file.read_bytes()
    rng = np.random.default_rng(0)
    expected = hg.load(file).predict(NAMES)
    for _ in range(60):
        damaged = bytearray(data)
        if rng.random() < 0.3:
            damaged = damaged[: rng.integers(len(data))]
        else:
            damaged[rng.integers(len(data))] ^= 1 << rng.integers(8)
        (tmp_path / "bad").write_bytes(damaged)
        try:
            again = hg.load(tmp_path / "bad")
        except FileError:
            continue
        np.testing.assert_array_equal(again.predict(NAMES), expected)


def test_a_model_of_little_is_saved_too(tmp_path):
    with pytest.warns(LearningWarning):
        model = hg.HypergraphGPRegressor(H).fit(NAMES[:1], [1.0])
    assert copied(model, tmp_path).predict(NAMES[:2]).tolist() == model.predict(NAMES[:2]).tolist()
