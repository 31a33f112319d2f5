"""Tables as people keep them: what is taken for what, and what is refused in place of being guessed."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hypergauss import Hypergraph, write_hif
from hypergauss.cli import inputs, main
from hypergauss.cli.parser import make_parser
from hypergauss.exceptions import FileError

pytestmark = pytest.mark.usefixtures("short_fits")

EDGES = "who,what\na,x\nb,x\nc,x\nc,y\nd,y\n"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.csv").write_text(EDGES)
    return tmp_path


def problem(*arguments):
    return inputs.problem(make_parser().parse_args(["fit", "--out", "out", *map(str, arguments)]))


def with_labels(text, *arguments):
    Path("labels.csv").write_text(text)
    return problem("--edges", "edges.csv", "--labels", "labels.csv", *arguments)


def wide(rows=30, **columns):
    """Write a table of two kinds, a measurement, further columns in front, and a price."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({**columns, "kind": ["x", "y"] * (rows // 2), "size": rng.normal(size=rows).round(3)})
    frame.assign(price=np.arange(rows) + 0.5).to_csv("wide.csv", index=False)
    return frame


# ------------------------------------------------------------------------------------------------ one row a vertex


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("id", range(100, 400, 10)),
        ("passenger", [f"p{row}" for row in range(30)]),
        ("code", [f"{row:03d}" for row in range(30)]),
        ("Unnamed: 0", range(30)),
    ],
)
def test_a_column_that_is_different_in_every_row_names_the_vertices(name, ids):
    wide(**{name: list(ids)})
    found = problem("--table", "wide.csv", "--target", "price")
    assert found.H.vertices.tolist() == [str(each) for each in ids]
    assert found.target.index.tolist() == [str(each) for each in ids]
    assert set(found.H.edges) == {"kind = x", "kind = y"}
    assert list(found.covariates) == ["size"]
    assert any(
        f"{name!r} names the vertex; hyperedges come of 'kind'; 'size' are cov" in line.meaning
        for line in found.understood
    )


def test_an_id_further_right_is_known_by_its_name_or_by_counting():
    ids = np.random.default_rng(1).permutation(900)[:30]
    wide(first=[1.5] * 30, user_id=ids)
    assert problem("--table", "wide.csv", "--target", "price").H.vertices.tolist() == ids.astype(str).tolist()
    wide(first=[1.5] * 30, which=[*range(50, 80)])
    assert problem("--table", "wide.csv", "--target", "price").H.vertices[0] == "50"


def test_whole_numbers_that_only_happen_to_differ_are_measured():
    wide(first=[1.5] * 30, paid=np.random.default_rng(1).permutation(900)[:30])
    found = problem("--table", "wide.csv", "--target", "price")
    assert list(found.covariates) == ["paid", "size"]
    assert found.H.vertices.tolist() == [str(row) for row in range(1, 31)]
    assert any("vertices are numbered by row" in line.meaning for line in found.understood)


def test_a_second_column_of_names_is_left_out_and_said():
    wide(id=range(30), name=[f"p{row}" for row in range(30)])
    found = problem("--table", "wide.csv", "--target", "price")
    assert set(found.H.edges) == {"kind = x", "kind = y"}
    assert any("'name' are left out" in line.meaning for line in found.understood)
    assert problem("--table", "wide.csv", "--target", "price", "--vertex", "name").H.vertices[0] == "p0"


def test_the_columns_taken_are_printed_and_ids_join(capsys):
    frame = wide(id=range(100, 130))
    command = ["fit", "--table", "wide.csv", "--target", "price", "--folds", "0", "--out", "out"]
    assert main(command) == 0
    assert "wide.csv    'id' names the vertex" in capsys.readouterr().err
    table = pd.read_csv("out/predictions.csv")
    assert table.set_index("vertex").loc[frame["id"], "observed"].tolist() == [row + 0.5 for row in range(30)]


