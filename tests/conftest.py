"""Settings of the whole test run: one thread a process, and a few examples, always the same, a property."""

import os
from importlib.metadata import version
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before anything imports NumPy or JAX
# Most of the time of the suite is compilation of programs that run for milliseconds. JAX's own switch for that halves
# it, and so do XLA's older code generators; a version that does not know a flag would refuse to start.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
if version("jaxlib").startswith("0.10."):
    flags = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
    os.environ["XLA_FLAGS"] = f"{flags} {os.environ.get('XLA_FLAGS', '')}"

import jax  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

from tests.hypergraphs import random_hypergraph  # noqa: E402

collect_ignore = ["references"]  # scripts that run in environments of their own

settings.register_profile(
    "quick",
    max_examples=12,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("quick")


#: Linux allows a process 65,530 memory maps, every compiled function takes some, and beyond them compiling crashes.
_MOST_MAPS = 20_000


@pytest.fixture(autouse=True)
def _few_compiled_functions():
    """Let go of compiled functions before they are too many."""
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > _MOST_MAPS:
        jax.clear_caches()


@pytest.fixture(scope="session")
def hypergraph():
    """A weighted hypergraph with every awkward part: isolated, singleton, repeated and empty."""
    return random_hypergraph(12, 8, seed=1)


@pytest.fixture
def rng():
    return np.random.default_rng(7)
