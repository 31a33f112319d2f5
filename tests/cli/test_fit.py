"""From files to predictions, report, scores and model in one command; mistakes are sentences and lose nothing."""

import json
import os
import re
import zipfile

import numpy as np
import pandas as pd
import pytest

import hypergauss as hg
from hypergauss.cli import main
from hypergauss.datasets import make_planted_hypergraph

pytestmark = pytest.mark.usefixtures("short_fits")

RESULTS = {"predictions.csv", "report.html", "metrics.json", "model.hypergauss"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Forty vertices with names that look like numbers, values of thirty, and classes of thirty."""
    path = tmp_path_factory.mktemp("data")
    planted = make_planted_hypergraph(40, 60, 2, random_state=0)
    H = planted.hypergraph
    matrix = H.incidence.tocoo()
    names = np.array([f"{v:03d}" for v in range(40)], dtype=object)
    pd.DataFrame({"who": names[matrix.row], "what": matrix.col}).to_csv(path / "edges.csv", index=False)
    members = sorted(set(names[matrix.row]))
    pd.DataFrame({"who": members[:30], "value": planted.signal[[int(m) for m in members[:30]]]}).to_csv(
        path / "values.csv", index=False
    )
    side = np.where(planted.communities == 0, "left", "right")
    pd.DataFrame({"who": members[:30], "side": side[[int(m) for m in members[:30]]]}).to_csv(
        path / "sides.csv", index=False
    )
    pd.DataFrame({"who": members, "age": np.arange(len(members))}).to_csv(path / "ages.csv", index=False)
    return path


@pytest.fixture(scope="module")
def fitted(folder, tmp_path_factory):
    """The folder of results of a regression."""
    out = tmp_path_factory.mktemp("fitted") / "results"
    assert main(["fit", "--edges", f"{folder}/edges.csv", "--labels", f"{folder}/values.csv", "--out", str(out)]) == 0
    return out


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_a_regression_leaves_its_four_files(fitted):
    assert {path.name for path in fitted.iterdir()} == RESULTS
    table = pd.read_csv(fitted / "predictions.csv", dtype={"vertex": str})
    assert table["vertex"].str.fullmatch(r"\d{3}").all()
    assert table["observed"].notna().sum() == 30
    assert (table["low_90"] < table["predicted"]).all()
    metrics = json.loads((fitted / "metrics.json").read_text())
    assert metrics["task"] == "regression"
    assert metrics["observed"] == 30
    assert set(metrics["scores"]) == {"hypergraph GP", "linear on memberships", "without the hypergraph"}
    assert metrics["scores"]["hypergraph GP"]["R2"]["mean"] > metrics["scores"]["without the hypergraph"]["R2"]["mean"]


def test_the_saved_model_predicts_what_the_table_says(fitted, capsys):
    model = hg.load(fitted / "model.hypergauss")
    table = pd.read_csv(fitted / "predictions.csv", dtype={"vertex": str})
    np.testing.assert_allclose(model.predict(table["vertex"]), table["predicted"], rtol=1e-12)
    code, out, _ = run(capsys, "predict", fitted / "model.hypergauss")
    assert code == 0
    assert out.count("\n") == len(table) + 1


def test_labels_can_be_predicted_and_scored(folder, fitted, tmp_path, capsys):
    code, out, _ = run(
        capsys,
        "predict",
        fitted / "model.hypergauss",
        "--labels",
        folder / "values.csv",
        "--json",
        "--out",
        tmp_path / "p.csv",
    )
    assert code == 0
    content = json.loads(out)
    assert len(content["predictions"]) == 30
    assert 0.5 < content["scores"]["R2"] <= 1
    assert len(pd.read_csv(tmp_path / "p.csv")) == 30
    code, _, err = run(capsys, "predict", fitted / "model.hypergauss", "--out", tmp_path / "p.csv")
    assert code == 1
    assert "exists already" in err


@pytest.mark.parametrize(
    ("option", "content", "message"),
    [
        ("--labels", "who,value\n0O1,1.5\n", r"Got '0O1'\. Did you mean"),
        ("--vertices", "who\nnobody\nnoone\n", "Got 'nobody' and 1 other"),
        ("--vertices", "", "is empty"),
        ("--labels", "who\n001\n", "two columns"),
    ],
)
def test_a_model_says_which_vertices_it_does_not_know(fitted, tmp_path, capsys, option, content, message):
    (tmp_path / "asked.csv").write_text(content)
    out = tmp_path / "out.csv"
    code, _, err = run(capsys, "predict", fitted / "model.hypergauss", option, tmp_path / "asked.csv", "--out", out)
    assert code == 1
    assert re.search(message, err)
    assert not out.exists()


def test_an_archive_that_would_write_elsewhere_is_refused(tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "evil.hypergauss", "w") as archive:
        archive.writestr("../evil.txt", "x")
    code, _, err = run(capsys, "predict", tmp_path / "evil.hypergauss")
    assert code == 1
    assert "does not belong" in err
    assert {path.name for path in tmp_path.iterdir()} == {"evil.hypergauss"}


def test_suggestions_name_vertices_that_were_not_observed(folder, fitted, capsys):
    code, out, _ = run(capsys, "suggest", fitted / "model.hypergauss", "-n", 3, "--json")
    assert code == 0
    observed = set(pd.read_csv(folder / "values.csv", dtype=str)["who"])
    assert len(json.loads(out)["vertices"]) == 3
    assert observed.isdisjoint(json.loads(out)["vertices"])


def test_results_are_not_overwritten_unless_asked(folder, fitted, capsys):
    before = {path.name: path.read_bytes() for path in fitted.iterdir()}
    arguments = ["fit", "--edges", folder / "edges.csv", "--labels", folder / "values.csv", "--out", fitted]
    code, _, err = run(capsys, *arguments)
    assert code == 1
    assert "--overwrite" in err
    assert {path.name: path.read_bytes() for path in fitted.iterdir()} == before


def test_classes_covariates_and_a_second_relation(folder, tmp_path, capsys):
    code, out, _ = run(
        capsys,
        *(
            "fit",
            "--edges",
            folder / "edges.csv",
            "--labels",
            folder / "sides.csv",
            "--covariates",
            folder / "ages.csv",
        ),
        *(
            "--relation",
            f"again={folder}/edges.csv",
            "--kernel",
            "diffusion",
            "--folds",
            0,
            "--json",
            "--out",
            tmp_path / "o",
        ),
    )
    assert code == 0
    content = json.loads(out)
    assert content["classes"] == ["left", "right"]
    assert set(content["relation_weights"]) == {"edges", "again", "covariates"}
    table = pd.read_csv(tmp_path / "o" / "predictions.csv")
    np.testing.assert_allclose(table["probability_left"] + table["probability_right"], 1.0)


def test_a_solver_can_be_named_and_is_told(folder, tmp_path, capsys):
    out = tmp_path / "results"
    arguments = ["--edges", folder / "edges.csv", "--labels", folder / "values.csv", "--folds", 0, "--out", out]
    code, _, _ = run(capsys, "fit", *arguments, "--solver", "iterative")
    assert code == 0
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["solver"] == "iterative"
    assert metrics["solver_plan"].startswith("iterative solver, predicted to take")
    assert {path.name for path in out.iterdir()} == RESULTS


def test_a_wide_table_makes_hyperedges_of_categories_and_covariates_of_measurements(tmp_path, capsys):
    rng = np.random.default_rng(0)
    kinds = rng.integers(3, size=40)
    frame = pd.DataFrame(
        {"id": [f"x{i}" for i in range(40)], "kind": kinds, "colour": "red", "size": rng.normal(size=40).round(4)}
    )
    frame["price"] = kinds + frame["size"]
    frame.loc[3, ["kind", "price"]] = [None, None]
    frame.to_csv(tmp_path / "wide.csv", index=False)
    code, out, _ = run(
        capsys,
        *("fit", "--table", tmp_path / "wide.csv", "--vertex", "id", "--target", "price"),
        *("--folds", 0, "--out", tmp_path / "o", "--json"),
    )
    assert code == 0
    assert any("'size' are covariates" in meaning for meaning in json.loads(out)["understood"].values())
    model = hg.load(tmp_path / "o" / "model.hypergauss")
    assert set(model.H.edges) == {"kind = 0.0", "kind = 1.0", "kind = 2.0", "colour = red"}
    table = pd.read_csv(tmp_path / "o" / "predictions.csv").set_index("vertex")
    assert np.isnan(table.loc["x3", "observed"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"--labels": "none.csv"}, "no file"),
        ({"--labels": "."}, "is a folder"),
        ({"--target": "valeu"}, "Did you mean 'value'?"),
        ({"--vertex": "whom"}, "Did you mean 'who'?"),
        ({"--task": "regression", "--labels": "sides.csv"}, "must hold numbers in 'side'"),
        ({"--labels": "strangers.csv"}, "Got 'nobody' and 1 other"),
        ({"--labels": "empty.csv"}, "is empty"),
        ({"--labels": "latin.csv"}, "UTF-8"),
        ({"--relation": "nothing"}, "NAME=FILE"),
        ({"--folds": "1"}, "--folds"),
        ({"--covariates": "few.csv"}, "row for every vertex"),
        ({"--likelihood": "softmax"}, "of classes"),
        ({"--size-exponent": "big"}, "--size-exponent"),
        ({"--out": "edges.csv"}, "is a file"),
        ({"--table": "edges.csv"}, "in place of"),
    ],
)
def test_mistakes_are_sentences_and_leave_nothing_behind(folder, tmp_path, capsys, monkeypatch, change, message):
    (folder / "strangers.csv").write_text("who,value\nnobody,1.5\nnoone,2.5\n")
    (folder / "empty.csv").write_text("")
    (folder / "latin.csv").write_bytes("who,value\nMuñoz,1\n".encode("latin-1"))
    (folder / "few.csv").write_text("who,age\n000,3\n")
    monkeypatch.chdir(folder)
    options = {"--edges": "edges.csv", "--labels": "values.csv", "--out": str(tmp_path / "out")} | change
    before = set(folder.iterdir())
    code, out, err = run(capsys, "fit", *(part for pair in options.items() for part in pair))
    assert code == 1
    assert message in err
    assert err.startswith("hypergauss: ")
    assert "Traceback" not in out + err
    assert not (tmp_path / "out").exists()
    assert set(folder.iterdir()) == before


def test_a_folder_that_cannot_be_written_to_is_refused_before_any_work(folder, tmp_path, capsys):
    if os.geteuid() == 0:
        target = "/proc/results"
    else:
        (tmp_path / "locked").mkdir(mode=0o500)
        target = tmp_path / "locked" / "out"
    arguments = ["fit", "--edges", folder / "edges.csv", "--labels", folder / "values.csv", "--out", target]
    code, _, err = run(capsys, *arguments)
    assert code == 1
    assert "Nothing can be written" in err


def test_few_labelled_vertices_without_hyperedges_are_isolated_and_said(folder, tmp_path, capsys):
    labels = pd.read_csv(folder / "values.csv", dtype={"who": str})
    labels.loc[len(labels)] = ["nobody", 1.0]
    labels.to_csv(tmp_path / "labels.csv", index=False)
    arguments = ["fit", "--edges", folder / "edges.csv", "--labels", tmp_path / "labels.csv", "--folds", 0, "--out"]
    code, _, err = run(capsys, *arguments, tmp_path / "a")
    assert code == 1
    assert "--isolated" in err
    code, out, _ = run(capsys, *arguments, tmp_path / "b", "--isolated")
    assert code == 0
    assert "nobody" in out


def test_vertices_that_are_new_are_predicted_from_their_memberships(folder, fitted, tmp_path, capsys):
    edges = pd.read_csv(folder / "edges.csv", dtype=str)
    joined = edges["what"].unique()[:3]
    pd.DataFrame({"who": ["eva", "eva", "7"], "what": joined}).to_csv(tmp_path / "new.csv", index=False)
    code, out, err = run(capsys, "predict", fitted / "model.hypergauss", "--new-edges", tmp_path / "new.csv", "--json")
    assert code == 0, err
    table = pd.DataFrame(json.loads(out)["predictions"])
    assert table["vertex"].tolist() == ["eva", "7"]
    model = hg.load(fitted / "model.hypergauss")
    expected = model.predict_new({"eva": list(joined[:2]), "7": [joined[2]]})
    np.testing.assert_allclose(table["predicted"], expected, rtol=1e-9)
    assert (table["low_90"] < table["predicted"]).all()


@pytest.mark.parametrize(
    ("rows", "more", "message"),
    [
        ({"who": ["eva"], "what": ["nothing"]}, (), "must be in hyperedges that the model knows (6"),
        ({"who": ["003"], "what": ["1"]}, (), "must be of new vertices. Got '003', which the model knows"),
        ({"who": ["eva"], "what": ["1"]}, ("--labels", "x.csv"), "and nothing else. Leave out the other files"),
    ],
)
def test_new_vertices_that_cannot_be_predicted_are_told_in_a_sentence(fitted, tmp_path, capsys, rows, more, message):
    pd.DataFrame(rows).to_csv(tmp_path / "new.csv", index=False)
    code, out, err = run(capsys, "predict", fitted / "model.hypergauss", "--new-edges", tmp_path / "new.csv", *more)
    assert code != 0
    assert out == ""
    assert message in " ".join(err.split())
