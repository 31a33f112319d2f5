"""Products on two workers: the local solver's answers, whatever happens to a worker."""

import contextlib
import os
import signal
import time

import numpy as np
import pandas as pd
import pytest

distributed = pytest.importorskip("distributed", reason="dask is not installed: pip install hypergauss[dask]")
dask = pytest.importorskip("dask", reason="dask is not installed: pip install hypergauss[dask]")
pytest.importorskip("dask.array", reason="dask is not installed: pip install hypergauss[dask]")

from hypergauss import Hypergraph, Spectrum, kernels, parameters  # noqa: E402
from hypergauss.datasets import make_planted_hypergraph  # noqa: E402
from hypergauss.exceptions import ClusterError, FileError  # noqa: E402
from hypergauss.inference import GaussianModel, Observations, Prior, Sites, condition, learn  # noqa: E402
from hypergauss.inference.latent_model import LatentModel  # noqa: E402
from hypergauss.inference.one_hot_by_products import OneHotByProducts  # noqa: E402
from hypergauss.inference.variational_of_parts import JointVariational  # noqa: E402
from hypergauss.likelihoods import Poisson, Softmax  # noqa: E402
from hypergauss.operators import LocalLaplacian, ShardedLaplacian, cluster, ordering  # noqa: E402
from hypergauss.solvers import solver_for  # noqa: E402
from hypergauss.solvers.iterative import Iterative  # noqa: E402
from hypergauss.solvers.iterative.evidence import IterativeEvidence  # noqa: E402
from hypergauss.solvers.markov import Markov  # noqa: E402
from hypergauss.spectrum import local_density, normalised_incidence  # noqa: E402

N = 400

#: Every message costs milliseconds and most of a test is messages, so workers do not watch themselves as well, and the
#: problems below are those of few and short solves.
UNWATCHED = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.cycle": "5s",
    "distributed.admin.system-monitor.interval": "10s",
}


@contextlib.contextmanager
def two_workers(*, processes):
    with (
        dask.config.set(UNWATCHED),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=processes, dashboard_address=":0"
        ) as workers,
        distributed.Client(workers, set_as_default=False) as found,
    ):
        yield found


@pytest.fixture(scope="module")
def client():
    """Two workers in this process, where a message costs least: for what is computed."""
    with two_workers(processes=False) as found:
        yield found


@pytest.fixture(scope="module")
def apart():
    """Two processes: for what travels between them, and for what happens when one is killed."""
    with two_workers(processes=True) as found:
        yield found


@pytest.fixture(scope="module")
def planted():
    return make_planted_hypergraph(N, N, 6, random_state=0)


@pytest.fixture(scope="module")
def sharded(client, planted):
    return ShardedLaplacian.of_incidence(normalised_incidence(planted.hypergraph), client=client)


@pytest.fixture(scope="module")
def local(planted):
    return LocalLaplacian.of_incidence(normalised_incidence(planted.hypergraph))


def observed(planted):
    rng = np.random.default_rng(3)
    rows = np.sort(rng.choice(N, 120, replace=False))
    targets = np.stack([planted.signal[rows], np.zeros(120), -planted.signal[rows]], axis=1)
    return rows, targets + np.array([0.4, 0.0, 0.4]) * rng.standard_normal((120, 3))


def spectrum_of(operator):
    return Spectrum.matrix_free(operator, n_probes=2, n_steps=4)


def gentle(spectrum):
    return kernels.Matern(spectrum, nu=1.5, lengthscale=0.5)


def posterior(operator, planted, make, options, noise_variance=1.0):
    rows, targets = observed(planted)
    kernel = make(spectrum_of(operator))
    prior = Prior(kernel, np.array([0.1, 0.0, 0.0]))
    return condition(prior, Sites(rows, targets, np.full(120, noise_variance)), options)


# ---------------------------------------------------------------- products and vectors


