"""From ratings and parameters to what is solved: a problem to draw from, or one whose mode is sought."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from hypergauss import _checks
from hypergauss._progress import Clock, displayed
from hypergauss.factorisation import gibbs
from hypergauss.factorisation.grades import Grades
from hypergauss.factorisation.kernel_columns import full_columns, sparse_columns
from hypergauss.factorisation.mode import ModeProblem
from hypergauss.factorisation.moods import Days
from hypergauss.factorisation.predictive import Scale
from hypergauss.factorisation.ratings import Ratings, views
from hypergauss.factorisation.sides import make_sides
from hypergauss.hypergraph import Hypergraph
from hypergauss.inference.selection import select_inducing_vertices
from hypergauss.kernels import Diffusion, Matern, SpectralKernel
from hypergauss.learning.priors import LogNormal
from hypergauss.spectrum import Spectrum

PRECISIONS = {"single": np.float32, "double": np.float64}
#: Bandwidth of the paper's diffusion kernel.
_BETA = 0.01
#: Eigenvectors kept unless told: on MovieLens, more change neither the error nor the density.
_AUTO_RANK = 100
#: Factors at most unless told, and for so many ratings, in the mean, of a user and of an item one more.
_MOST_FACTORS, _RATINGS_A_FACTOR = 10, 9.0
#: The mode is found with systems solved at least this well.
MODE_TOLERANCE = 1e-4


def number_of_factors(asked: int | str, table: Ratings, inference: str) -> int:
    """Return D: as asked, or under "auto" 1 + n / (9 sqrt(N M)), rounded, of those that n ratings are of; at most 10.

    Ratings tell the k-th factor from noise if its share of their variance is more than sqrt(N M) / n of the noise's.
    Shares fall as 1 / k, and a last one that is hardly told makes chains slow (docs/theory/factorisation.md).
    """
    if not isinstance(asked, str):
        return asked
    if inference == "map":
        return _MOST_FACTORS
    rated = float(len(np.unique(table.user))) * len(np.unique(table.item))
    return min(1 + round(len(table.values) / (_RATINGS_A_FACTOR * float(np.sqrt(rated)))), _MOST_FACTORS)


def gibbs_problem(
    table: Ratings,
    relations: tuple[Mapping[str, Hypergraph], Mapping[str, Hypergraph]],
    *,
    n_factors: int,
    likelihood: str,
    noise: str,
    kernel: str,
    biases: bool,
    rank: int | str | None,
    size_exponent: float,
    priors: Mapping[str, LogNormal],
    tolerance: float,
    precision: str,
    cells: Ratings | None = None,
    days: Days | None = None,
) -> tuple[gibbs.Problem, Scale]:
    """Return what chains draw given, and the scale on which they do; parameters are those of `KPMF`.

    The table makes the hypergraph. Cells are what is explained, if that is more than the table.
    """
    dtype = PRECISIONS[precision]
    explained = table if cells is None else cells
    grades = None if likelihood == "gaussian" else _grades(explained, np.dtype(dtype))
    most = _AUTO_RANK if min(table.shape) > _AUTO_RANK else None
    sides = make_sides(
        table,
        kernel=kernel,
        rank=most if isinstance(rank, str) else rank,
        size_exponent=_checks.real("size_exponent", size_exponent),
        priors=priors,
        relations=relations,
        dtype=dtype,
    )
    spread = float(explained.values.std())
    scale = Scale(float(explained.values.mean()), spread if spread > 0 else 1.0)
    values = ((explained.values - scale.center) / scale.spread).astype(dtype)
    problem = gibbs.Problem(
        sides,
        views(explained, dtype),
        values,
        grades,
        n_factors,
        biases,
        tolerance,
        noise == "individual",
        None if days is None else days.place,
    )
    return problem, scale


def fixed_kernels(
    hypergraph: Hypergraph,
    *,
    kernel: str,
    rank: int | str | None,
    size_exponent: float,
    nu: float,
    lengthscale: float,
    variance: float,
) -> tuple[SpectralKernel, SpectralKernel]:
    """Return the paper's kernels of users and of items."""
    count = None if isinstance(rank, str) else rank
    if kernel == "diffusion":
        users, items = (
            Diffusion(Spectrum.of(H.clique_expansion(), count, laplacian="unnormalised"), _BETA, variance=variance)
            for H in (hypergraph, hypergraph.dual())
        )
        return users, items
    spectrum = Spectrum.of(hypergraph, count, size_exponent)
    if kernel == "independent":
        return Diffusion(spectrum, 1e-12, variance=variance), Diffusion(spectrum.dual(), 1e-12, variance=variance)
    return (
        Matern(spectrum, nu, lengthscale, variance=variance),
        Matern(spectrum.dual(), nu, lengthscale, variance=variance),
    )


def mode_problem(
    table: Ratings,
    kernels: tuple[SpectralKernel, SpectralKernel],
    seeds: np.ndarray,
    *,
    n_factors: int,
    biases: bool,
    mean: str,
    inducing: tuple[int, int] | None,
    noise_variance: float,
    tolerance: float,
) -> tuple[ModeProblem, Scale]:
    """Return what the mode maximises, and the scale on which it does; seeds are those of inducing vertices."""
    dtype, count = np.float64, n_factors + int(biases)
    if inducing is None:
        users, items = (full_columns(kernel, count, dtype) for kernel in kernels)
    else:
        hypergraph = table.hypergraph()
        rows = (
            H.vertex_rows(select_inducing_vertices(H, number, random_state=int(seed)))
            for H, number, seed in zip((hypergraph, hypergraph.dual()), inducing, seeds, strict=True)
        )
        users, items = (sparse_columns(kernel, own, count, dtype) for kernel, own in zip(kernels, rows, strict=True))
    center = float(table.values.mean()) if mean == "learned" else 0.0
    precision = 1.0 / _checks.positive("noise_variance", noise_variance)
    problem = ModeProblem(
        (users, items),
        views(table, dtype),
        table.values - center,
        n_factors,
        biases,
        precision,
        min(tolerance, MODE_TOLERANCE),
    )
    return problem, Scale(center, 1.0)


@contextmanager
def progress(show: bool, what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function that says how far it is, and how long it will take, or None."""
    if not show:
        yield None
        return
    with displayed(what) as display:
        clock = Clock()
        yield lambda done, total: display(f"{done:,} of {total:,}{clock.remaining(done, total)}")


def _grades(table: Ratings, dtype: np.dtype) -> Grades:
    levels, label = np.unique(table.values, return_inverse=True)
    if not 2 <= len(levels) <= 100:
        raise ValueError(
            f"`likelihood='ordinal'` needs from 2 to 100 different ratings. Got {len(levels):,}. Use 'gaussian', or "
            "round them."
        )
    return Grades(levels, label, table.user, table.item, dtype)