def test_a_bad_cell_makes_no_categories_of_a_measurement():
    wide(id=range(30), weight=["abc", *np.linspace(1, 2, 29)])
    with pytest.raises(FileError, match=r"numbers in 'weight'.*Row 1 has 'abc'\."):
        problem("--table", "wide.csv", "--target", "price")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,kind,price\n", "Column 'price' is empty"),
        ("id,kind,price\n1,x,\n2,y,?\n", "Column 'price' is empty"),
        ("price\n1.5\n2.5\n", "a column of categories"),
        ("id,price\na,1.5\nb,2.5\n", "a column of categories"),
        ("id,kind\na,1.5\n", "a column 'price'"),
    ],
)
def test_a_table_without_rows_targets_or_categories_is_refused(text, message):
    Path("wide.csv").write_text(text)
    with pytest.raises(FileError, match=message):
        problem("--table", "wide.csv", "--target", "price")


# ------------------------------------------------------------------------------------------------ what the target is


@pytest.mark.parametrize("bad", ["abc", "3,5", "$3,500", "1 200", "12 %"])
def test_one_bad_cell_makes_no_classification_of_a_regression(bad):
    text = f'who,price\na,1.5\nb,2.5\nc,"{bad}"\nd,3.5\n'
    with pytest.raises(FileError, match=r"labels.csv must hold numbers in 'price'.*Row 3 has '.*--target-type classes"):
        with_labels(text)
    with pytest.raises(FileError, match="Row 3"):
        with_labels(text, "--target-type", "numbers")
    assert with_labels(text, "--target-type", "classes").is_classification
    assert not with_labels(text.replace(bad, ""), "--target-type", "numbers").is_classification


def test_numbers_that_are_all_written_with_a_comma_are_no_classes():
    with pytest.raises(FileError, match="Row 1 has '3,5' and 3 others"):
        with_labels('who,price\na,"3,5"\nb,"2,5"\nc,"1,0"\nd,"3,25"\n')


@pytest.mark.parametrize(
    "values", [["1", "2", "3+", "2"], ["18-25", "26-40", "18-25", "41+"], ["1.2.3", "1.2.4", "1.2.3", "x"], [*"yyny"]]
)
def test_classes_that_hold_digits_stay_classes(values):
    found = with_labels("who,group\n" + "".join(f"{v},{label}\n" for v, label in zip("abcd", values, strict=True)))
    assert found.is_classification
    assert found.target.tolist() == values


LEVELS = "who,level\na,high\nb,low\nc,medium\nd,low\n"


def test_the_order_of_classes_is_the_one_named():
    found = with_labels(LEVELS, "--order", "low, medium,high,extreme")
    assert found.target.cat.categories.tolist() == ["low", "medium", "high"]
    assert found.is_ordered
    assert any("'extreme' of --order" in note for note in found.notes)


def test_numbers_order_themselves_and_not_as_text():
    found = with_labels("who,level\na,10\nb,2\nc,1\nd,2\n", "--likelihood", "ordinal")
    assert found.target.cat.categories.tolist() == ["1", "2", "10"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--likelihood", "ordinal"], r"needs classes in an order.*'high'.*--order low,medium,high"),
        (["--order", "low,medum,high"], r"every class of 'level' once.*'medium' is missing. Did you mean 'medum'"),
        (["--order", "low,low,medium,high"], "one stands there twice"),
        (["--order", "low,medium,high", "--target-type", "numbers"], "--order is of classes"),
    ],
)
def test_an_order_that_is_none_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        with_labels(LEVELS, *arguments)