@pytest.mark.parametrize(("workers", "n_blocks"), [("client", 1), ("apart", 2), ("client", 3)])
def test_products_are_those_of_the_matrix_however_it_is_cut(request, planted, workers, n_blocks, rng):
    A = normalised_incidence(planted.hypergraph)
    operator = ShardedLaplacian.of_incidence(A, client=request.getfixturevalue(workers), n_blocks=n_blocks)
    x, y = rng.standard_normal((2, N, 3))
    X, Y = operator.vector(x), operator.vector(y)
    Delta = np.eye(N) - (A @ A.T).toarray()
    assert operator.n_blocks == n_blocks
    assert operator.num_incidences == A.nnz
    np.testing.assert_allclose(operator.array(operator @ X), Delta @ x, atol=1e-13)
    np.testing.assert_allclose(
        operator.array(operator.affine(X, 2.0, -1.0, (0.5, Y))), 2 * Delta @ x - x + y / 2, atol=1e-13
    )
    c = np.concatenate([[0.3, -1.0], 0.9 ** np.arange(18)])  # so many steps that states are kept on the way
    values, vectors = np.linalg.eigh(Delta)
    wanted = vectors @ (np.polynomial.chebyshev.chebval(2 * values - 1, c)[:, None] * (vectors.T @ x))
    np.testing.assert_allclose(operator.array(operator.clenshaw(X, c, 2.0)), wanted, atol=1e-12)
    single = operator.in_single()
    np.testing.assert_allclose(single.array(single.leave(single.clenshaw(single.enter(X), c, 2.0))), wanted, atol=1e-5)
    np.testing.assert_allclose(
        operator.fetch([operator.dot(X, Y), operator.dot(X, X)]), [(x * y).sum(0), (x * x).sum(0)]
    )
    rows = np.array([7, 3, 3, N - 1])
    np.testing.assert_array_equal(operator.array(X, rows), x[rows])
    np.testing.assert_array_equal(operator.array(operator.keep(2.0 * X)), 2.0 * x)
    np.testing.assert_array_equal(
        operator.array(operator.concatenate([X, Y[:, [2]], X[:, []]])), np.hstack([x, y[:, 2:]])
    )


def test_the_bytes_a_product_are_those_of_hyperedges_that_two_shards_touch(client):
    H = Hypergraph.from_edges([[0, 1], [1, 2], [2, 3], [0, 3, 1]], vertices=range(4))
    operator = ShardedLaplacian.of_incidence(normalised_incidence(H), client=client, n_blocks=2, reorder=False)
    assert operator.bytes_a_product == 2 * 8 * 2  # {1, 2} and {0, 3, 1}, there and back


def test_random_numbers_are_those_of_one_machine_and_go_on_as_there(sharded, local):
    ours, theirs = np.random.default_rng(5), np.random.default_rng(5)
    for _ in range(2):
        np.testing.assert_array_equal(sharded.array(sharded.white_noise(3, ours)), local.white_noise(3, theirs))
        np.testing.assert_array_equal(sharded.array(sharded.signs(3, ours)), local.signs(3, theirs))
    assert ours.random() == theirs.random()


def test_an_order_of_the_vertices_saves_bytes_and_is_not_seen_outside(client, planted, monkeypatch, tmp_path):
    A = normalised_incidence(planted.hypergraph)
    plain = ShardedLaplacian.of_incidence(A, client=client)
    monkeypatch.setattr(ordering, "_WORTH_ORDERING", 0)
    monkeypatch.setattr(ordering, "_GROUPS", 6)
    folder = written(tmp_path / "table", memberships(planted.hypergraph), 3)
    theirs = plain.white_noise(2, np.random.default_rng(0))
    rows = np.array([9, 0, 2])
    for operator in (
        ShardedLaplacian.of_incidence(A, client=client),
        ShardedLaplacian.from_parquet(folder, client=client, n_vertices=N),
    ):
        assert operator.bytes_a_product < 0.7 * plain.bytes_a_product
        ours = operator.white_noise(2, np.random.default_rng(0))
        np.testing.assert_allclose(operator.array(operator @ ours), plain.array(plain @ theirs), atol=1e-13)
        np.testing.assert_array_equal(operator.array(ours, rows), plain.array(theirs, rows))


# ---------------------------------------------------------------- the solver


