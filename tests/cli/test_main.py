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