def test_ordered_classes_are_fitted_assessed_and_written_in_their_order(capsys):
    rng = np.random.default_rng(0)
    level = rng.integers(3, size=40)
    pairs = [(f"v{v}", f"e{level[v]}{n}") for v in range(40) for n in rng.permutation(6)[:3]]
    pd.DataFrame(pairs, columns=["v", "e"]).to_csv("edges.csv", index=False)
    pd.DataFrame({"v": [f"v{v}" for v in range(40)], "y": np.array(["low", "medium", "high"])[level]}).to_csv(
        "labels.csv", index=False
    )
    files = ["--edges", "edges.csv", "--labels", "labels.csv", "--out", "out"]
    assert main(["fit", *files, "--order", "low,medium,high", "--likelihood", "softmax"]) == 1
    assert "--order is for --likelihood ordinal" in capsys.readouterr().err
    assert main(["fit", *files, "--order", "low,medium,high", "--folds", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["classes"] == ["low", "medium", "high"]
    columns = pd.read_csv("out/predictions.csv").columns.tolist()
    assert columns[-3:] == ["probability_low", "probability_medium", "probability_high"]


# ------------------------------------------------------------------------------------------------ the first line


@pytest.mark.parametrize("text", ["a,1.5\nb,2.5\n", "a,left\nb,right\nc,left\n", "who,1.5\nb,2.5\n"])
def test_labels_without_a_header_lose_none(text):
    with pytest.raises(FileError, match=r"first line of labels.csv.*--no-header"):
        with_labels(text)


def test_without_headers_every_row_counts():
    Path("edges.csv").write_text(EDGES.partition("\n")[2])
    found = with_labels("a,1.5\nb,2.5\n", "--no-header")
    assert found.target.to_dict() == {"a": 1.5, "b": 2.5}
    assert found.H.members("x") == ["a", "b", "c"]
    with pytest.raises(ValueError, match="Got 'who'"):
        with_labels("who,left\n" + "a,left\nb,right\n" * 200, "--no-header")


def test_a_row_longer_than_the_header_is_refused():
    with pytest.raises(FileError, match="Row 1, which begins with 'a', has 3"):
        with_labels("who,price\na,1.5,\nb,2.5,\n")


def test_covariates_and_ratings_without_a_header_are_refused(capsys):
    Path("ages.csv").write_text("a,1\nb,2\nc,3\nd,4\n")
    with pytest.raises(FileError, match=r"first line of ages.csv.*'a'"):
        with_labels("who,price\na,1.5\nb,2.5\n", "--covariates", "ages.csv")
    Path("ratings.csv").write_text("ann,i1,5\nann,i2,3\nbob,i1,4\n")
    assert main(["recommend", "--ratings", "ratings.csv"]) == 1
    assert "'ann' is a name" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------------ options


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("fit --table wide.csv --target price --out o --label-vertex id", "--label-vertex goes with --labels"),
        ("fit --table wide.csv --target price --out o --edge kind", "--edge goes with --edges"),
        ("fit --table wide.csv --target price --out o --covariates edges.csv", "--covariates goes with --edges"),
        ("fit --table wide.csv --target price --out o --relation r=edges.csv", "--relation goes with --edges"),
        ("fit --table wide.csv --target price --out o --isolated", "--isolated goes with --edges"),
        ("fit --table wide.csv --target price --out o --vertex price", "must be two columns"),
        ("fit --edges edges.csv --labels edges.csv --out o --relation edges=edges.csv", "Got 'edges' again"),
        ("fit --edges edges.csv --labels edges.csv --out o --relation r=a.csv --relation r=b.csv", "Got 'r' again"),
        ("info --edges edges.csv --vertex what --edge what", "columns of their own. Got 'what'"),
        ("info --edges edges.csv --within ;", "--within says what separates --members"),
        ("info --edges edges.csv --members what --weight who", "`members` lists vertices"),
        ("info --edges h.json --vertex who", "--vertex is of tables, and h.json is a HIF file"),
        ("info --edges h.json --no-header", "--no-header is of text tables"),
        ("info --edges h.json --separator ;", "--separator is of text tables"),
        ("info --model m --edges edges.csv", "--edges and --model"),
        ("info --model m --encoding latin-1", "--encoding is of tables"),
        ("embed --edges edges.csv --overwrite", "--overwrite goes with --out"),
        ("recommend --ratings edges.csv --overwrite", "--overwrite goes with --out"),
        ("predict m --overwrite", "--overwrite goes with --out"),
        ("predict m --no-header", "--no-header is of text tables"),
        ("datasets --out somewhere", "--out goes with the name of a data set"),
        ("reproduce zoo --paper-recipe", "--paper-recipe is of the study congress"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(command, message, capsys, here):
    wide(id=range(30))
    write_hif(Hypergraph.from_edges([["a"]]), "h.json")
    before = {path.name for path in here.iterdir()}
    assert main(command.split()) == 1
    assert message in capsys.readouterr().err
    assert {path.name for path in here.iterdir()} == before