def test_the_posterior_is_the_local_solver_s(sharded, local, planted):
    # Without leading eigenvectors, whose signs follow rounding: probes that they colour are then not the same.
    options = Iterative(n_samples=4, n_probes=4, n_deflated=0)
    ours, theirs = (posterior(operator, planted, gentle, options) for operator in (sharded, local))
    everywhere = np.arange(N)
    np.testing.assert_allclose(ours.mean(everywhere), theirs.mean(everywhere), atol=1e-10)
    np.testing.assert_allclose(ours.variance(everywhere[:2]), theirs.variance(everywhere[:2]), rtol=1e-8)
    # Draws and probes are the same, and solved for in single precision.
    np.testing.assert_allclose(ours.variance(everywhere), theirs.variance(everywhere), rtol=1e-5)
    np.testing.assert_allclose(ours.log_evidence_estimate, theirs.log_evidence_estimate, rtol=1e-5)


def test_covariates_and_leading_eigenvectors_are_sharded_too(sharded, local, planted):
    covariates = np.random.default_rng(4).standard_normal((N, 1))

    def steep(spectrum):
        linear = kernels.Linear(covariates)
        return gentle(spectrum) * linear + linear + kernels.Diffusion(spectrum, 1.0)

    tolerance = 1e-3
    options = Iterative(n_deflated=6, tolerance=tolerance)
    ours, theirs = (posterior(operator, planted, steep, options, 16.0) for operator in (sharded, local))
    ours.workspace.find_subspace()
    theirs.workspace.find_subspace()
    # To the tolerance asked for: the eigenvectors, and so the iterations, follow rounding.
    np.testing.assert_allclose(ours.mean(np.arange(N)), theirs.mean(np.arange(N)), rtol=0, atol=tolerance)
    assert ours.workspace.subspace is not None


def test_the_evidence_and_its_gradient_are_the_local_solver_s(sharded, local, planted):
    rows, targets = observed(planted)
    found = []
    for operator in (sharded, local):
        model = GaussianModel(gentle(spectrum_of(operator)), 1.0, np.zeros(3))
        # Without leading eigenvectors, whose signs follow rounding: with them, other probes are drawn.
        observations = Observations.of(rows, targets)
        solver = solver_for(
            model.kernel, observations.rows, Iterative(n_probes=4, n_deflated=0, learning_tolerance=1e-1)
        )
        found.append(IterativeEvidence(solver.workspace, observations).value_and_gradient(model))
    (ours, our_gradient), (theirs, their_gradient) = found
    assert ours == pytest.approx(theirs, rel=1e-6)
    np.testing.assert_allclose(our_gradient, their_gradient, rtol=1e-3, atol=1e-4 * np.abs(their_gradient).max())


def field(operator, rows, nu):
    """Return a Markov field with noise, and its solver."""
    kernel = kernels.Matern(spectrum_of(operator), nu=nu, lengthscale=0.5, fixed=("nu",))
    return GaussianModel(kernel, 1.0, np.zeros(3)), solver_for(
        kernel, rows, Markov(1e-4, n_samples=4, n_probes=4, learning_tolerance=0.1)
    )


def test_a_markov_field_is_the_local_solver_s(sharded, local, planted):
    rows, targets = observed(planted)
    sites, everywhere, found = Observations.of(rows, targets).sites(1.0), np.arange(N), []
    for operator in (sharded, local):
        # Without a null function to draw by, both take a polynomial for the root at odd nu: the same draws.
        model, solver = field(operator, rows, nu=3)
        own = solver.posterior(model.prior(), sites)
        found.append((own.mean(everywhere), own.variance(everywhere)))
    (mean, variance), (mean_2, variance_2) = found
    np.testing.assert_allclose(mean, mean_2, atol=1e-10)
    np.testing.assert_allclose(variance, variance_2, rtol=1e-4)


def test_the_evidence_of_a_markov_field_is_the_local_solver_s(sharded, local, planted):
    observations, found = Observations.of(*observed(planted)), []
    for operator in (sharded, local):
        model, solver = field(operator, observations.rows, nu=2)
        found.append(solver.objective(observations).value_and_gradient(model))
    (value, gradient), (value_2, gradient_2) = found
    assert value == pytest.approx(value_2, rel=1e-6)
    np.testing.assert_allclose(gradient, gradient_2, rtol=1e-3, atol=1e-4 * np.abs(gradient_2).max())


