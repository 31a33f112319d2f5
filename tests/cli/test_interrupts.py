"""Ctrl-C in a terminal ends a command at once, with exit code 130 and nothing left behind."""

from functools import partial

import pytest

from hypergauss.cli import fit, main

pytest.importorskip("pty")

from tests.cli.terminal import interrupted


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["starting", "learning"])
def test_ctrl_c_in_a_terminal_ends_a_fit_in_order(tmp_path, moment):
    assert main(["datasets", "house-votes", "--out", str(tmp_path / "data")]) == 0
    files = ["--edges", tmp_path / "data" / "edges.csv", "--labels", tmp_path / "data" / "labels.csv"]
    ended = interrupted(["fit", *files, "--out", tmp_path / "out"], after=0.3, once_shown=moment.encode())
    assert ended.code == 130, ended.shown
    assert "Interrupted. Nothing half-written was left behind." in ended.shown
    assert "Traceback" not in ended.shown
    assert not (tmp_path / "out").exists()


def test_so_it_does_between_the_folds_of_cross_validation(tmp_path, monkeypatch, capsys):
    (tmp_path / "edges.csv").write_text("who,what\na,x\nb,x\nc,x\nc,y\nd,y\ne,y\n")
    (tmp_path / "labels.csv").write_text("who,side\na,left\nb,left\nd,right\ne,right\n")
    told = []

    def interrupted(*_):
        told.append(None)
        raise KeyboardInterrupt

    monkeypatch.setattr(fit, "assess", partial(_telling, interrupted, fit.assess))
    files = ["--edges", f"{tmp_path}/edges.csv", "--labels", f"{tmp_path}/labels.csv"]
    assert main(["fit", *files, "--folds", "2", "--out", f"{tmp_path}/out"]) == 130
    assert told
    assert "Interrupted. Nothing half-written was left behind." in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def _telling(told, assess, *arguments, report, **options):
    return assess(*arguments, report=told, **options)
