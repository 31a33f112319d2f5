"""Results are all there or none, no cell of them runs in a spreadsheet, and what goes wrong is a sentence."""

import errno
import logging
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypergauss.cli import main
from hypergauss.cli.spreadsheets import as_named, harmless

pytestmark = pytest.mark.usefixtures("short_fits")

RESULTS = {"predictions.csv", "report.html", "metrics.json", "model.hypergauss"}
NAMES = ["=1+1", "+x", "-y", "@z", "-5", "plain", "'=quoted", "-"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Write memberships and values of vertices some of whose names are formulas."""
    monkeypatch.chdir(tmp_path)
    pairs = [(name, f"e{(at + step) % 4}") for at, name in enumerate(NAMES) for step in (0, 1)]
    pd.DataFrame(pairs, columns=["v", "e"]).to_csv("edges.csv", index=False)
    pd.DataFrame({"v": NAMES[:6], "y": np.arange(6) + 0.5}).to_csv("labels.csv", index=False)
    return tmp_path


FIT = ["fit", "--edges", "edges.csv", "--labels", "labels.csv", "--folds", "0", "--out", "out"]


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_disk_that_fills_up_leaves_all_results_or_none(here, monkeypatch, capsys, number):
    true, calls = os.fsync, []

    def full(handle):
        calls.append(handle)
        if len(calls) == number:
            raise OSError(errno.ENOSPC, "No space left on device")
        true(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert main(FIT) == 1
    err = capsys.readouterr().err
    assert "could not be written: No space left on device" in err
    assert any(name in err for name in RESULTS)
    assert not Path("out").exists()
    Path("out").mkdir()
    for name in RESULTS:
        Path("out", name).write_text("of before")
    calls.clear()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert main([*FIT, "--overwrite"]) == 1
    assert {path.name: path.read_text() for path in Path("out").iterdir()} == dict.fromkeys(RESULTS, "of before")


def test_names_that_a_spreadsheet_would_run_are_text_and_are_read_back(here, capsys):
    assert main(FIT) == 0
    table = pd.read_csv("out/predictions.csv", dtype={"vertex": str})
    written = dict(zip(NAMES, ["'=1+1", "'+x", "'-y", "'@z", "-5", "plain", "''=quoted", "-"], strict=True))
    assert set(table["vertex"]) == set(written.values())
    assert table["predicted"].dtype == float
    capsys.readouterr()
    assert main(["predict", "out/model.hypergauss", "--vertices", "out/predictions.csv"]) == 0
    again = pd.read_csv(StringIO(capsys.readouterr().out), dtype={"vertex": str})
    pd.testing.assert_frame_equal(again, table.drop(columns="observed"), check_exact=False)


@given(st.text(alphabet="=+-@'a1.\t e", max_size=5))
def test_what_is_written_for_a_spreadsheet_tells_what_the_name_was(name):
    written = harmless(pd.DataFrame({"vertex": [name]}))["vertex"][0]
    assert as_named(written) == name
    is_formula = len(written) > 1 and written[0] in "=+-@\t"
    assert not is_formula or float(written) is not None


def test_numbers_are_not_spoilt():
    table = pd.DataFrame({"x": [-1.5, 2.0], "n": [-1, 2], "text": ["-1.5", "+2e-3"], "gap": [None, "-x"]})
    found = harmless(table)
    assert found["x"].tolist() == [-1.5, 2.0]
    assert found["n"].dtype == table["n"].dtype
    assert found["text"].tolist() == ["-1.5", "+2e-3"]
    assert found["gap"].tolist()[1] == "'-x"


@pytest.mark.slow
def test_an_output_that_is_full_is_a_sentence_and_an_exit_code(here):
    if not Path("/dev/full").exists():
        pytest.skip("there is no device that is always full")
    code = "import sys; from hypergauss.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "embed", "--edges", "edges.csv"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "hypergauss: Not all could be printed: No space left on device. Make room, or send it elsewhere.\n"
    )


def test_a_file_that_cannot_be_written_is_a_sentence_and_an_exit_code(here, capsys):
    if not Path("/proc/self").exists():
        pytest.skip("there is no folder in which nothing can be written")
    assert main(["embed", "--edges", "edges.csv", "--out", "/proc/self/map.csv"]) == 1
    assert capsys.readouterr().err.startswith("hypergauss: /proc/self/map.csv could not be written: ")


def test_where_matplotlib_keeps_its_cache_is_not_told(capsys):
    assert main(["datasets"]) == 0
    assert not logging.getLogger("matplotlib").isEnabledFor(logging.WARNING)
