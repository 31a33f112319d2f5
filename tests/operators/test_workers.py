"""What a worker of a cluster imports: neither JAX nor scikit-learn nor pandas, which take seconds and memory each."""

import subprocess
import sys

import pytest
import scipy.sparse as sp

from hypergauss.operators import JaxLaplacian, accelerated

HEAVY = ("equinox", "jax", "jaxtyping", "pandas", "sklearn")
#: Modules whose functions are the tasks, or whose objects are their arguments.
WORKER_SIDE = ("base", "blocks", "ordering", "partitions", "shards", "steps", "threaded", "vectors", "sharded")


def imported_by(program):
    """Return the heavy packages that a fresh process has after a program."""
    program = f"import sys\n{program}\nprint(*sorted(set({HEAVY!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.split()


def test_modules_of_workers_import_nothing_heavy():
    assert imported_by("\n".join(f"import hypergauss.operators.{name}" for name in WORKER_SIDE)) == []


def test_unpickling_and_running_the_tasks_of_a_product_imports_nothing_heavy():
    program = """
import pickle
import numpy as np, scipy.sparse as sp
from hypergauss.operators import shards, steps
A = sp.csr_array(np.eye(6, 4))
rows = [shards.cut(np.arange(3 * b, 3 * b + 3), A[3 * b : 3 * b + 3]) for b in range(2)]
common = shards.in_common(*rows)
laid = [shards.laid_out(part, b, [1 - b], common) for b, part in enumerate(rows)]
task, shard, X = pickle.loads(pickle.dumps((steps.begin, shards.ready(laid[0]), np.ones((3, 2)))))
assert task(shard, X).here.shape == (3, 2)
"""
    assert imported_by(program) == []


def test_without_jax_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    accelerated._programs.cache_clear()
    with pytest.raises(ImportError, match=r"This needs jax. Install it with `pip install hypergauss\[jax\]`"):
        JaxLaplacian.of_incidence(sp.csr_array((3, 2)))
