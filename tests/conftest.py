"""Settings of the whole test run: one thread a process, and a few examples, always the same, a property."""

import gc
import os
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before anything imports NumPy
# Programs of tests run a few times: making them fast costs more than they take.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

gc.disable()  # until tests are collected: modules and tests stay to the end

collect_ignore = ["references"]  # scripts that run in environments of their own

settings.register_profile(
    "quick",
    max_examples=12,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("quick")

#: Tests that start processes, a browser or a cluster, or take longer than most: folders, files, or tests by
#: the beginning of their names.
SLOW = (
    "tests/analysis",
    "tests/cli",
    "tests/contracts/test_settings.py",
    "tests/embedding/test_gplvm.py",
    "tests/estimators/test_averaging.py::test_averages_are_nearly",
    "tests/estimators/test_averaging.py::test_size_exponents_share",
    "tests/estimators/test_classifier.py::test_every_likelihood_tells",
    "tests/estimators/test_classifier.py::test_few_inducing",
    "tests/estimators/test_classifier.py::test_mini_batches",
    "tests/estimators/test_classifier.py::test_sampling",
    "tests/estimators/test_explanation.py::test_averaged",
    "tests/estimators/test_fields.py",
    "tests/estimators/test_laplacians.py::test_both_estimators",
    "tests/estimators/test_laplacians.py::test_models_on_them",
    "tests/estimators/test_markov.py",
    "tests/estimators/test_measurements.py::test_a_model_of_any_likelihood_is_saved",
    "tests/estimators/test_measurements.py::test_counts_are_predicted_as_mixtures",
    "tests/estimators/test_measurements.py::test_cross_validation_and_report",
    "tests/estimators/test_measurements.py::test_other_likelihoods_go",
    "tests/estimators/test_sklearn_rules",
    "tests/estimators/test_summary.py::test_draws_a",
    "tests/estimators/test_updating.py::test_a_classifier_that_took_in",
    "tests/estimators/test_updating.py::test_a_saved_model",
    "tests/estimators/test_updating.py::test_new_vertices_have_calibrated_probabilities",
    "tests/experiments",
    "tests/factorisation",
    "tests/hypergraph/test_hypergraph.py::test_a_million_by_a_million",
    "tests/inference/test_calibration.py",
    "tests/inference/test_calibration_by_cavities.py",
    "tests/inference/test_evidence_draws.py",
    "tests/inference/test_markov_variational.py::test_a_classifier_asked_for_the_markov_solver",
    "tests/inference/test_mcmc.py",
    "tests/inference/test_mini_batches.py",
    "tests/inference/test_one_hot_by_products.py",
    "tests/inference/test_propagation.py::test_coupled_evidence",
    "tests/inference/test_selection.py::test_an_exhausted",
    "tests/inference/test_variational_by_products.py",
    "tests/inference/test_variational_of_parts.py::test_on_an_accelerator",
    "tests/io/test_hif.py::test_another_reader",
    "tests/io/test_hif.py::test_what_",
    "tests/learning/test_size_exponent.py::test_the_exponent_that_drew",
    "tests/likelihoods/test_categorical.py::test_expectations_are_as_accurate",
    "tests/likelihoods/test_categorical.py::test_no_spread",
    "tests/likelihoods/test_measurements.py::test_tilted_moments_of_students",
    "tests/operators/test_laplacians.py",  # compiles
    "tests/operators/test_sharded.py",
    "tests/operators/test_workers.py",
    "tests/plotting/test_drawing.py::test_a_hundred",
    "tests/plotting/test_gallery.py",
    "tests/report",
    "tests/site",
    "tests/solvers/iterative",
    "tests/solvers/markov",
    "tests/solvers/test_planning.py",
    "tests/solvers/test_spectral_evidence.py::test_models_begin",
    "tests/storage",
    "tests/test_docs.py",
    "tests/test_package.py",
    "tests/test_readme.py",
)


def pytest_ignore_collect(collection_path, config):
    """Leave files of slow tests alone where they are not wanted: importing what they need takes seconds."""
    path = collection_path.relative_to(Path(__file__).parents[1]).as_posix()
    return True if config.option.markexpr == "not slow" and path.startswith(SLOW) else None


def pytest_collection_modifyitems(items):
    """Mark what `make test-fast` leaves out."""
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish():
    """Leave modules and thousands of tests, which stay to the end, out of what the garbage collector looks through."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def hypergraph():
    """A weighted hypergraph with every awkward part: isolated, singleton, repeated and empty."""
    from tests.hypergraphs import random_hypergraph  # not in the process that hands out tests

    return random_hypergraph(12, 8, seed=1)


@pytest.fixture(scope="module")
def few_points():
    """Averages over hyperparameters have few points: for tests of how parts join, not of what an average is worth."""
    from hypergauss.estimators import averaging, fitting

    def over_few(task, attempt, neighbours, count):
        return averaging.average(task, attempt, neighbours, min(count, 8))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "average", over_few)
        yield


@pytest.fixture(scope="module")
def short_fits(few_points):
    """Searches for hyperparameters end early besides: for tests that need some model, and not a good one."""
    from hypergauss.estimators import tasks
    from hypergauss.learning import search

    def short(*arguments, max_iterations, **options):
        return search.maximise(*arguments, max_iterations=min(max_iterations, 15), **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "maximise", short)
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(7)
