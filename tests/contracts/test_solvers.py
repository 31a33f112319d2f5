"""Laws that every solver obeys, for every kernel and every kind of measurement."""

from typing import NamedTuple

import numpy as np
import pytest

from hypergauss import parameters
from hypergauss.inference import GaussianModel, InducingVertices, Iterative, Markov, Observations, Prior
from hypergauss.solvers import NaturalSites, condition, solver_for
from tests import oracles
from tests.contracts.cases import FEATURELESS, KERNELS, NEEDING_EIGENVECTORS
from tests.hypergraphs import relabelled

NOISE, MEAN = 0.3, np.array([0.4, -1.0])
#: All observed vertices are inducing vertices of the sparse solver, which then leaves nothing out.
SOLVED = ["dense", "low-rank", "sparse", "iterative", "markov"]
#: Those without an error of their own; those by products are asked for as little of it as double precision allows.
EXACT = [solver for solver in SOLVED if solver not in ("iterative", "markov")]
SETTINGS = {
    "iterative": Iterative(1e-9, probe_tolerance=1e-8),
    "markov": Markov(1e-9, probe_tolerance=1e-8),
    "sparse": "auto",
}
#: The kernels that are Markov fields.
FIELDS = {"matern of whole nu", "matern of whole nu by size"}
#: That of the sparse solver is what is added to the diagonal of the inducing vertices' covariance.
ACCURACY = {"dense": 1e-9, "low-rank": 1e-9, "sparse": 1e-7, "iterative": 1e-7, "markov": 1e-7}
CANNOT = {
    "dense": set(),
    "low-rank": FEATURELESS,
    "sparse": set(),
    "iterative": NEEDING_EIGENVECTORS,
    "markov": set(KERNELS) - FIELDS,
}


class Measurements(NamedTuple):
    rows: np.ndarray
    y: np.ndarray
    noise_variance: np.ndarray | None

    def observations(self):
        return Observations.of(self.rows, self.y, self.noise_variance)

    def sites(self):
        return self.observations().sites(NOISE)

    @property
    def noise(self):
        return NOISE if self.noise_variance is None else self.noise_variance

    @property
    def mean(self):
        return MEAN[: self.y.shape[1]]


def measure(rows, *, outputs=1, known=False):
    rng = np.random.default_rng(3)
    y = rng.standard_normal((len(rows), outputs))
    return Measurements(np.array(rows), y, rng.uniform(0.1, 1.0, len(rows)) if known else None)


ONCE, REPEATED = [7, 1, 0, 4, 5, 10, 2, 3, 8], [7, 1, 0, 4, 7, 5, 10, 7, 2, 1]
MEASUREMENTS = {
    "plain": measure(ONCE),
    "several outputs": measure(ONCE, outputs=2),
    "heteroscedastic": measure(ONCE, known=True),
    "repeated": measure(REPEATED, outputs=2),
    "repeated and heteroscedastic": measure(REPEATED, outputs=2, known=True),
    "one": measure([6]),
}

every_pair = pytest.mark.parametrize(
    ("solver", "name"),
    [(solver, name) for solver in SOLVED for name in KERNELS if name not in CANNOT[solver]],
)
every_exact_pair = pytest.mark.parametrize(
    ("solver", "name"),
    [(solver, name) for solver in EXACT for name in KERNELS if name not in CANNOT[solver]],
)
every_exact_solver = pytest.mark.parametrize("solver", EXACT)
every_solver = pytest.mark.parametrize("solver", SOLVED)


def prepared(kernel, rows, solver):
    inducing = InducingVertices.of(kernel, np.unique(rows)) if solver == "sparse" else None
    return solver_for(kernel, rows, SETTINGS.get(solver, solver), inducing)


def posterior_of(kernel, data, solver):
    return prepared(kernel, data.observations().rows, solver).posterior(Prior(kernel, data.mean), data.sites())


def natural_sites(outputs, size, *, signed):
    """Return sites of which some say nothing, and some have a negative precision."""
    rng = np.random.default_rng(8)
    precision = rng.uniform(0.2, 3.0, (size, outputs))
    precision[0] = 0.0
    if signed:
        precision[1] = -0.05
    return NaturalSites(rng.standard_normal((size, outputs)), precision)


