import numpy as np
import pytest

from hypergauss import LogNormal, Spectrum, parameters
from hypergauss.exceptions import NumericalError
from hypergauss.kernels import Bernstein, Linear, Matern
from hypergauss.learning import maximise
from hypergauss.solvers import GaussianModel, Observations, learn
from hypergauss.solvers.base import EvidenceObjective
from hypergauss.solvers.low_rank import LowRankSolver
from tests import oracles
from tests.hypergraphs import hypergraph_of_sizes

TRUTH = {"lengthscale": 4.0, "variance": 2.0, "noise_variance": 0.05}


@pytest.fixture(scope="module")
def spectrum():
    return Spectrum.of(hypergraph_of_sizes(300, [2, 3, 5, 8, 12] * 8, seed=0))


@pytest.fixture(scope="module")
def drawn(spectrum):
    """Two measurements a vertex, which tell noise from signal, of six signals drawn from one model."""
    rng = np.random.default_rng(0)
    f = Matern(spectrum, 1.5, TRUTH["lengthscale"], variance=TRUTH["variance"]).prior_draws(np.arange(300), 6, rng)
    y = 1.0 + np.vstack([f, f]) + np.sqrt(TRUTH["noise_variance"]) * rng.standard_normal((600, 6))
    return Observations.of(np.tile(np.arange(300), 2), y)


def start(kernel, outputs=6, **options):
    return GaussianModel(kernel, 0.5, np.zeros(outputs), **options)


@pytest.mark.parametrize("solver", ["low-rank", "dense"])
def test_hyperparameters_of_the_model_that_drew_the_data_are_recovered(spectrum, drawn, solver):
    learned = learn(start(Matern(spectrum, 1.5, 1.0, fixed="nu")), drawn, solver=solver, n_starts=1)
    values = parameters.values(learned.model)
    assert learned.converged
    for name, truth in TRUTH.items():
        assert abs(np.log(values[name] / truth)) < 0.5, name


def test_the_log_evidence_learned_is_that_of_the_learned_model(spectrum, rng):
    rows, y = np.arange(200), rng.standard_normal((200, 2)).cumsum(axis=0)
    learned = learn(start(Matern(spectrum), outputs=2), Observations.of(rows, y))
    model = learned.model
    K, noise = model.kernel.gram(), float(model.noise_variance)
    expected = oracles.log_evidence(K, rows, y, noise, model.mean)
    assert learned.log_evidence == pytest.approx(expected, rel=1e-8)
    assert learned.objective == pytest.approx(expected, rel=1e-8)
    assert learned.trace[-1] == pytest.approx(expected, rel=1e-6)
    assert (np.diff(learned.trace) > -1e-6).all()


def test_learning_ends_where_the_slope_is_zero(spectrum, drawn):
    learned = learn(start(Matern(spectrum, fixed="nu")), drawn)

    def evidence(theta):
        model = parameters.unpack(learned.model, theta)
        return learn(model, drawn, max_iterations=0).log_evidence

    slope = oracles.central_differences(evidence, parameters.pack(learned.model), step=1e-4)
    assert np.abs(slope).max() < 1e-3 * drawn.mean.size


def test_learning_is_no_worse_from_more_starts_and_the_same_from_one_seed(spectrum, drawn):
    model = start(Bernstein(spectrum, 4))
    once, again = (learn(model, drawn, n_starts=2, seed=3) for _ in range(2))
    assert np.array_equal(parameters.pack(once.model), parameters.pack(again.model))
    assert once.objective >= learn(model, drawn, n_starts=1).objective - 1e-6


def test_fixed_hyperparameters_stay(spectrum, drawn):
    kernel = Matern(spectrum, 2.5, 3.0, fixed=("nu", "lengthscale"))
    learned = learn(start(kernel, fixed=("noise_variance",)), drawn).model
    assert float(learned.kernel.nu) == 2.5
    assert float(learned.kernel.lengthscale) == 3.0
    assert float(learned.noise_variance) == 0.5
    assert float(learned.kernel.variance) != 1.0


