"""A saved model predicts the same to the last digit; a file that is not one is refused with a sentence."""

import importlib
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import hypergauss as hg
from hypergauss.exceptions import DataWarning, FileError, LearningWarning
from hypergauss.inference import LogNormal, SpectralFeatures
from hypergauss.inference.mixtures import MixedLatents, MixedPosterior
from hypergauss.kernels import SpectralKernel
from hypergauss.likelihoods import Bernoulli
from hypergauss.operators import LocalLaplacian
from hypergauss.parameters import positive
from hypergauss.spectrum import normalised_incidence
from tests.hypergraphs import random_hypergraph
from tests.io.awkward import noted
from tests.storage.files import npy, rewritten, with_content

pytestmark = pytest.mark.usefixtures("short_fits")

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
    "two relations": {"H": {"all": H, "pairs": GRAPH}},
    "a prior": {"learn": True, "max_iterations": 3, "priors": {"noise_variance": LogNormal(0.1)}, "random_state": 0},
    "spectral features": {"inducing": SpectralFeatures(4)},
    "a kernel": {"kernel": hg.kernels.Matern(hg.Spectrum.of(H), fixed=("nu",)) + hg.kernels.Linear(COVARIATES)},
    "learned": {"learn": True, "max_iterations": 5, "random_state": np.random.RandomState(0)},
    "averaged": {"learn": True, "random_state": 0},
    "averaged, by inducing vertices": {"learn": True, "random_state": 0, "inducing": 5, "size_exponent": 0.0},
    "averaged, two relations": {"learn": True, "random_state": 0, "H": {"all": H, "pairs": GRAPH}},
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
    assert isinstance(model.posterior_, MixedPosterior) == options.get("learn", False)
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
    class Elsewhere(LocalLaplacian):
        pass

    operator = Elsewhere.of_incidence(normalised_incidence(H))
    model = fitted_regressor(kernel=hg.kernels.Matern(hg.Spectrum.matrix_free(operator)))
    with pytest.raises(TypeError, match="holds Elsewhere, which a model file cannot"):
        hg.save(model, tmp_path / "model.hypergauss")


@pytest.mark.parametrize("learn", [False, True], ids=["as it is", "averaged"])
@pytest.mark.parametrize("labels", [LABELS, ["red" if label == "red" else "other" for label in LABELS]], ids=["3", "2"])
def test_a_classifier_predicts_the_same_to_the_last_digit(tmp_path, learn, labels):
    model = hg.HypergraphGPClassifier(H, learn=learn, random_state=0).fit(NAMES[:9], labels)
    assert isinstance(model.posterior_, MixedLatents) == learn
    again = copied(model, tmp_path)
    np.testing.assert_array_equal(model.predict_proba(NAMES), again.predict_proba(NAMES))
    np.testing.assert_array_equal(model.sample(NAMES, 3, 0), again.sample(NAMES, 3, 0))
    assert again.predict(NAMES).tolist() == model.predict(NAMES).tolist()
    assert again.elbo_ == model.elbo_


def test_names_and_attributes_of_all_kinds_survive(tmp_path):
    with pytest.warns(DataWarning, match="ignores the directions"):
        model = hg.HypergraphGPRegressor(noted(), learn=False).fit(["a", 7], [0.0, 1.0])
    again = copied(model, tmp_path)
    assert again.H.equals(noted())
    assert again.H.attributes == noted().attributes
    tuples = hg.HypergraphGPRegressor(H.dual(), learn=False)
    names = [("a", i) for i in range(3)]
    pairs = hg.Hypergraph.from_edges([names, names[1:]])
    tuples = hg.HypergraphGPRegressor(pairs, learn=False).fit(names[:2], [0.0, 1.0])
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
    model = fitted_regressor()
    model.solver_plan_ = object()
    with pytest.raises(TypeError, match="`solver_plan_` holds object, which a model file cannot"):
        hg.save(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())


class Cauchy(SpectralKernel):
    """A filter of a user's own."""

    width = positive(1e-3, 1e3)

    def __init__(self, spectrum, width=0.1, **options):
        super().__init__(spectrum, **options)
        self.width = width
        self.notes = {"by": ("me", 1.5)}

    def filter(self, eigenvalues):
        return 1 / (1 + (eigenvalues / self.width) ** 2)


class Careful(Bernoulli):
    """A likelihood of a user's own."""


def test_kernels_and_likelihoods_of_a_user_are_saved_and_made_only_of_classes_that_are_named(tmp_path, monkeypatch):
    path = tmp_path / "m"
    with pytest.warns(LearningWarning, match="before it converged"):
        learned = fitted_regressor(kernel=Cauchy(hg.Spectrum.of(H)), learn=True, max_iterations=1)
    hg.save(learned, path)
    monkeypatch.setattr(importlib, "import_module", lambda *_: pytest.fail("a file must not import anything"))
    with pytest.raises(FileError, match=r"holds a Cauchy of the module tests.*`load\(path, classes=\(Cauchy,\)"):
        hg.load(path)
    again = hg.load(path, classes=(Careful, Cauchy))
    np.testing.assert_array_equal(again.predict(NAMES), learned.predict(NAMES))
    assert again.kernel_.notes == learned.kernel_.notes
    assert again.hyperparameters_ == learned.hyperparameters_
    two = ["red" if label == "red" else "other" for label in LABELS]
    model = hg.HypergraphGPClassifier(H, Cauchy(hg.Spectrum.of(H)), likelihood=Careful("probit"), learn=False)
    hg.save(model.fit(NAMES[:9], two), path)
    with pytest.raises(FileError, match="holds a C"):
        hg.load(path, classes=[Cauchy])
    found = hg.load(path, classes=[Cauchy, Careful])
    assert type(found.posterior_.likelihood) is Careful
    np.testing.assert_array_equal(found.predict_proba(NAMES), model.predict_proba(NAMES))


