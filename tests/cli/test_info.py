"""What is there: in a hypergraph, in a model, among the data sets; and help that answers at once."""

import json
import os
import subprocess
import sys

import pandas as pd
import pytest

from hypergauss import Hypergraph, write_hif
from hypergauss.cli import main
from hypergauss.cli.parser import make_parser


def test_a_hypergraph_is_described(tmp_path, capsys):
    H = Hypergraph.from_edges({"x": ["a", "b", "c"], "y": ["c"], "z": []}, vertices=["a", "b", "c", "d"])
    write_hif(H, tmp_path / "h.json")
    assert main(["info", "--edges", str(tmp_path / "h.json"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["vertices"] == 4
    assert found["memberships"] == 4
    assert found["isolated vertices"] == 1
    assert found["empty hyperedges"] == found["singleton hyperedges"] == 1
    assert found["components"] == 2
    assert found["size of a hyperedge"]["most"] == 3
    assert found["spectrum"]["smallest eigenvalues"][0] == 0
    assert main(["info", "--edges", str(tmp_path / "h.json")]) == 0
    assert "isolated vertices" in capsys.readouterr().out


def test_bundled_data_can_be_written_as_tables(tmp_path, capsys):
    assert main(["datasets"]) == 0
    assert "house-votes" in capsys.readouterr().out
    assert main(["datasets", "zoo", "--out", str(tmp_path / "zoo")]) == 0
    edges = pd.read_csv(tmp_path / "zoo" / "edges.csv")
    assert len(edges) == 1616
    assert len(pd.read_csv(tmp_path / "zoo" / "labels.csv")) == 101
    assert main(["datasets", "zoo", "--out", str(tmp_path / "zoo")]) == 1
    assert "--overwrite" in capsys.readouterr().err
    assert main(["datasets", "elephants"]) == 1


def test_data_that_are_not_at_hand_say_how_to_get_them(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("HYPERGAUSS_DATA", raising=False)
    assert main(["datasets", "cora", "--out", str(tmp_path / "cora")]) == 1
    assert "HYPERGAUSS_DATA" in capsys.readouterr().err


def test_vertices_are_placed(tmp_path, capsys):
    main(["datasets", "zoo", "--out", str(tmp_path)])
    capsys.readouterr()
    assert main(["embed", "--edges", str(tmp_path / "edges.csv"), "--dimensions", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "vertex,x1,x2,x3"
    assert len(lines) == 102


@pytest.mark.parametrize(
    "command", ["fit", "predict", "suggest", "embed", "recommend", "info", "datasets", "reproduce"]
)
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as stop:
        make_parser().parse_args([command, "--help"])
    assert stop.value.code == 0
    assert "--" in capsys.readouterr().out


def test_help_answers_within_half_a_second():
    code = "from hypergauss.cli import main; main(['--help'])"
    times = []
    for _ in range(3):
        before = os.times()
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        after = os.times()  # of the processor: by the clock the answer would depend on what else runs
        times.append(after.children_user + after.children_system - before.children_user - before.children_system)
    assert min(times) < 0.5


def test_a_missing_input_is_named(capsys):
    assert main(["info"]) == 1
    assert "--edges" in capsys.readouterr().err


@pytest.mark.filterwarnings("always::hypergauss.exceptions.DataWarning")
def test_what_a_reader_has_to_say_of_data_is_a_sentence(tmp_path, capsys):
    content = {"incidences": [{"edge": "e", "node": "a"}, {"edge": "e", "node": "b", "weight": -1}]}
    (tmp_path / "h.json").write_text(json.dumps(content))
    assert main(["info", "--edges", str(tmp_path / "h.json")]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "hypergauss: A membership of negative weight is none to the model. Got -1 for 'b' in 'e': kept in "
        "`attributes.absent`, and written again by `write_hif`."
    ]
