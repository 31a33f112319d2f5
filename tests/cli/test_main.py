"""What all commands have in common: interrupts are not lost, and what was compiled is kept."""

import os
import signal
import subprocess
import sys
import time

import pytest

from hypergauss import cli

COMPILE = """
from hypergauss.cli import _keep_what_is_compiled
_keep_what_is_compiled()
import jax
jax.jit(lambda x: jax.numpy.sin(x) @ x)(jax.numpy.ones(3)).block_until_ready()
"""


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


def test_compiled_functions_are_kept_in_the_cache_folder(tmp_path):
    free = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    environment = free | {"HYPERGAUSS_CACHE": str(tmp_path), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    subprocess.run([sys.executable, "-c", COMPILE], check=True, env=environment)
    assert list((tmp_path / "compiled").iterdir())


def test_a_folder_that_the_user_has_chosen_for_compiled_functions_stays(tmp_path):
    chosen = os.environ | {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "mine"), "HYPERGAUSS_CACHE": str(tmp_path)}
    environment = chosen | {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    subprocess.run([sys.executable, "-c", COMPILE], check=True, env=environment)
    assert {path.name for path in tmp_path.iterdir()} == {"mine"}


def test_a_cache_folder_that_cannot_be_made_stops_nothing(tmp_path):
    (tmp_path / "file").write_text("in the way")
    environment = os.environ | {"HYPERGAUSS_CACHE": str(tmp_path / "file"), "JAX_COMPILATION_CACHE_DIR": ""}
    del environment["JAX_COMPILATION_CACHE_DIR"]
    environment["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    subprocess.run([sys.executable, "-c", COMPILE], check=True, env=environment)
