"""Ctrl-C in a terminal ends a command at once, with exit code 130 and nothing left behind."""

import pytest

from hypergauss.cli import main

pytest.importorskip("pty")

from tests.cli.terminal import interrupted


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["starting", "learning", "cross-validation"])
def test_ctrl_c_in_a_terminal_ends_a_fit_in_order(tmp_path, moment):
    assert main(["datasets", "house-votes", "--out", str(tmp_path / "data")]) == 0
    files = ["--edges", tmp_path / "data" / "edges.csv", "--labels", tmp_path / "data" / "labels.csv"]
    ended = interrupted(["fit", *files, "--out", tmp_path / "out"], after=0.3, once_shown=moment.encode())
    assert ended.code == 130, ended.shown
    assert "Interrupted. Nothing half-written was left behind." in ended.shown
    assert "Traceback" not in ended.shown
    assert not (tmp_path / "out").exists()