@every_exact_pair
def test_the_log_evidence_is_scipys_multivariate_normal(hypergraph, solver, name):
    kernel = KERNELS[name](hypergraph)
    for kind, data in MEASUREMENTS.items():
        expected = oracles.log_evidence(kernel.gram(), data.rows, data.y, data.noise, data.mean)
        assert posterior_of(kernel, data, solver).log_evidence == pytest.approx(expected, rel=1e-8), kind
        to_learn = prepared(kernel, data.observations().rows, solver).objective(data.observations())
        assert to_learn.value(GaussianModel(kernel, NOISE, data.mean)) == pytest.approx(expected, rel=1e-8), kind


@pytest.mark.parametrize(
    ("solver", "name"),
    [(solver, name) for solver in ("iterative", "markov") for name in KERNELS if name not in CANNOT[solver]],
)
def test_the_estimated_log_evidence_is_scipys_within_its_standard_error(hypergraph, solver, name):
    kernel = KERNELS[name](hypergraph)
    for kind, data in MEASUREMENTS.items():
        expected = oracles.log_evidence(kernel.gram(), data.rows, data.y, data.noise, data.mean)
        posterior = posterior_of(kernel, data, solver)
        estimate = posterior.log_evidence_estimate
        assert posterior.log_evidence == estimate.value, kind
        assert abs(estimate.value - expected) < 4.5 * estimate.standard_error + 1e-6, kind
        assert estimate.standard_error < 1.0, kind


@every_pair
def test_mean_variance_and_covariance_are_those_of_the_conditional_normal(hypergraph, solver, name):
    kernel, asked = KERNELS[name](hypergraph), np.array([3, 0, 7, 3, 11])  # measured or not, one twice
    for kind, data in MEASUREMENTS.items():
        mean, covariance = oracles.posterior(kernel.gram(), data.rows, data.y, data.noise, data.mean)
        posterior = posterior_of(kernel, data, solver)
        assert posterior.solver == solver, kind
        found = posterior.covariance(asked)
        assert np.allclose(posterior.mean(asked), mean[asked], atol=ACCURACY[solver]), kind
        assert np.allclose(posterior.variance(asked), np.diag(covariance)[asked], atol=ACCURACY[solver]), kind
        assert np.allclose(found, covariance[np.ix_(asked, asked)], atol=ACCURACY[solver]), kind


@every_pair
def test_leave_one_out_is_conditioning_without_the_vertex(hypergraph, solver, name):
    kernel = KERNELS[name](hypergraph)
    K = kernel.gram()
    for kind in ("several outputs", "repeated and heteroscedastic"):
        data = MEASUREMENTS[kind]
        sites = data.sites()
        found = posterior_of(kernel, data, solver).leave_one_out()
        for i, vertex in enumerate(sites.rows):
            keep = data.rows != vertex
            noise = np.broadcast_to(data.noise, len(keep))[keep]
            mean, covariance = oracles.posterior(K, data.rows[keep], data.y[keep], noise, data.mean)
            variance = covariance[vertex, vertex] + sites.variance[i]
            assert np.allclose(found.mean[i], mean[vertex], atol=ACCURACY[solver]), kind
            assert np.isclose(found.variance[i], variance, atol=ACCURACY[solver]), kind


some_kernels = pytest.mark.parametrize("name", ["matern", "matern in the limit", "bernstein, rising", "sum", "product"])


@every_exact_solver
@some_kernels
@pytest.mark.parametrize("kind", ["plain", "several outputs", "repeated and heteroscedastic"])
def test_gradients_of_the_log_evidence_match_central_differences(hypergraph, solver, name, kind):
    data = MEASUREMENTS[kind]
    fixed = ("noise_variance",) if data.noise_variance is not None else ()
    model = GaussianModel(KERNELS[name](hypergraph), NOISE, data.mean, fixed)
    objective = prepared(model.kernel, data.observations().rows, solver).objective(data.observations())

    def value(theta):
        return objective.value(parameters.unpack(model, theta))

    found = objective.value_and_gradient(model)[1]
    expected = oracles.central_differences(value, parameters.pack(model))
    assert np.allclose(found, expected, rtol=1e-5, atol=1e-6)


