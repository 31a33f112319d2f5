"""What is going on is one line: in a terminal, in a notebook without widgets, or plain lines where there is neither."""

import sys
from types import SimpleNamespace

import pytest

from hypergauss import HypergraphGPRegressor, _progress
from hypergauss.datasets import make_planted_hypergraph


def test_without_a_terminal_each_stage_is_a_line_and_details_come_now_and_then(capsys, monkeypatch):
    now = iter([0.0, 1.0, 30.0, 30.0, 31.0])
    monkeypatch.setattr(_progress.time, "monotonic", lambda: next(now))
    with _progress.displayed("reading") as display:
        display("row 1")  # a second later: too soon
        display("row 9")  # half a minute later
        display.stage("learning")
    assert capsys.readouterr().err.splitlines() == [
        "hypergauss: reading",
        "hypergauss: reading: row 9",
        "hypergauss: learning",
    ]


def test_a_notebook_gets_one_line_that_changes_and_needs_no_widgets(monkeypatch):
    shown = []

    class Handle:
        update = staticmethod(shown.append)

    def display(content, *, display_id):
        shown.append(content)
        return Handle

    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display, Pretty=str))
    planted = make_planted_hypergraph(20, 30, 2, random_state=0)
    model = HypergraphGPRegressor(planted.hypergraph, integrate=False, size_exponent=0.0, verbose=True)
    model.fit(planted.hypergraph.vertices, planted.signal)
    assert shown[0] == "learning"
    assert any(text.startswith("learning: exact solver, predicted to take") for text in shown)
    assert shown[-1] == "done"


def test_what_others_display_is_a_detail_of_who_listens():
    told = []

    class Listener(_progress.Display):
        def _show(self, text, *, is_new):
            told.append(text)

    with _progress.reported_to(Listener("fold 1 of 5")), _progress.displayed("learning") as display:
        display("log evidence -3.1")
    assert told == ["fold 1 of 5: log evidence -3.1"]


def test_the_time_that_remains_is_told_by_the_parts_that_are_done(monkeypatch):
    now = iter([0.0, 20.0])
    monkeypatch.setattr(_progress.time, "monotonic", lambda: next(now))
    clock = _progress.Clock(guess=3.0)
    assert clock.remaining(0, 5) == ", about 15 s to go"
    assert clock.remaining(2, 5) == ", about 30 s to go"


@pytest.mark.parametrize("quiet", [True, False])
def test_quiet_shows_nothing(capsys, quiet):
    with _progress.displayed("reading", quiet=quiet):
        pass
    assert bool(capsys.readouterr().err) is not quiet