def test_a_field_centred_and_scaled_with_features_is_the_local_solver_s(sharded, local, planted, monkeypatch):
    for name, number in {"_FEW_VERTICES": 0, "_PROBES": 4, "_LEADING": 0, "_DEGREE": 12, "_RESIDUAL": 1e-11}.items():
        monkeypatch.setattr(local_density, name, number)
    rows, targets = observed(planted)
    observations, everywhere, found = Observations.of(rows, targets), np.arange(N), []
    covariates = np.random.default_rng(4).standard_normal((N, 1))
    for operator in (sharded, local):
        matern = kernels.Matern(spectrum_of(operator), nu=2, lengthscale=0.5, fixed=("nu",))
        kernel = kernels.Standardised(matern, 0.5, level=1.0) + kernels.Linear(covariates)
        model, solver = (
            GaussianModel(kernel, 1.0, np.zeros(3)),
            solver_for(kernel, rows, Markov(tolerance=1e-3, n_samples=2, n_probes=2, learning_tolerance=0.1)),
        )
        posterior = solver.posterior(model.prior(), observations.sites(1.0))
        found.append((posterior.mean(everywhere), *solver.objective(observations).value_and_gradient(model)))
    (mean, value, gradient), (mean_2, value_2, gradient_2) = found
    np.testing.assert_allclose(mean, mean_2, atol=1e-7)
    assert value == pytest.approx(value_2, rel=1e-6)
    np.testing.assert_allclose(gradient, gradient_2, rtol=1e-3, atol=1e-3 * np.abs(gradient_2).max())


@pytest.mark.filterwarnings("ignore:The sites still change")
def test_classes_and_counts_of_a_field_with_features_are_the_local_solver_s(sharded, local, planted, monkeypatch):
    monkeypatch.setattr("hypergauss.inference.folds.num_held_out_folds", lambda _: 1)
    monkeypatch.setattr("hypergauss.inference.variational_by_products._MOST_STEPS", 2)
    rows = observed(planted)[0]
    covariates, rng = np.random.default_rng(4).standard_normal((N, 1)), np.random.default_rng(5)
    counts, classes, found = rng.poisson(2.0, len(rows)).astype(float), rng.integers(0, 2, len(rows)), []
    for operator in (sharded, local):
        kernel = kernels.Matern(spectrum_of(operator), nu=1, lengthscale=0.5, fixed=("nu",)) + kernels.Linear(
            covariates
        )
        solver = solver_for(kernel, rows, Markov(tolerance=1e-3, n_samples=2, n_probes=2, learning_tolerance=0.1))
        by_bound = LatentModel(kernel, Poisson(), np.zeros(1))
        by_folds = LatentModel(kernel, Softmax(2), np.zeros(2))
        found.append(
            (
                *JointVariational(solver, by_bound, counts).value_and_gradient(by_bound),
                *OneHotByProducts(solver, classes, 2).value_and_gradient(by_folds),
            )
        )
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=1e-3 * np.abs(theirs).max())


# ---------------------------------------------------------------- Parquet


def written(folder, frame, parts, **options):
    folder.mkdir()
    for number, rows in enumerate(np.array_split(np.random.default_rng(0).permutation(len(frame)), parts)):
        frame.iloc[rows].to_parquet(folder / f"part-{number}.parquet", index=False, **options)
    return folder


def memberships(H):
    coo = H.incidence.tocoo()
    return pd.DataFrame({"vertex": coo.row, "edge": coo.col, "weight": coo.data})


@pytest.mark.parametrize("size_exponent", [0.0, 1.0])
def test_partitions_give_the_hypergraph_that_was_written(apart, tmp_path, size_exponent, rng):
    H = make_planted_hypergraph(N, N, 6, random_state=1).hypergraph
    frame = memberships(H)
    frame["weight"] = rng.uniform(0.5, 2.0, len(frame))
    # Two halves of one membership add up, and one of weight 0 is none.
    frame = pd.concat([frame.assign(weight=frame.weight / 2)] * 2 + [frame[:1].assign(edge=2, weight=0.0)])
    folder = written(tmp_path / "table", frame, 3, row_group_size=500)
    operator = ShardedLaplacian.from_parquet(
        folder, client=apart, weight="weight", n_vertices=N + 2, size_exponent=size_exponent
    )
    same = Hypergraph.from_table(frame, vertex="vertex", edge="edge", weight="weight", vertices=range(N + 2))
    A = normalised_incidence(same, size_exponent)
    x = rng.standard_normal((N + 2, 2))
    np.testing.assert_allclose(operator.array(operator @ operator.vector(x)), x - A @ (A.T @ x), atol=1e-13)
    assert operator.n_blocks == 2
    assert list(operator.vertices) == list(range(N + 2))