def test_no_iterations_only_evaluate(spectrum, drawn):
    model = start(Matern(spectrum))
    learned = learn(model, drawn, max_iterations=0)
    assert np.allclose(parameters.pack(learned.model), parameters.pack(model))
    assert learned.converged


@pytest.mark.parametrize(("name", "pull"), [("lengthscale", 40.0), ("nu", 0.3), ("noise_variance", 1.0)])
def test_a_narrow_prior_pulls_its_hyperparameter(spectrum, drawn, name, pull):
    learned = learn(start(Matern(spectrum)), drawn, priors={name: LogNormal(pull, 0.003)}, n_starts=1)
    assert parameters.values(learned.model)[name] == pytest.approx(pull, rel=0.05)
    assert learned.objective != pytest.approx(learned.log_evidence, rel=1e-6)


def test_a_prior_adds_its_log_density_to_the_objective(spectrum, drawn):
    model = start(Matern(spectrum, 1.5, 5.0))
    learned = learn(model, drawn, priors={"lengthscale": LogNormal(2.0, 0.7)}, max_iterations=0)
    density = -0.5 * (np.log(5.0 / 2.0) / 0.7) ** 2 - np.log(0.7 * np.sqrt(2 * np.pi))
    assert learned.objective - learned.log_evidence == pytest.approx(density, rel=1e-6)


def test_a_prior_on_a_last_name_meets_every_part(spectrum, drawn, rng):
    kernel = Matern(spectrum) + Linear(rng.standard_normal((300, 1)))
    learned = learn(start(kernel), drawn, priors={"variance": LogNormal(3.0, 0.003)}, n_starts=1)
    values = parameters.values(learned.model)
    assert [values["matern.variance"], values["linear.variance"]] == pytest.approx([3.0, 3.0], rel=0.05)


def test_the_papers_unnormalised_form_can_be_learned(spectrum, drawn):
    learned = learn(start(Matern(spectrum, normalise=False)), drawn)
    assert np.isfinite(learned.log_evidence)
    assert np.isfinite(learned.model.kernel.gram()).all()
    assert learned.log_evidence >= learn(start(Matern(spectrum, fixed="nu")), drawn).log_evidence - 1.0


@pytest.mark.parametrize(
    ("priors", "error", "message"),
    [
        ({"beta": LogNormal(1.0)}, ValueError, "hyperparameters to be learned .*lengthscale.*Got 'beta'"),
        ({"lengthscale": 3.0}, TypeError, "must be a LogNormal. Got float"),
    ],
)
def test_bad_priors_are_named_with_their_rule(spectrum, drawn, priors, error, message):
    with pytest.raises(error, match=message):
        learn(start(Matern(spectrum)), drawn, priors=priors)


def test_random_starts_that_cannot_be_evaluated_are_left_out(spectrum, drawn):
    class Steep(EvidenceObjective):
        first = None

        def value_and_gradient(self, model):
            theta = parameters.pack(model)
            self.first = theta.copy() if self.first is None else self.first
            if np.abs(theta - self.first).max() > 1.0:
                raise NumericalError("too steep")
            return super().value_and_gradient(model)

    model = learn(start(Matern(spectrum, 1.5, 1.0)), drawn, n_starts=1).model
    objective = Steep(LowRankSolver(model.kernel, drawn.rows), drawn)
    objective.value_and_gradient(model)
    learned = maximise(objective, model, n_starts=2)
    assert learned.converged
    assert learned.log_evidence == pytest.approx(objective.value(model), abs=1e-3)


def test_no_point_is_evaluated_twice_in_a_row(spectrum, drawn):
    class Watched(EvidenceObjective):
        def value_and_gradient(self, model):
            seen.append(tuple(parameters.pack(model)))
            return super().value_and_gradient(model)

    seen = []
    model = start(Matern(spectrum, 1.5, 1.0))
    learned = maximise(Watched(LowRankSolver(model.kernel, drawn.rows), drawn), model, n_starts=1, max_iterations=3)
    assert learned.n_evaluations == len(seen)
    assert all(now != before for now, before in zip(seen[1:], seen, strict=False))
