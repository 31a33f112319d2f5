"""Factorisations and maps come back from a file as they were, and refuse what does not fit together."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest

import hypergauss as hg
from hypergauss.exceptions import FileError
from tests.factorisation.problems import random_ratings
from tests.hypergraphs import random_hypergraph
from tests.storage.files import rewritten, with_content

USER, ITEM, VALUE = random_ratings(15, 12, 0.5, seed=3)
GRADES = np.clip(np.round(VALUE), 1, 5)
RELATION = hg.Hypergraph.from_edges({"low": range(6), "high": range(6, 15)})
H = random_hypergraph(14, 9, seed=5)
FACTORISATIONS = {
    "as it is": {},
    "with a relation": {"user_relations": {"half": RELATION}},
    "ordinal": {"likelihood": "ordinal"},
    "common noise": {"noise": "common"},
    "independent": {"kernel": "independent", "biases": False},
    "mode": {"inference": "map"},
}


def copied(model, tmp_path):
    hg.save(model, tmp_path / "model.hypergauss")
    return hg.load(tmp_path / "model.hypergauss")


def fitted(**options):
    length = {} if options.get("inference") == "map" else {"warm_up": 3, "draws": 4}
    return hg.KPMF(2, random_state=0, **length, **options).fit(USER, [f"film {i}" for i in ITEM], GRADES)


@pytest.mark.parametrize("options", FACTORISATIONS.values(), ids=FACTORISATIONS)
def test_a_factorisation_predicts_the_same_to_the_last_digit(tmp_path, options):
    model = fitted(**options)
    again = copied(model, tmp_path)
    items = [f"film {i}" for i in ITEM[::-1]]
    for ours, theirs in zip(again.predict(USER, items, True), model.predict(USER, items, True), strict=True):
        assert np.array_equal(ours, theirs)
    assert again.get_params()["n_factors"] == 2
    assert again.recommend(3, 4).equals(model.recommend(3, 4))
    if options.get("inference") == "map":
        return
    for ours, theirs in zip(again.draws_, model.draws_, strict=True):
        for name, part in ours._asdict().items():
            whole = getattr(theirs, name)
            assert part.dtype == whole.dtype, name
            assert np.array_equal(part, whole), name
    films, ratings = ["film 1", "film 5"], [4, 2]
    assert np.array_equal(again.predict_new(films, ratings), model.predict_new(films, ratings))
    assert str(again.explain(3, "film 1")) == str(model.explain(3, "film 1"))
    updated = [each.update([99, 3], ["film 1", "new"], [3, 3], random_state=1) for each in (again, model)]
    assert np.array_equal(*(each.predict([99, 3], ["film 2", "film 3"]) for each in updated))
    assert np.array_equal(copied(again, tmp_path).predict([99], ["new"]), again.predict([99], ["new"]))


def test_a_file_of_a_checkpointed_fit_keeps_its_path(tmp_path):
    model = fitted(checkpoint=tmp_path / "chains.npz")
    assert copied(model, tmp_path).checkpoint == str(tmp_path / "chains.npz")


@pytest.mark.parametrize(
    "options", [{}, {"covariates": np.arange(14.0)[:, None]}, {"solver": "sparse", "n_inducing": 5}]
)
def test_a_map_places_and_reconstructs_the_same_to_the_last_digit(tmp_path, options):
    model = hg.HypergraphGPLVM(starts=["spectral"], **options).fit(H)
    again = copied(model, tmp_path)
    assert np.array_equal(again.embedding_, model.embedding_)
    assert again.reconstruct().equals(model.reconstruct())
    pd.testing.assert_frame_equal(again.starts_, model.starts_)
    rows = np.eye(9)[:3]
    covariates = np.ones((3, 1)) if "covariates" in options else None
    ours, theirs = (each.transform(rows, covariates=covariates, return_std=True) for each in (again, model))
    assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_a_spectral_embedding_comes_back(tmp_path):
    model = hg.SpectralEmbedding(3).fit(H)
    again = copied(model, tmp_path)
    assert np.array_equal(again.embedding_, model.embedding_)
    assert again.n_components == 3


def test_a_latent_kernel_of_ones_own_is_refused_with_its_name(tmp_path):
    model = hg.HypergraphGPLVM(starts=["spectral"], latent_kernel=lambda x: hg.kernels.Linear(x)).fit(H)
    with pytest.raises(TypeError, match=r"`latent_kernel` holds function, which a model file cannot"):
        hg.save(model, tmp_path / "m.hypergauss")


def _fewer_items(content):
    """Let the index of items be a shorter one."""
    text = json.dumps(content["learned"]["items_"])
    content["learned"]["users_"] = json.loads(text)


def test_parts_that_do_not_fit_together_are_refused(tmp_path):
    path = tmp_path / "model.hypergauss"
    hg.save(fitted(), path)
    path = rewritten(path, tmp_path / "changed.hypergauss", with_content(_fewer_items))
    with pytest.raises(FileError, match=r"names, ratings and factors do not fit together"):
        hg.load(path)


def test_files_of_regressors_keep_the_layout_that_earlier_versions_read(tmp_path):
    for model, layout in ((hg.HypergraphGPRegressor(H, learn=False).fit([H.vertices[0]], [1.0]), 2), (fitted(), 3)):
        hg.save(model, tmp_path / "m.hypergauss")
        with zipfile.ZipFile(tmp_path / "m.hypergauss") as archive:
            assert json.loads(archive.read("content.json"))["format_version"] == layout
