"""What newcomers stumbled over: files without options, plain lists, and a command that says what it understood."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hypergauss import Hypergraph, load, write_hif
from hypergauss.cli import given, inputs, main
from hypergauss.cli.parser import make_parser
from hypergauss.datasets import make_planted_hypergraph
from hypergauss.exceptions import FileError

pytestmark = pytest.mark.usefixtures("short_fits")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("edges.csv").write_text("who,what,extra\na,x,1\nb,x,1\nc,x,1\nc,y,1\nd,y,1\ne,y,1\n")
    Path("labels.csv").write_text("who,side\na,left\nb,left\nd,right\ne,right\n")
    return tmp_path


def problem(*arguments):
    return inputs.problem(given.of_fit(make_parser().parse_args(["fit", *map(str, arguments)])))


def meanings(found):
    return {line.what: line.meaning + line.hint for line in found.understood}


# ------------------------------------------------------------------------------------------------ files without options


def test_two_files_are_memberships_and_labels_and_results_have_a_folder(capsys):
    assert main(["fit", "edges.csv", "labels.csv", "--folds", "0"]) == 0
    assert Path("results/report.html").exists()
    assert "Report:      results/report.html" in capsys.readouterr().out


def test_one_file_is_a_table_or_what_is_missing():
    Path("wide.csv").write_text("id,kind,price\n1,x,1.5\n2,y,2.5\n3,x,1.25\n4,y,2.75\n")
    assert set(problem("wide.csv", "--target", "price").H.edges) == {"kind = x", "kind = y"}
    assert problem("labels.csv", "--edges", "edges.csv").target["a"] == "left"
    assert problem("edges.csv", "--labels", "labels.csv").target["a"] == "left"
    with pytest.raises(ValueError, match=r"edges.csv alone is taken for a table.*give a second file of what is known"):
        problem("edges.csv")


def test_a_hypergraph_or_a_model_is_described_without_options(capsys):
    assert main(["info", "edges.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["vertices"] == 5
    assert main(["fit", "edges.csv", "labels.csv", "--folds", "0", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["info", "results/model.hypergauss", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["estimator"] == "HypergraphGPClassifier"
    assert main(["embed", "edges.csv", "--dimensions", "1"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.csv", "b.csv", "c.csv"], "Two files at most"),
        (["labels.csv", "--edges", "edges.csv", "--labels", "labels.csv"], "labels.csv would be --labels, and that is"),
    ],
)
def test_files_without_a_place_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        problem(*arguments)


# ------------------------------------------------------------------------------------------------ what was understood


def test_it_says_what_it_understood_before_it_learns(capsys):
    assert main(["fit", "edges.csv", "labels.csv", "--folds", "0"]) == 0
    said = capsys.readouterr().err
    for line in (
        "edges.csv  'who' names 5 vertices, 'what' 2 hyperedges; 6 memberships all of weight 1; not read: 'extra' "
        "(--weight says otherwise)",
        "target     'side' in labels.csv, of the vertex in 'who': 2 classes (left 2, right 2)",
        "known      4 of 5 vertices, 1 to predict",
    ):
        assert line in said.splitlines()
    assert said.index("known ") < said.index("hypergauss: learning")
    assert json.loads(Path("results/metrics.json").read_text())["understood"]["known"].startswith("4 of 5")
    page = Path("results/report.html").read_text()
    assert "not read: 'extra'." in page
    assert "--weight" not in page  # options are for the terminal


def test_weights_and_numbers_are_understood_too():
    Path("values.csv").write_text("who,score\na,1.5\nd,2.5\n")
    found = meanings(problem("edges.csv", "values.csv", "--weight", "extra"))
    assert found["edges.csv"].endswith("6 memberships all of weight 1 ('extra')")
    assert found["target"] == (
        "'score' in values.csv, of the vertex in 'who': numbers from 1.5 to 2.5; "
        "--target-type classes if they are labels"
    )
    Path("grades.csv").write_text("who,grade\na,1\nb,2\nd,2\ne,3\n")
    assert meanings(problem("edges.csv", "grades.csv"))["target"].endswith(
        "3 classes (2 2, 1 1, 3 1); --target-type numbers if they are amounts"
    )


def test_other_columns_that_could_have_been_the_target_are_named():
    Path("people.csv").write_text("who,age,side\na,31,left\nb,42,left\nd,53,right\ne,64,right\n")
    said = meanings(problem("edges.csv", "people.csv", "--label-vertex", "who"))["target"]
    assert "'age' in people.csv" in said
    assert "; not read: 'side' (--target says otherwise)" in said
    assert "not read" not in meanings(problem("edges.csv", "people.csv", "--target", "side"))["target"]


def test_a_file_that_is_not_there_is_said_to_be_missing_before_options_are():
    with pytest.raises(FileNotFoundError, match=r"There is no file edgs.csv. Did you mean 'edges.csv'"):
        problem("edgs.csv")


def test_directions_are_read_and_said_to_be_ignored(capsys):
    H = Hypergraph.from_edges({"x": ["a", "b", "c"], "y": ["c", "d", "e"]})
    write_hif(H.with_attributes(directions={("a", "x"): ("head",)}, network_type="directed"), "flow.json")
    assert main(["fit", "flow.json", "labels.csv", "--folds", "0"]) == 0
    assert "The model ignores the directions of 1 membership" in capsys.readouterr().out
    assert main(["info", "flow.json"]) == 0
    assert "directions of 1 membership" in capsys.readouterr().out


def test_a_table_that_goes_to_a_file_keeps_each_figure_on_its_line(capsys):
    assert main(["fit", "edges.csv", "labels.csv", "--folds", "2", "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"│ hypergraph GP +(│ +-?\d\.\d{3} ± \S+ ){4}│\n", shown), shown


def test_progress_counts_folds_and_says_how_long_they_will_take(capsys):
    planted = make_planted_hypergraph(30, 40, 2, random_state=0)
    frame = planted.hypergraph.to_frame()[["vertex", "edge"]]
    frame.to_csv("edges.csv", index=False)
    pd.DataFrame({"vertex": range(30), "value": planted.signal}).to_csv("values.csv", index=False)
    assert main(["fit", "edges.csv", "values.csv", "--folds", "3", "--kernel", "walk", "--size-exponent", "0"]) == 0
    shown = capsys.readouterr()
    folds = [line for line in shown.err.splitlines() if "fold " in line]
    assert [line.partition(",")[2].split(",")[0].strip() for line in folds] == [f"fold {k} of 3" for k in (1, 2, 3)]
    assert all("to go" in line for line in folds)
    assert "\x1b" not in shown.err  # plain lines: nothing for a terminal in a log
    assert main(["fit", "edges.csv", "values.csv", "--folds", "0", "--quiet", "--overwrite"]) == 0
    assert capsys.readouterr().err == ""


# ------------------------------------------------------------------------------------------------ plain lists


def test_a_public_hyperedge_list_goes_to_a_report_in_one_command(capsys):
    Path("hyperedges.txt").write_text("1,2\n1,2,3\n4,5,6\n5,6\n3,4\n")
    Path("node-names.txt").write_text("ana\nluis\nrosa\njuan\neva\npaz\nsol\n")
    Path("node-labels.txt").write_text("1\n1\n1\n2\n2\n2\n1\n")
    Path("label-names.txt").write_text("left\nright\n")
    names = ["--names", "node-names.txt", "--target-names", "label-names.txt"]
    assert main(["fit", "hyperedges.txt", "node-labels.txt", *names, "--folds", "0"]) == 0
    said = capsys.readouterr().err
    assert "hyperedges.txt  a line a hyperedge: 7 vertices, 5 hyperedges" in said
    assert "2 classes (left 4, right 3)" in said
    table = pd.read_csv("results/predictions.csv").set_index("vertex")
    assert table["observed"].to_dict() == {
        "ana": "left",
        "luis": "left",
        "rosa": "left",
        "juan": "right",
        "eva": "right",
        "paz": "right",
        "sol": "left",
    }
    assert load("results/model.hypergauss").H.members("2") == ["ana", "luis", "rosa"]


def test_lists_go_with_a_table_of_labels_by_number():
    Path("hyperedges.txt").write_text("0,1\n1,2,3\n")
    Path("vertices.csv").write_text("vertex,label\n0,left\n1,left\n2,right\n3,right\n")
    found = problem("hyperedges.txt", "vertices.csv")
    assert found.H.vertices.tolist() == ["0", "1", "2", "3"]
    assert found.target["3"] == "right"


def test_lines_of_one_length_are_lists_where_that_is_said():
    Path("pairs.txt").write_text("1,2\n2,3\n3,4\n")
    Path("labels.txt").write_text("left\nleft\nright\nright\n")
    found = problem("pairs.txt", "labels.txt", "--lists")
    assert found.H.num_edges == 3
    assert found.target.to_dict() == {"1": "left", "2": "left", "3": "right", "4": "right"}


def test_labels_by_line_must_be_as_many_as_names():
    Path("hyperedges.txt").write_text("1,2\n2,3,1\n")
    Path("names.txt").write_text("ana\nluis\nrosa\n")
    Path("labels.txt").write_text("left\nright\n")
    with pytest.raises(FileError, match=r"one for each of the 3 vertices.*It has 2"):
        problem("hyperedges.txt", "labels.txt", "--names", "names.txt")


# ------------------------------------------------------------------------------------------------ tables as they come


def test_a_file_of_any_ending_is_read_with_a_separator():
    Path("edges.data").write_text("a,x\nb,x\nc,y\nd,y\n")
    assert problem("edges.data", "labels.csv", "--no-header-of", "edges", "--isolated").H.num_edges == 2
    Path("edges.export").write_text("who|what\na|x\nb|x\nd|y\ne|y\n")
    assert problem("edges.export", "labels.csv", "--separator", "edges=|").H.num_vertices == 4
    with pytest.raises(FileError, match=r"must end in .*--separator"):
        problem("edges.export", "labels.csv")


def test_header_encoding_and_separator_are_those_of_each_file():
    Path("sides.csv").write_bytes("a;left\nb;left\nMuñoz;right\n".encode("latin-1"))
    Path("edges.csv").write_text("who,what\na,x\nb,x\nMuñoz,y\n", encoding="utf-8")
    own = ["--encoding", "labels=latin-1", "--separator", "labels=;", "--no-header-of", "labels"]
    assert problem("edges.csv", "sides.csv", *own).target.to_dict() == {"a": "left", "b": "left", "Muñoz": "right"}
    with pytest.raises(ValueError, match=r"--encoding is of one of edges, labels.*Got 'lables'"):
        problem("edges.csv", "sides.csv", "--encoding", "lables=latin-1")


def test_columns_are_ignored_on_request():
    frame = pd.DataFrame(
        {"id": range(20), "kind": ["x", "y"] * 10, "noise": range(100, 120), "price": np.arange(20) / 2}
    )
    frame.to_csv("wide.csv", index=False)
    found = problem("wide.csv", "--target", "price", "--ignore", "noise")
    assert set(found.H.edges) == {"kind = x", "kind = y"}
    assert "noise" not in meanings(found)["wide.csv"]
    with pytest.raises(FileError, match="Did you mean 'noise'"):
        problem("wide.csv", "--target", "price", "--ignore", "nose")
    with pytest.raises(ValueError, match="--ignore leaves columns of --table or --covariates out"):
        problem("edges.csv", "labels.csv", "--ignore", "extra")


def test_numbers_become_ranges_on_request():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": range(40), "size": rng.normal(size=40), "weight": rng.uniform(size=40)})
    frame.assign(price=frame["size"] * 2 + 10).to_csv("numbers.csv", index=False)
    with pytest.raises(FileError, match="Make ranges of its numbers with --bins 5"):
        problem("numbers.csv", "--target", "price")
    found = problem("numbers.csv", "--target", "price", "--bins", "4")
    sizes = found.H.edge_degrees
    assert len(sizes) == 8
    assert set(sizes) == {10.0}
    assert all(" to " in name for name in found.H.edges)
    assert found.covariates is None
    assert "'size', 'weight' in ranges" in meanings(found)["numbers.csv"]


def test_an_order_makes_ordered_classes():
    found = problem("edges.csv", "labels.csv", "--order", "right,left")
    assert "2 ordered classes (right 2, left 2)" in meanings(found)["target"]


def test_the_list_of_data_sets_imports_nothing_heavy():
    code = (
        "import sys, hypergauss.cli as c\nc.main(['datasets'])\n"
        "print(any(name in sys.modules for name in ('scipy', 'sklearn', 'pandas', 'matplotlib', 'rich')))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.startswith("zoo ")
    assert shown.strip().endswith("False")
