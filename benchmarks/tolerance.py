"""The iterative solver against the exact answer at 5,000 vertices, as a function of the tolerance asked for.

N = M = 5,000, a fifth measured. Posterior means at nu = 1.5, lengthscale 5 against a Cholesky factor of the 1,000 x
1,000 covariance, for tolerances from 1e-2 to 1e-9; exact variances of some vertices, and those of all from draws, as a
multiple of their Monte Carlo error; the log evidence from 100 probes in standard errors, and as the iterative solver
has it of so few sites, by a factor; and hyperparameters learned by both solvers, by the iterative one as it is, on a
spectrum without eigenvectors, and with 100 probes. The evidence is flat here, so differences are also given in standard
deviations of the hyperparameters themselves, from the curvature of the dense log evidence. Last, the normalisation that
a spectrum without eigenvectors estimates. Target: errors within the tolerance, log evidence within two standard errors,
hyperparameters within 2%.
"""

from __future__ import annotations

import time
from functools import partial

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from benchmarks.common import RESULTS, is_quick, publish, table, verdict
from benchmarks.growth import BLUE, VERMILION
from benchmarks.planted import NOISE, Problem, planted
from hypergauss import Spectrum
from hypergauss.inference import GaussianModel, Iterative, Observations, condition, learn
from hypergauss.kernels import Matern
from hypergauss.learning.search import Learned
from hypergauss.parameters import pack, unpack, values
from hypergauss.solvers import solver_for

PROBES = Iterative(n_probes=100)
STEEP = partial(Matern, nu=16.0, lengthscale=6.4)
NAMES = ("nu", "lengthscale", "variance", "noise_variance")


def draw(tolerances: list[float], errors: list[float], products: list[int]) -> None:
    """Write the figure results/tolerance.png."""
    mpl.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.loglog(tolerances, errors, "o-", color=BLUE, label="posterior mean")
    left.loglog(tolerances, tolerances, ":", color="0.4", label="tolerance")
    left.set(xlabel="tolerance", ylabel="relative error", title="Error against the exact answer")
    left.legend(frameon=False)
    left.invert_xaxis()
    right.semilogx(tolerances, products, "o-", color=VERMILION)
    right.set(xlabel="tolerance", ylabel="products", title="Products with the Laplacian", ylim=(0, None))
    right.invert_xaxis()
    for axes in (left, right):
        axes.grid(alpha=0.25)
    figure.savefig(RESULTS / "tolerance.png", dpi=150)


def main(*, quick: bool) -> None:
    problem = planted(1_000 if quick else 5_000)
    spectrum = Spectrum.of(problem.hypergraph)
    everywhere = np.arange(len(problem.signal))
    kernel = Matern(spectrum)
    observations = Observations.of(problem.rows, problem.y[:, None])
    model = GaussianModel(kernel, NOISE**2, np.zeros(1))
    sites = observations.sites(model.noise_variance)
    exact = condition(model.prior(), sites, "dense")
    mean, variance = exact.mean(everywhere)[:, 0], exact.variance(everywhere)

    tolerances = [10.0**-power for power in range(2, 10)]
    errors, products, rows = [], [], []
    for tolerance in tolerances:
        posterior = condition(model.prior(), sites, Iterative(tolerance=tolerance))
        found = posterior.mean(everywhere)[:, 0]
        errors.append(float(np.linalg.norm(found - mean) / np.linalg.norm(mean)))
        products.append(posterior.num_products)
        few = np.abs(posterior.variance(everywhere[:8]) / variance[:8] - 1).max()
        rows.append([f"{tolerance:.0e}", f"{errors[-1]:.1e}", f"{few:.1e}", f"{products[-1]:,}"])
    by_tolerance = table(
        "Relative error against the dense solver", ("tolerance", "mean", "variance of 8 vertices", "products"), rows
    )
    worst = max(error / tolerance for error, tolerance in zip(errors, tolerances, strict=True))

    options = Iterative(n_samples=64)
    posterior = condition(model.prior(), sites, options)
    relative = posterior.variance(everywhere) / variance - 1
    spread = float(np.sqrt((relative**2).mean()) / np.sqrt(2 / options.n_samples))
    factorised = posterior.log_evidence_estimate
    estimate = condition(model.prior(), sites, PROBES).log_evidence_estimate
    off = abs(estimate.value - exact.log_evidence) / estimate.standard_error
    left = abs(factorised.value - exact.log_evidence) / factorised.standard_error
    notes = [
        f"Errors of the mean are at most {worst:.2f} times the tolerance ({verdict(worst, at_most=1)})",
        f"Variances of all vertices from {options.n_samples} draws: root mean square error {spread:.2f} times what "
        "independent draws would have",
        f"Log evidence from {PROBES.n_probes} probes {estimate.value:.2f} +- {estimate.standard_error:.2f}, exact "
        f"{exact.log_evidence:.2f}: {off:.2f} standard errors ({verdict(off, at_most=2)}); by a factor "
        f"{factorised.value:.4f}, {left:.2f} of its bound of {factorised.standard_error:.1e}",
        *_learned(spectrum, Spectrum.matrix_free(problem.hypergraph), observations),
        _normalised(spectrum, problem),
    ]
    publish("tolerance", [by_tolerance], notes, quick=quick)
    if not quick:
        draw(tolerances, errors, products)