@every_exact_solver
@some_kernels
def test_slopes_of_the_evidence_in_means_and_variances_match_central_differences(hypergraph, solver, name):
    data = MEASUREMENTS["repeated and heteroscedastic"]
    kernel, sites = KERNELS[name](hypergraph), data.sites()
    prepared_solver = prepared(kernel, data.observations().rows, solver)
    found = prepared_solver.evidence(kernel, data.mean, sites)
    assert prepared_solver.log_evidence(kernel, data.mean, sites) == pytest.approx(found.value, rel=1e-12)
    in_mean = oracles.central_differences(lambda m: prepared_solver.evidence(kernel, m, sites).value, data.mean)
    in_variance = oracles.central_differences(
        lambda v: prepared_solver.evidence(kernel, data.mean, sites._replace(variance=v)).value, sites.variance
    )
    assert np.allclose(found.in_mean, in_mean, rtol=1e-6, atol=1e-6)
    assert np.allclose(found.in_variance, in_variance, rtol=1e-5, atol=1e-6)


@every_exact_pair
@pytest.mark.parametrize("signed", [False, True])
def test_marginals_under_sites_are_those_of_dense_algebra(hypergraph, solver, name, signed):
    kernel, rows, mean = KERNELS[name](hypergraph), np.sort(ONCE), MEAN
    sites = natural_sites(2, len(rows), signed=signed)
    found = prepared(kernel, rows, solver).marginals(kernel, mean, sites)
    K, log_partition, x = kernel.gram(rows, rows), 0.0, np.random.default_rng(2).standard_normal((len(rows), 2))
    for latent, (shift, precision) in enumerate(zip(sites.shift.T, sites.precision.T, strict=True)):
        S = np.linalg.solve(np.eye(len(rows)) + K * precision, K)
        own = shift - precision * mean[latent]
        assert np.allclose(found.mean[:, latent], mean[latent] + S @ own, atol=ACCURACY[solver])
        total = found.total_variance[:, min(latent, found.total_variance.shape[1] - 1)]
        assert np.allclose(total, np.diag(S), atol=ACCURACY[solver])
        assert np.allclose(found.smooth(x)[:, latent], S @ x[:, latent], atol=ACCURACY[solver])
        log_partition += (shift * mean[latent] - precision * mean[latent] ** 2 / 2).sum() + own @ S @ own / 2
        log_partition -= np.linalg.slogdet(np.eye(len(rows)) + K * precision)[1] / 2
    assert found.is_proper
    assert found.log_partition == pytest.approx(log_partition, rel=1e-7)


@every_exact_solver
@some_kernels
@pytest.mark.parametrize("signed", [False, True])
def test_gradients_of_log_z_match_central_differences(hypergraph, solver, name, signed):
    kernel, rows = KERNELS[name](hypergraph), np.sort(ONCE)
    sites = natural_sites(2, len(rows), signed=signed)
    solved = prepared(kernel, rows, solver)
    in_unexplained = np.random.default_rng(6).standard_normal(len(rows)) if solver != "sparse" else np.zeros(len(rows))
    in_kernel, in_mean = solved.pull_back(kernel, MEAN, sites, in_unexplained)
    of_kernel = oracles.central_differences(
        lambda theta: solved.marginals(parameters.unpack(kernel, theta), MEAN, sites).log_partition,
        parameters.pack(kernel),
    )
    of_mean = oracles.central_differences(lambda m: solved.marginals(kernel, m, sites).log_partition, MEAN)
    assert np.allclose(in_kernel, of_kernel, rtol=1e-5, atol=1e-6)
    assert np.allclose(in_mean, of_mean, rtol=1e-6, atol=1e-6)


@every_exact_solver
@some_kernels
def test_products_with_the_covariance_and_their_gradients(hypergraph, solver, name, rng):
    kernel, rows = KERNELS[name](hypergraph), np.sort(ONCE)
    solved = prepared(kernel, rows, solver)
    left, right = rng.standard_normal((2, len(rows), 2))
    assert np.allclose(solved.multiply(kernel, right), kernel.gram(rows, rows) @ right, atol=ACCURACY[solver])

    def total(theta):
        return (left * solved.multiply(parameters.unpack(kernel, theta), right)).sum()

    expected = oracles.central_differences(total, parameters.pack(kernel))
    assert np.allclose(solved.pull_back_product(kernel, left, right), expected, rtol=1e-5, atol=1e-6)


