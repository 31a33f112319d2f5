"""Likelihoods and scales on the command line: the model that Python has, tables on the scale of the data."""

import json

import numpy as np
import pandas as pd
import pytest

import hypergauss as hg
from hypergauss.cli import main
from hypergauss.datasets import make_planted_hypergraph

pytestmark = pytest.mark.usefixtures("short_fits")

PLANTED = make_planted_hypergraph(40, 60, 2, random_state=0)
NAMES = np.array([f"v{v:02d}" for v in range(40)], dtype=object)
TARGETS = {
    "poisson": np.random.default_rng(0).poisson(np.exp(1 + PLANTED.signal / PLANTED.signal.std() / 2)),
    "student-t": np.round(10 + PLANTED.signal, 3),
    "ordinal": np.digitize(PLANTED.signal, np.quantile(PLANTED.signal, [0.3, 0.6])) + 1,
    "log": np.round(np.exp(5 + PLANTED.signal / PLANTED.signal.std()), 2),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Memberships of forty vertices, and thirty values of each kind."""
    path = tmp_path_factory.mktemp("data")
    matrix = PLANTED.hypergraph.incidence.tocoo()
    pd.DataFrame({"who": NAMES[matrix.row], "what": matrix.col}).to_csv(path / "edges.csv", index=False)
    for name, values in TARGETS.items():
        pd.DataFrame({"who": NAMES[:30], "value": values[:30]}).to_csv(path / f"{name}.csv", index=False)
    return path


def fit(folder, name, out, *options):
    files = ["--edges", folder / "edges.csv", "--labels", folder / f"{name}.csv", "--out", out]
    return main([str(part) for part in ["fit", *files, "--isolated", "--size-exponent", "0", *options]])


OPTIONS = {
    "poisson": ["--likelihood", "poisson"],
    "student-t": ["--likelihood", "student-t"],
    "ordinal": ["--likelihood", "ordinal", "--target-type", "numbers"],
    "log": ["--transform", "log"],
}


@pytest.mark.parametrize("name", OPTIONS)
def test_predictions_and_intervals_are_on_the_scale_of_the_data(name, folder, tmp_path, capsys):
    assert fit(folder, name, tmp_path / "out", *OPTIONS[name], "--folds", "2") == 0, capsys.readouterr().err
    table = pd.read_csv(tmp_path / "out" / "predictions.csv")
    assert (table["low_90"] <= table["median"]).all()
    assert (table["median"] <= table["high_90"]).all()
    if name != "student-t":
        assert (table[["low_90", "predicted"]] >= 0).all().all()
    if name in ("poisson", "ordinal"):
        whole = table[["low_90", "median", "high_90"]]
        assert (whole == np.round(whole)).all().all()
    if name == "ordinal":
        levels = [f"probability_{level}" for level in (1, 2, 3)]
        assert np.allclose(table[levels].sum(axis=1), 1.0)
        assert np.allclose(table[levels] @ [1, 2, 3], table["predicted"])
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert metrics["task"] == "regression"
    assert metrics["transform"] == ("log" if name == "log" else "none")
    assert all(np.isfinite(score["mean"]) for score in metrics["scores"]["hypergraph GP"].values())
    model = hg.load(tmp_path / "out" / "model.hypergauss")
    assert np.allclose(model.predict(table["vertex"]), table["predicted"])
    capsys.readouterr()
    assert main(["predict", f"{tmp_path}/out/model.hypergauss", "--labels", f"{folder}/{name}.csv", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)["scores"]
    assert scores["log density"] == pytest.approx(model.log_density(NAMES[:30], TARGETS[name][:30]).mean())


def test_auto_says_which_scale_it_took(folder, tmp_path):
    assert fit(folder, "log", tmp_path / "out", "--transform", "auto", "--folds", "0") == 0
    assert json.loads((tmp_path / "out" / "metrics.json").read_text())["transform"] == "log"


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("log", ["--likelihood", "poisson"], "whole numbers from 0"),
        ("student-t", ["--likelihood", "softmax", "--target-type", "numbers"], "is of classes"),
        ("ordinal", ["--likelihood", "poisson", "--target-type", "classes"], "is of numbers, and --target-type says"),
        ("ordinal", ["--transform", "log", "--order", "1,2,3"], "--transform is of numbers, and --order says classes"),
        ("poisson", ["--likelihood", "poisson", "--transform", "log"], "`transform` must be left as it is"),
    ],
)
def test_what_does_not_go_together_is_told(name, options, message, folder, tmp_path, capsys):
    assert fit(folder, name, tmp_path / "out", *options) == 1
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out").exists()


def test_a_vertex_with_two_counts_is_told(folder, tmp_path, capsys):
    pd.DataFrame({"who": ["v00", "v00", "v01"], "value": [1, 2, 3]}).to_csv(folder / "twice.csv", index=False)
    assert fit(folder, "twice", tmp_path / "out", "--likelihood", "poisson") == 1
    assert "one value with --likelihood poisson. 'v00' has several" in " ".join(capsys.readouterr().err.split())
