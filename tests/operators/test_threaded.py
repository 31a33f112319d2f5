"""Products in threads are SciPy's products, however the matrix is cut."""

import multiprocessing
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from hypergauss.operators import ThreadedMatrix, threaded


def random_matrix(rows, columns, seed, density=0.3):
    """Return a sparse matrix with some rows and columns that are empty."""
    rng = np.random.default_rng(seed)
    dense = rng.standard_normal((rows, columns)) * (rng.random((rows, columns)) < density)
    dense[rng.random(rows) < 0.3] = 0.0
    dense[:, rng.random(columns) < 0.3] = 0.0
    return sp.csr_array(dense)


@given(
    st.integers(0, 30),
    st.integers(1, 30),
    st.integers(1, 4),
    st.sampled_from([np.float64, np.float32]),
    st.sampled_from([1, 5, 40, 10_000]),
    st.integers(0, 100),
)
def test_products_are_scipys_for_any_shape_precision_and_number_of_blocks(rows, columns, m, dtype, block, seed):
    matrix = random_matrix(rows, columns, seed)
    X = np.random.default_rng(seed).standard_normal((columns, m)).astype(dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threaded, "_BLOCK_ENTRIES", block)
        patch.setattr(threaded, "_WORTH_A_THREAD", 0)
        found = ThreadedMatrix(matrix, dtype) @ X
    assert found.dtype == dtype
    assert np.allclose(found, matrix @ X.astype(float), atol=100 * np.finfo(dtype).eps)


@pytest.mark.parametrize("block", [7, 10_000])
def test_every_row_is_finished_once_and_in_place(monkeypatch, block):
    monkeypatch.setattr(threaded, "_BLOCK_ENTRIES", block)
    monkeypatch.setattr(threaded, "_WORTH_A_THREAD", 0)
    matrix = random_matrix(50, 20, seed=1)
    X = np.random.default_rng(0).standard_normal((20, 3))
    Y = np.random.default_rng(1).standard_normal((50, 3))

    def finish(part, rows):
        part *= 2.0
        part += Y[rows]

    assert np.allclose(ThreadedMatrix(matrix).product(X, finish), 2 * (matrix @ X) + Y)


def test_an_error_in_a_thread_reaches_the_caller(monkeypatch):
    monkeypatch.setattr(threaded, "_BLOCK_ENTRIES", 5)
    monkeypatch.setattr(threaded, "_WORTH_A_THREAD", 0)

    def fail(part, rows):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ThreadedMatrix(random_matrix(50, 20, seed=1)).product(np.ones((20, 2)), fail)


def _product_of_a_child(matrix, X, results):
    results.put(matrix @ X)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="processes cannot fork here")
def test_a_forked_process_has_threads_of_its_own(monkeypatch):
    monkeypatch.setattr(threaded, "_BLOCK_ENTRIES", 5)
    monkeypatch.setattr(threaded, "_WORTH_A_THREAD", 0)
    source, X = random_matrix(50, 20, seed=1), np.ones((20, 2))
    matrix = ThreadedMatrix(source)
    expected = matrix @ X  # the pool is awake before the fork
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=_product_of_a_child, args=(matrix, X, results), daemon=True)
    child.start()
    assert np.allclose(results.get(timeout=60), expected)
    child.join(timeout=60)


def test_a_pickled_matrix_holds_its_entries_once():
    A = sp.random_array((40_000, 1_000), density=0.01, format="csr", rng=np.random.default_rng(0))
    matrix, X = ThreadedMatrix(A), np.random.default_rng(1).standard_normal((1_000, 3))
    held = pickle.dumps(matrix)
    assert len(held) < 1.3 * 12 * A.nnz
    assert np.array_equal(pickle.loads(held) @ X, matrix @ X)
