"""Our kernel gives the same evidence and predictions in other packages as here."""

import warnings

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import hypergauss as hg
from hypergauss import parameters
from hypergauss.solvers import GaussianModel, Observations, Prior, Sites, condition, solver_for
from tests.hypergraphs import random_hypergraph

H = random_hypergraph(14, 9, seed=5)
KERNEL = hg.kernels.Matern(hg.Spectrum.of(H), 1.5, 3.0, variance=1.3)
ROWS = np.arange(3, 11)
Y = np.sin(ROWS)
NOISE = 0.2
EVERY = np.arange(14)


@pytest.fixture(scope="module")
def ours():
    """Our posterior with the same kernel, noise and zero mean."""
    return condition(Prior(KERNEL, np.zeros(1)), Sites(ROWS, Y[:, None], np.full(len(ROWS), NOISE)))


def gradient_of_evidence(kernel):
    """Return the gradient of our log evidence in the kernel's coordinates."""
    model = GaussianModel(kernel, NOISE, np.zeros(1), fixed=("noise_variance", "mean"))
    return solver_for(kernel, ROWS).objective(Observations.of(ROWS, Y[:, None])).value_and_gradient(model)[1]


COVARIATE = np.linspace(-1, 1, 14)
#: Of low rank with one remainder, and with one a vertex; and without features.
KERNELS = {
    "matern": KERNEL,
    "sum": KERNEL + hg.kernels.Linear(COVARIATE),
    "diffusion": hg.kernels.Diffusion(hg.Spectrum.of(H), 2.0),
    "product": KERNEL * hg.kernels.Linear(COVARIATE),
    "squared exponential": KERNEL * hg.kernels.SquaredExponential(COVARIATE),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())


# ---------------------------------------------------------------- scikit-learn


def test_scikit_learn_agrees(ours):
    gp = GaussianProcessRegressor(hg.to_sklearn(KERNEL), alpha=NOISE, optimizer=None).fit(ROWS[:, None], Y)
    mean, std = gp.predict(EVERY[:, None], return_std=True)
    np.testing.assert_allclose(mean, ours.mean(EVERY)[:, 0], atol=1e-10)
    np.testing.assert_allclose(std**2, ours.variance(EVERY), atol=1e-10)
    assert gp.log_marginal_likelihood_value_ == pytest.approx(ours.log_evidence, abs=1e-9)


@every_kernel
def test_scikit_learn_gets_exact_gradients(kernel):
    kernel = hg.to_sklearn(kernel)
    _, gradient = kernel(ROWS[:, None], eval_gradient=True)
    for i in range(len(kernel.theta)):
        step = np.zeros(len(kernel.theta))
        step[i] = 1e-6
        up, down = (kernel.clone_with_theta(kernel.theta + s)(ROWS[:, None]) for s in (step, -step))
        np.testing.assert_allclose(gradient[:, :, i], (up - down) / 2e-6, atol=1e-7)