def test_a_class_may_have_moved_to_another_module(tmp_path):
    hg.save(fitted_regressor(kernel=Cauchy(hg.Spectrum.of(H))), tmp_path / "m")
    moved = type("Cauchy", (Cauchy,), {"__module__": "elsewhere"})
    assert type(hg.load(tmp_path / "m", classes=[moved]).kernel_) is moved
    assert type(hg.load(tmp_path / "m", classes=[moved, Cauchy]).kernel_) is Cauchy
    other = type("Cauchy", (Cauchy,), {"__module__": "elsewhere.still"})
    with pytest.raises(FileError, match="holds a Cauchy"):
        hg.load(tmp_path / "m", classes=[moved, other])


def test_classes_must_be_classes_of_models(tmp_path):
    hg.save(fitted_regressor(), tmp_path / "m")
    for odd in (dict, Cauchy(hg.Spectrum.of(H))):
        with pytest.raises(TypeError, match="`classes` must be classes of kernels"):
            hg.load(tmp_path / "m", classes=[odd])


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.hypergauss"
    hg.save(fitted_regressor(), path)
    return path


def _empty(content):
    """Add an array of zeros to the nodes, and return data, indices and row starts of a matrix without entries."""
    content["nodes"] += [["array", 0]]
    return [{"$node": len(content["nodes"]) - 1}] * 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_content(lambda c: c.update(format_version=4)), r"newer layout \(4\)"),
        (with_content(lambda c: c.update(format_version="2")), r"newer layout"),
        (with_content(lambda c: c.update(format="a poem")), "no model of hypergauss"),
        (with_content(lambda c: c.update(estimator="os.system")), "damaged"),
        (with_content(lambda c: c["parameters"].update(H={"$node": 10_000})), "refers to nothing"),
        (with_content(lambda c: c["parameters"].pop("H")), "damaged.*other state: H"),
        (with_content(lambda c: c["learned"].pop("kernel_")), "damaged.*other state: kernel_"),
        (with_content(lambda c: c["learned"].update(fit=1)), "damaged.*other state: fit"),
        (with_content(lambda c: c["nodes"].insert(0, ["object", "Popen", {"args": "ls"}])), "damaged"),
        (with_content(lambda c: c["nodes"].insert(0, ["own", "subprocess:Popen", {"args": "ls"}])), "holds a Popen"),
        (with_content(lambda c: c["nodes"].insert(0, ["object", "Softmax", {"width": 1}])), "has other fields"),
        (with_content(lambda c: c["nodes"].insert(0, ["range", 0, 10**12, 1])), "1000000000000 rows"),
        (with_content(lambda c: c["nodes"].append(["sparse", *_empty(c), [0, 10**12]])), "1000000000000 rows"),
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


def test_a_parameter_that_an_earlier_version_did_not_have_is_as_usual(tmp_path, file):
    earlier = rewritten(file, tmp_path / "m", with_content(lambda c: c["parameters"].pop("n_starts")))
    assert hg.load(earlier).n_starts == hg.HypergraphGPRegressor(H).n_starts


def test_text_of_uneven_lengths_takes_no_more_memory_than_its_file_warrants(tmp_path, file):
    """One long name among many short ones, as NumPy holds text, is as many long ones."""
    uneven = ["x" * 100_000, *map(str, range(10_000))]
    bomb = rewritten(file, tmp_path / "m", with_content(lambda c: c["nodes"].append(["text", uneven, 1])))
    tracemalloc.start()
    hg.load(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * bomb.stat().st_size


def test_members_that_share_their_bytes_are_refused(tmp_path, file):
    """A table of contents may list the same bytes again and again, and so claim more than the file has."""
    path = tmp_path / "bad"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("content.json", "{}")
        archive.writestr("arrays/0.npy", npy(np.zeros(10_000)))
        for number in range(1, 50):
            again = zipfile.ZipInfo(f"arrays/{number}.npy")
            first = archive.getinfo("arrays/0.npy")
            for field in ("header_offset", "CRC", "compress_size", "file_size"):
                setattr(again, field, getattr(first, field))
            archive.filelist.append(again)
            archive.NameToInfo[again.filename] = again
    with pytest.raises(FileError, match="claim more bytes than it has"):
        hg.load(path)


def test_a_file_that_is_replaced_keeps_its_permissions_and_links(tmp_path):
    path, link = tmp_path / "m", tmp_path / "link"
    path.write_bytes(b"")
    path.chmod(0o600)
    link.symlink_to("m")
    hg.save(fitted_regressor(), link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600
    assert hg.load(path).solver_ == hg.load(link).solver_


def test_a_model_of_vertices_does_not_keep_vectors_of_hyperedges(tmp_path):
    wide = hg.Hypergraph.from_edges([[i % 5, (i * i + 1) % 5] for i in range(4000)], vertices=range(5))
    model = hg.HypergraphGPRegressor(wide, learn=False).fit([0, 1], [0.0, 1.0])
    assert model.kernel_.spectrum.edge_vectors.shape == (4000, 5)
    hg.save(model, tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as archive:
        assert max(member.file_size for member in archive.infolist() if "npy" in member.filename) < 4000 * 5 * 8
    assert hg.load(tmp_path / "m").kernel_.spectrum.edge_vectors.shape == (4000, 5)


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