@every_exact_solver
@some_kernels
def test_reductions_are_inverses_of_the_covariance_with_a_diagonal_of_its_own(hypergraph, solver, name, rng):
    kernel, rows = KERNELS[name](hypergraph), np.sort(ONCE)
    precision = rng.uniform(0.1, 4.0, (3, len(rows)))
    precision[0, 0] = 1e-30
    E, room = np.empty((2, 3, len(rows), len(rows)))
    found = prepared(kernel, rows, solver).reduction(kernel)
    log_dets = found.into(E, precision, room)
    K = kernel.gram(rows, rows)
    assert np.allclose(found.K, K, atol=ACCURACY[solver])
    systems = [np.eye(len(K)) + K * a for a in precision]
    expected = [a[:, None] * np.linalg.inv(system) for a, system in zip(precision, systems, strict=True)]
    assert np.allclose(E, expected, atol=ACCURACY[solver])
    expected = sum(np.linalg.slogdet(system)[1] for system in systems)
    assert log_dets == pytest.approx(expected, abs=len(rows) * ACCURACY[solver])


@pytest.mark.parametrize(
    ("solver", "name"),
    [(s, n) for s in SOLVED for n in ("matern", "sum", "product", "matern of whole nu") if n not in CANNOT[s]],
)
def test_samples_have_the_posteriors_moments(hypergraph, name, solver, rng):
    data, size = MEASUREMENTS["repeated"], 20_000 if solver in EXACT else 400
    posterior = posterior_of(KERNELS[name](hypergraph), data, solver)
    rows = np.array([0, 3, 7, 3])
    draws = posterior.sample(rows, size, rng)
    mean, covariance = posterior.mean(rows), posterior.covariance(rows)
    assert draws.shape == (size, 4, 2)
    assert np.allclose(draws[:, 1], draws[:, 3])
    z_mean = (draws.mean(axis=0) - mean) / np.sqrt(np.diag(covariance) / size)[:, None]
    assert np.abs(z_mean).max() < 4.5
    spread = np.sqrt((np.outer(np.diag(covariance), np.diag(covariance)) + covariance**2) / size)
    for output in range(2):
        centred = draws[:, :, output] - mean[:, output]
        assert np.abs((centred.T @ centred / size - covariance) / spread).max() < 4.5
    # Outputs are independent given the data.
    across = (draws[:, :, 0] - mean[:, 0]).T @ (draws[:, :, 1] - mean[:, 1]) / size
    assert np.abs(across / np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)) / size)).max() < 4.5


@every_solver
def test_relabelling_vertices_permutes_the_posterior(hypergraph, solver, rng):
    data, make = MEASUREMENTS["repeated and heteroscedastic"], KERNELS["matern of whole nu"]
    order = rng.permutation(hypergraph.num_vertices)
    moved = data._replace(rows=np.argsort(order)[data.rows])
    before = posterior_of(make(hypergraph), data, solver)
    after = posterior_of(make(relabelled(hypergraph, order)), moved, solver)
    everything = np.arange(hypergraph.num_vertices)
    assert np.allclose(after.mean(everything), before.mean(order), atol=ACCURACY[solver] / 10)
    assert np.allclose(after.variance(everything), before.variance(order), atol=ACCURACY[solver] / 10)
    if solver in EXACT:
        assert after.log_evidence == pytest.approx(before.log_evidence, rel=1e-10)


@every_solver
def test_no_vertices_asked_for_give_no_answers(hypergraph, solver):
    posterior = posterior_of(KERNELS["matern of whole nu"](hypergraph), MEASUREMENTS["several outputs"], solver)
    nothing = np.zeros(0, dtype=int)
    assert posterior.mean(nothing).shape == (0, 2)
    assert posterior.variance(nothing).shape == (0,)
    assert posterior.covariance(nothing).shape == (0, 0)


@every_solver
def test_tiny_noise_keeps_variances_from_turning_negative(hypergraph, solver):
    data = measure(ONCE)._replace(noise_variance=np.full(len(ONCE), 1e-9))
    kernel = KERNELS["matern of whole nu"](hypergraph)
    inducing = InducingVertices.of(kernel, np.sort(ONCE)) if solver == "sparse" else None
    posterior = condition(Prior(kernel, data.mean), data.sites(), "auto" if inducing else solver, inducing)
    assert np.allclose(posterior.mean(data.rows), data.y, atol=1e-6)
    assert (posterior.variance(np.arange(12)) >= 0).all()