def test_scikit_learn_learns_through_sums_and_products(ours):
    kernel = ConstantKernel(1.0) * hg.to_sklearn(hg.kernels.Diffusion(hg.Spectrum.of(H), 1.0)) + WhiteKernel(0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gp = GaussianProcessRegressor(kernel).fit(ROWS[:, None], Y)
    start = GaussianProcessRegressor(kernel, optimizer=None).fit(ROWS[:, None], Y)
    assert gp.log_marginal_likelihood_value_ > start.log_marginal_likelihood_value_
    learned = gp.kernel_.k1.k2.kernel
    assert float(learned.beta) != 1.0
    both = (hg.to_sklearn(KERNEL) + RBF())(ROWS[:, None])
    assert np.allclose(both, np.asarray(KERNEL.gram(ROWS, ROWS)) + RBF()(ROWS[:, None]))


@pytest.mark.parametrize("X", [[[0.5]], [[99]], [[-1]], [["a"]], [[0, 1]]])
def test_inputs_that_are_no_vertices_are_refused(X):
    with pytest.raises((ValueError, TypeError)):
        hg.to_sklearn(KERNEL)(np.asarray(X))


# ---------------------------------------------------------------- GPJax


@pytest.fixture
def gpx():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gpjax = pytest.importorskip("gpjax", reason="GPJax is not installed: `make test-neighbours`")
        __import__("jax").config.update("jax_enable_x64", True)
        yield gpjax


def exact_model(gpx, kernel):
    prior = gpx.gps.Prior(mean_function=gpx.mean_functions.Zero(), kernel=kernel)
    return prior * gpx.likelihoods.Gaussian(obs_stddev=np.sqrt(NOISE))


@pytest.mark.parametrize("dtype", [int, float])
def test_an_exact_model_of_gpjax_agrees(gpx, ours, dtype):
    data = gpx.Dataset(X=np.asarray(ROWS[:, None], dtype=dtype), y=Y[:, None])
    model = exact_model(gpx, hg.to_gpjax(KERNEL))
    assert float(gpx.objectives.conjugate_mll(model, data)) == pytest.approx(ours.log_evidence, abs=1e-3)
    latent = model.predict(np.asarray(EVERY[:, None], dtype=dtype), data)
    np.testing.assert_allclose(latent.mean, ours.mean(EVERY)[:, 0], atol=1e-4)
    np.testing.assert_allclose(latent.variance, ours.variance(EVERY), atol=1e-4)
    one = model.predict(np.asarray([[5]], dtype=dtype), data)
    np.testing.assert_allclose(one.mean, ours.mean(np.array([5]))[:, 0], atol=1e-4)


def test_sums_and_products_with_kernels_of_gpjax(gpx):
    X = np.asarray(ROWS[:, None], dtype=float)
    mine, rbf = hg.to_gpjax(KERNEL), gpx.kernels.RBF(lengthscale=2.0)
    K, R = np.asarray(mine.gram(X).as_matrix()), np.asarray(rbf.gram(X).as_matrix())
    np.testing.assert_allclose((mine + rbf).gram(X).as_matrix(), K + R, atol=1e-10)
    np.testing.assert_allclose((mine * rbf).gram(X).as_matrix(), K * R, atol=1e-10)
    np.testing.assert_allclose(K, KERNEL.gram(ROWS, ROWS), atol=1e-12)


@every_kernel
def test_gpjax_gets_the_gradient_of_our_evidence(gpx, kernel):
    import jax

    data = gpx.Dataset(X=np.asarray(ROWS[:, None], dtype=float), y=Y[:, None])
    ours = hg.to_gpjax(kernel)
    np.testing.assert_allclose(ours.gram(data.X).as_matrix(), kernel.gram(ROWS, ROWS), atol=1e-12)
    np.testing.assert_allclose(ours.diagonal(data.X).as_matrix().diagonal(), kernel.diagonal(ROWS), atol=1e-12)
    found = jax.jit(jax.grad(lambda k: gpx.objectives.conjugate_mll(exact_model(gpx, k), data)))(ours)
    (found,) = jax.tree.leaves(found)
    # GPJax adds a jitter of its own.
    np.testing.assert_allclose(found, gradient_of_evidence(kernel), rtol=1e-3, atol=1e-4)


def test_gpjax_differentiates_around_a_kernel_with_nothing_to_learn(gpx, ours):
    import jax

    fixed = hg.kernels.Matern(KERNEL.spectrum, 1.5, 3.0, variance=1.3, fixed=("nu", "lengthscale", "variance"))
    data = gpx.Dataset(X=np.asarray(ROWS[:, None], dtype=float), y=Y[:, None])
    objective = jax.value_and_grad(lambda k: gpx.objectives.conjugate_mll(exact_model(gpx, k), data))
    value, gradient = objective(hg.to_gpjax(fixed))
    assert float(value) == pytest.approx(ours.log_evidence, abs=1e-3)
    assert [leaf.shape for leaf in jax.tree.leaves(gradient)] == [(0,)]


def test_gpjax_gets_no_number_for_a_vertex_that_does_not_exist(gpx):
    X = np.array([[2.0], [99.0]])
    for kernel in (KERNEL, KERNELS["squared exponential"]):
        assert np.isnan(hg.to_gpjax(kernel).gram(X).as_matrix()).tolist() == [[False, True], [True, True]]


def test_gpjax_learns_our_hyperparameters_and_nothing_else(gpx):
    import jax

    kernel = hg.to_gpjax(KERNEL)
    assert [leaf.shape for leaf in jax.tree.leaves(kernel)] == [(len(parameters.pack(KERNEL)),)]
    data = gpx.Dataset(X=np.asarray(ROWS[:, None], dtype=float), y=Y[:, None])
    model = exact_model(gpx, kernel)
    learned, _ = gpx.fit_lbfgs(
        model=model, objective=lambda m, d: -gpx.objectives.conjugate_mll(m, d), train_data=data, max_iters=30
    )
    before, after = (float(gpx.objectives.conjugate_mll(m, data)) for m in (model, learned))
    assert after > before
    assert isinstance(learned.prior.kernel.hypergauss(), hg.kernels.Matern)


def test_a_variational_model_of_gpjax_bounds_our_evidence(gpx, ours):
    data = gpx.Dataset(X=np.asarray(ROWS[:, None], dtype=float), y=Y[:, None])
    model = exact_model(gpx, hg.to_gpjax(KERNEL))
    family = gpx.variational_families.CollapsedVariationalGaussian(model=model, inducing_inputs=data.X)
    assert float(gpx.objectives.collapsed_elbo(family, data)) == pytest.approx(ours.log_evidence, abs=1e-2)


# ---------------------------------------------------------------- GPyTorch


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed: `make test-neighbours`")


def gpytorch_model(torch, kernel):
    """Return an exact model of GPyTorch and its evidence as a function without arguments."""
    gpytorch = pytest.importorskip("gpytorch")
    X, y = torch.tensor(ROWS[:, None], dtype=torch.float64), torch.tensor(Y)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    likelihood.noise = NOISE

    class Model(gpytorch.models.ExactGP):
        def __init__(self):
            super().__init__(X, y, likelihood)
            self.mean_module, self.covar_module = gpytorch.means.ZeroMean(), hg.to_gpytorch(kernel)

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    model = Model().double()
    evidence = gpytorch.ExactMarginalLogLikelihood(likelihood, model)
    return model, lambda: evidence(model(X), y) * len(Y)


@pytest.mark.filterwarnings("ignore")
def test_gpytorch_agrees_through_a_low_rank_root(torch, ours):
    model, evidence = gpytorch_model(torch, KERNEL)
    operator = model.covar_module(torch.tensor(ROWS[:, None], dtype=torch.float64)).evaluate_kernel()
    assert "LowRankRoot" in type(operator).__name__
    np.testing.assert_allclose(operator.to_dense().detach(), KERNEL.gram(ROWS, ROWS), atol=1e-10)
    assert float(evidence().detach()) == pytest.approx(ours.log_evidence, abs=1e-6)
    model.eval()
    predicted = model(torch.tensor(EVERY[:, None], dtype=torch.float64))
    np.testing.assert_allclose(predicted.mean.detach(), ours.mean(EVERY)[:, 0], atol=1e-6)
    np.testing.assert_allclose(predicted.variance.detach(), ours.variance(EVERY), atol=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["matern", "sum", "diffusion", "fixed"])
def test_gpytorch_gets_the_gradient_of_our_evidence(torch, name):
    fixed = hg.kernels.Diffusion(hg.Spectrum.of(H), fixed=("beta", "variance"))
    kernel = (KERNELS | {"fixed": fixed})[name]
    model, evidence = gpytorch_model(torch, kernel)
    evidence().backward()
    wanted = gradient_of_evidence(kernel)
    np.testing.assert_allclose(model.covar_module.theta.grad, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_gpytorch_learns_our_hyperparameters(torch):
    model, evidence = gpytorch_model(torch, KERNEL)
    before = float(evidence().detach())
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(20):
        optimiser.zero_grad()
        (-evidence()).backward()
        optimiser.step()
    assert float(evidence().detach()) > before + 0.1
    learned = model.covar_module.hypergauss()
    assert isinstance(learned, hg.kernels.Matern)
    assert float(learned.variance) != float(KERNEL.variance)
    X = torch.tensor(ROWS[:, None], dtype=torch.float64)
    np.testing.assert_allclose(
        model.covar_module(X).to_dense().detach(), learned.gram(ROWS, ROWS), rtol=1e-9, atol=1e-10
    )


def test_gpytorch_refuses_what_has_no_root():
    with pytest.raises(ValueError, match="no low-rank structure"):
        hg.to_gpytorch(hg.kernels.SquaredExponential(np.arange(14.0)))
    with pytest.raises(ValueError, match="rises"):
        hg.to_gpytorch(hg.kernels.Bernstein(hg.Spectrum.of(H), [0.1, 0.5, 2.0]))


def test_only_our_kernels_are_taken():
    for to in (hg.to_sklearn, hg.to_gpytorch, hg.to_gpjax):
        with pytest.raises(TypeError, match="kernel of hypergauss"):
            to("matern")