def test_names_are_numbered_in_sorted_order(client, tmp_path):
    edges = {"x": ["ann", "bob", "cem"], "y": ["cem", "dan"], "z": ["dan", "ann"], "w": ["eve"]}
    frame = pd.DataFrame(
        [(vertex, edge) for edge, members in edges.items() for vertex in members], columns=["who", "what"]
    )
    folder = written(tmp_path / "text", pd.concat([frame, frame]), 2)
    operator = ShardedLaplacian.from_parquet(folder, client=client, vertex="who", edge="what")
    H = Hypergraph.from_edges(edges, vertices=sorted({v for members in edges.values() for v in members}))
    assert list(operator.vertices) == list(H.vertices)
    A = normalised_incidence(H).toarray()
    np.testing.assert_allclose(operator.array(operator @ operator.vector(np.eye(5))), np.eye(5) - A @ A.T, atol=1e-14)
    numbers = frame.assign(who=frame.who.map({"ann": -7, "bob": 3, "cem": 10**12, "dan": 10**13, "eve": 10**14}))
    spread = ShardedLaplacian.from_parquet(
        written(tmp_path / "n", numbers, 2), client=client, vertex="who", edge="what"
    )
    assert list(spread.vertices) == [-7, 3, 10**12, 10**13, 10**14]
    np.testing.assert_allclose(spread.array(spread @ spread.vector(np.eye(5))), np.eye(5) - A @ A.T, atol=1e-14)


def test_bad_partitions_are_named_with_the_cure(client, tmp_path):
    good = pd.DataFrame({"vertex": [0, 1, 2, 0], "edge": [0, 0, 1, 1], "weight": [1.0, 1.0, 2.0, 1.0]})

    def read(name, second, **options):
        folder = written(tmp_path / name, good, 1)
        second.to_parquet(folder / "part-1.parquet", index=False)
        ShardedLaplacian.from_parquet(folder, client=client, **{"weight": "weight", **options})

    with pytest.raises(FileError, match=r"part-1.parquet must have a column 'weight'. Did you mean 'weigth'\?"):
        read("column", good.rename(columns={"weight": "weigth"}))
    with pytest.raises(FileError, match=r"part-1.parquet .* of 0 or more in 'weight'. Row 2 has -1.0."):
        read("negative", good.assign(weight=[1.0, -1.0, 0.5, 1.0]))
    with pytest.raises(FileError, match=r"Row 3 has (None|nan)"):
        read("nan", good.assign(weight=[1.0, 1.0, np.nan, 1.0]))
    with pytest.raises(FileError, match=r"Row 1 has no 'vertex'"):
        read("gap", good.assign(vertex=pd.array([None, 1, 2, 0], dtype="Int64")))
    with pytest.raises(
        FileError, match=r"must have whole numbers in 'vertex', as the first partition has. It has .*string"
    ):
        read("kind", good.assign(vertex=["a", "b", "c", "d"]))
    with pytest.raises(FileError, match=r"numbers from 0 to 1 in 'vertex', since `n_vertices` is 2. Got 2"):
        read("many", good, n_vertices=2)
    with pytest.raises(FileError, match=r"must have a column 'node'\. Its columns are vertex, edge, weight"):
        read("first", good, vertex="node")
    with pytest.raises(FileError, match=r"whole numbers or text in 'weight'. It has double"):
        read("numbers", good, vertex="weight")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match=r"empty holds none"):
        ShardedLaplacian.from_parquet(tmp_path / "empty", client=client)
    with pytest.raises(FileNotFoundError, match=r"There is no file or folder .*nowhere"):
        ShardedLaplacian.from_parquet(tmp_path / "nowhere", client=client)
    (tmp_path / "empty" / "a.parquet").write_text("no Parquet")
    with pytest.raises(FileError, match=r"a.parquet cannot be read as Parquet"):
        ShardedLaplacian.from_parquet(tmp_path / "empty", client=client)


# ---------------------------------------------------------------- workers and clusters that go