def _learned(spectrum: Spectrum, matrix_free: Spectrum, observations: Observations) -> list[str]:
    """Learn by both solvers, and compare."""
    exact = learn(_model(spectrum), observations, solver="dense", n_starts=1)
    spread = _standard_deviations(exact.model, observations)
    notes = [_shown("dense", exact, 0.0)]
    for name, (known, solver) in {
        "iterative": (spectrum, Iterative()),
        "iterative, without eigenvectors": (matrix_free, Iterative()),
        f"iterative, {PROBES.n_probes} probes": (spectrum, PROBES),
    }.items():
        start = time.process_time()
        found = learn(_model(known), observations, solver=solver, n_starts=1)
        notes.append(_shown(name, found, time.process_time() - start))
        ours, theirs = values(found.model), values(exact.model)
        largest = max(abs(ours[key] / theirs[key] - 1) for key in NAMES)
        apart = float((np.abs(pack(found.model) - pack(exact.model)) / spread).max())
        notes.append(
            f"  at most {largest:.1%} from the dense solver's ({verdict(largest, at_most=0.02)}), "
            f"{apart:.3f} of their standard deviation"
        )
    return notes


def _model(spectrum: Spectrum) -> GaussianModel:
    return GaussianModel(Matern(spectrum), 0.1, np.zeros(1))


def _normalised(spectrum: Spectrum, problem: Problem) -> str:
    """Compare the mean prior variance that matrix-free spectra find with the exact one."""

    def error(n_probes: int | None) -> float:
        found = (Spectrum.matrix_free(problem.hypergraph, n_probes=n_probes, random_state=seed) for seed in range(10))
        scales = np.array([float(STEEP(free).density().scale) for free in found])
        return float(np.sqrt(((scales / float(STEEP(spectrum).density().scale) - 1) ** 2).mean()))

    return (
        f"Normalisation at nu = 16, lengthscale 6.4, root mean square over ten seeds: {error(None):.2%} off; "
        f"{error(8):.1%} with 8 probes and no leading eigenvectors"
    )


def _shown(name: str, learned: Learned, seconds: float) -> str:
    found = ", ".join(f"{key} {values(learned.model)[key]:.4g}" for key in NAMES)
    took = f", {seconds:.0f} s" if seconds else ""
    return f"Learned, {name}: {found} ({learned.n_evaluations} evaluations{took})"


def _standard_deviations(model: GaussianModel, observations: Observations) -> np.ndarray:
    """Return those of each coordinate under the Gaussian that has the log evidence's curvature at the top."""
    objective = solver_for(model.kernel, observations.rows, "dense").objective(observations)
    theta, step = pack(model), 1e-3

    def gradient(at: np.ndarray) -> np.ndarray:
        return objective.value_and_gradient(unpack(model, at))[1]

    slopes = [gradient(theta + step * e) - gradient(theta - step * e) for e in np.eye(len(theta))]
    return np.sqrt(np.diagonal(np.linalg.inv(-np.array(slopes) / (2 * step))))


if __name__ == "__main__":
    main(quick=is_quick(__doc__))
