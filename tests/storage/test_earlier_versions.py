"""Files of earlier versions open, and predict what they did in the version that wrote them.

Those of layout 1 are from before the rebuild, those of layout 2 from before kernels were standardised and posteriors
averaged (the scripts in their folders made them).
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import hypergauss as hg
from hypergauss.exceptions import FileError
from hypergauss.spectrum import EigenSpectrum, MatrixFreeSpectrum
from tests.storage.files import rewritten, with_content

pytestmark = pytest.mark.usefixtures("few_points")

HERE = Path(__file__).parent
FOLDER = HERE / "version-1"
EXPECTED = {
    (layout, name): predicted
    for layout in (1, 2)
    for name, predicted in json.loads((HERE / f"version-{layout}" / "predictions.json").read_text()).items()
}
NAMES = list("abcdefghijkl")
#: The iterative solver's are the same to its tolerances only; its deviations come from draws.
TOLERANCES = {"iterative": (1e-5, 0.1)}


def opened(layout, name):
    return hg.load(HERE / f"version-{layout}" / f"{name}.hypergauss")


def close(found, expected, tolerance):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("layout", "name"), EXPECTED)
def test_a_file_of_an_earlier_version_predicts_as_it_did(layout, name):
    model, expected = opened(layout, name), EXPECTED[layout, name]
    exact, drawn = TOLERANCES.get(name, (1e-8, 1e-8))
    if "proba" in expected:
        close(model.predict_proba(NAMES), expected["proba"], exact)
        assert model.classes_.tolist() == expected["classes"]
        assert name == "mcmc" or model.elbo_ == expected["elbo"]
    else:
        mean, std = model.predict(NAMES, return_std=True)
        close(mean, expected["mean"], exact)
        close(std, expected["std"], drawn)
        assert model.log_marginal_likelihood_ == expected["evidence"]
    assert list(model.hyperparameters_) == list(expected["hyperparameters"])
    for mine, theirs in zip(model.hyperparameters_.values(), expected["hyperparameters"].values(), strict=True):
        close(mine, theirs, 1e-12)


@pytest.mark.parametrize(("layout", "name"), EXPECTED)
def test_a_file_of_an_earlier_version_can_be_saved_in_this_one(layout, name, tmp_path):
    model = opened(layout, name)
    hg.save(model, tmp_path / "m")
    again = hg.load(tmp_path / "m")
    ask = "predict_proba" if "proba" in EXPECTED[layout, name] else "predict"
    np.testing.assert_array_equal(getattr(again, ask)(NAMES), getattr(model, ask)(NAMES))
    earlier = HERE / f"version-{layout}" / f"{name}.hypergauss"
    # Parameters that were added since take a few bytes each; whatever grows with the hypergraph must not.
    assert (tmp_path / "m").stat().st_size < 1.01 * earlier.stat().st_size + 300


def test_its_hyperparameters_can_be_learned_again():
    model = opened(1, "relations")
    again = hg.HypergraphGPRegressor(model.H, model.kernel_, priors=model.priors, random_state=0)
    again.fit(NAMES[:8], [0.1, 0.4, 0.3, 0.5, 1.4, 2.2, 2.0, 1.6])
    assert again.log_marginal_likelihood_ == pytest.approx(model.log_marginal_likelihood_, abs=1e-3)


def test_its_spectra_are_of_the_two_kinds_of_today():
    assert isinstance(hg.load(FOLDER / "exact.hypergauss").kernel_.spectrum, EigenSpectrum)
    assert isinstance(hg.load(FOLDER / "iterative.hypergauss").kernel_.spectrum, MatrixFreeSpectrum)
    terms = hg.load(FOLDER / "relations.hypergauss").kernel_
    assert terms.labels == ("all", "pairs", "covariates")
    assert terms.blocks == (0, 1, 2)


def test_declared_sizes_of_text_are_checked_before_anything_is_made(tmp_path):
    """Eight names of type <U60000000 in a file of some kilobytes are 2 GB."""

    def widen(content):
        for node in content["nodes"]:
            if node[0] == "names" and node[2].startswith("<U"):
                node[2] = "<U60000000"

    file = rewritten(FOLDER / "robust-max.hypergauss", tmp_path / "bad", with_content(widen))
    with pytest.raises(FileError, match=r"text of type <U60000000 is declared, and the longest has 5 characters"):
        hg.load(file)


def test_classes_of_then_that_are_no_more_are_refused(tmp_path):
    foreign = with_content(lambda content: content["nodes"].insert(0, ["own", "os:system", {}]))
    with pytest.raises(FileError, match="damaged"):
        hg.load(rewritten(FOLDER / "exact.hypergauss", tmp_path / "bad", foreign))
    shutil.copy(FOLDER / "exact.hypergauss", tmp_path / "good")
    assert hg.load(tmp_path / "good").solver_ == "low-rank"
