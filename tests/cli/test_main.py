"""What all commands have in common: interrupts are not lost."""

import signal
import time

import pytest

from hypergauss import cli


class Interrupting:
    """Interrupts when it is collected, where Python can raise nothing."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


@pytest.fixture
def listening():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_while_garbage_is_collected_is_not_lost(listening, monkeypatch, capsys):
    def work(options):
        thing = Interrupting()
        del thing
        time.sleep(20)

    monkeypatch.setattr("hypergauss.cli.studies.demo", work)
    start = time.monotonic()
    assert cli.main(["demo"]) == 130
    assert time.monotonic() - start < 10
    assert "Interrupted" in capsys.readouterr().err


@pytest.mark.parametrize(
    "becomes", [ImportError("a library says it is broken"), AttributeError("half a module"), OSError()]
)
def test_an_interrupt_that_a_library_makes_another_error_of_is_one(listening, monkeypatch, capsys, becomes):
    def work(options):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise becomes from None

    monkeypatch.setattr("hypergauss.cli.studies.demo", work)
    assert cli.main(["demo"]) == 130
    assert capsys.readouterr().err.startswith("Interrupted")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_same_errors_without_an_interrupt_are_what_they_are(listening, monkeypatch, capsys):
    def work(options):
        raise ImportError("no such package")

    monkeypatch.setattr("hypergauss.cli.studies.demo", work)
    assert cli.main(["demo"]) == 1
    assert "no such package" in capsys.readouterr().err