def test_a_worker_killed_in_the_middle_of_a_solve_is_survived(apart, local, planted, tmp_path):
    folder = written(tmp_path / "table", memberships(planted.hypergraph), 3)
    operator = ShardedLaplacian.from_parquet(folder, client=apart, n_vertices=N)
    victim = sorted(apart.run(os.getpid).items())[0]
    unharmed, calls = operator.clenshaw, []

    def deadly(*arguments):
        image = unharmed(*arguments)
        calls.append(None)
        if len(calls) == 6:  # after vectors were put where they are safe, and gone on with
            os.kill(victim[1], signal.SIGKILL)
        return image

    def steep(spectrum):
        return kernels.Matern(spectrum, nu=3.5, lengthscale=1.0, variance=10.0)

    def mean(products):
        return posterior(products, planted, steep, Iterative(), 0.1).mean(np.arange(N))

    operator.clenshaw = deadly
    found = mean(operator)
    assert len(calls) > 6
    assert victim[0] not in apart.nthreads()
    np.testing.assert_allclose(found, mean(local), atol=1e-10)


def test_a_worker_killed_while_hyperparameters_are_learned_is_survived(apart, local, planted, monkeypatch):
    operator = ShardedLaplacian.of_incidence(normalised_incidence(planted.hypergraph), client=apart)
    victim = sorted(apart.run(os.getpid).items())[0]
    unharmed, calls = ShardedLaplacian.clenshaw, []

    def deadly(*arguments):
        image = unharmed(*arguments)
        calls.append(None)
        if len(calls) == 6:
            os.kill(victim[1], signal.SIGKILL)
        return image

    monkeypatch.setattr(ShardedLaplacian, "clenshaw", deadly)  # of the operator in single precision too
    rows, targets = observed(planted)

    def learned(products):
        kernel = kernels.Matern(spectrum_of(products), nu=1.5, lengthscale=1.0, fixed=("nu", "lengthscale"))
        model = GaussianModel(kernel, np.array(1.0), np.zeros(targets.shape[1]))
        options = Iterative(n_probes=2, n_deflated=0, learning_tolerance=1e-1)
        return learn(model, Observations.of(rows, targets), solver=options, n_starts=1, max_iterations=1)

    found, expected = learned(operator), learned(local)
    assert len(calls) > 6
    assert victim[0] not in apart.nthreads()
    np.testing.assert_allclose(parameters.pack(found.model), parameters.pack(expected.model), atol=1e-5)
    assert found.log_evidence == pytest.approx(expected.log_evidence, rel=1e-5)


def test_shards_stay_where_they_are_and_are_spread_evenly():
    assert cluster.homes([None] * 4, ["a", "b"]) == ["a", "b", "a", "b"]
    assert cluster.homes(["a", "b"], ["b"]) == ["b", "b"]
    assert sorted(cluster.homes(["b", "b"], ["b", "c"])) == ["b", "c"]
    assert cluster.homes(["c", "a", "b"], ["a", "b", "c", "d"]) == ["c", "a", "b"]
    assert cluster.homes(["a"], []) == [None]


def test_a_cluster_that_goes_away_is_said_at_once(planted, monkeypatch):
    A = normalised_incidence(planted.hypergraph)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as workers:
        client = distributed.Client(workers, set_as_default=False)
        operator = ShardedLaplacian.of_incidence(A, client=client)
        X = operator.vector(np.ones((N, 1)))
        # No worker is left, and none comes.
        monkeypatch.setattr(cluster, "_PATIENCE", 3.0)
        monkeypatch.setattr(cluster, "_LOOK", 0.5)
        workers.scale(0)
        while client.nthreads():
            time.sleep(0.1)
        with pytest.raises(ClusterError, match=r"no worker for 3 s.*Nothing on this machine was lost"):
            operator.array(operator @ X)
        client.close()
        with pytest.raises(
            ClusterError, match=r"connection to the cluster is closed.*Nothing on this machine was lost"
        ):
            operator.array(operator @ X)


def test_a_client_is_needed(monkeypatch, planted):
    A = normalised_incidence(planted.hypergraph)
    with pytest.raises(TypeError, match=r"`client` must be a dask.distributed Client. Got str"):
        ShardedLaplacian.of_incidence(A, client="tcp://nowhere")


def test_without_dask_the_extra_is_named(monkeypatch, planted):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install hypergauss\[dask\]"):
        ShardedLaplacian.of_incidence(normalised_incidence(planted.hypergraph))
