"""Blueprint: from an estimator's arguments to its kernel, at any size exponents."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hypergauss import _checks
from hypergauss.estimators.domain import COVARIATES, Domain
from hypergauss.hypergraph import Graph
from hypergauss.kernels import (
    Bernstein,
    Diffusion,
    Kernel,
    Matern,
    Product,
    ShapedWalk,
    SpectralKernel,
    SquaredExponential,
    Standardised,
    Sum,
    Walk,
)
from hypergauss.learning.size_exponent import search_cost
from hypergauss.solvers.choose import Choice, Plan, check_solver, memory_limit, plan_solver
from hypergauss.solvers.costs import exact_cost
from hypergauss.spectrum import EigenSpectrum, Spectrum, cached_spectrum

KERNELS: dict[str, Callable[[Spectrum], SpectralKernel]] = {
    "auto": ShapedWalk,
    "walk": Walk,
    "matern": Matern,
    "diffusion": Diffusion,
    "bernstein": Bernstein,
}
COMBINATIONS = ("sum", "product")

#: The prior variance of the level, relative to the variance that the rest starts from.
LEVEL = 1.0

#: Operations of one log evidence up to which filters are scaled vertex by vertex: a second or so, in place of what
#: a filter takes whose data are reduced once and for all.
SCALED = 3e9

#: Operations up to which searching the size exponent is part of every fit: some twenty seconds on two cores.
AFFORDABLE = 1e12


class Blueprint(NamedTuple):
    """How to build the kernel once every relation's spectrum is known."""

    domain: Domain
    build: Callable[[dict[str, Spectrum], bool], Kernel]
    #: The relations whose size exponent is to be learned, and the exponents to start from or to keep.
    searched: tuple[str, ...]
    exponents: dict[str, float | None]
    rank: int | None
    #: None with a given kernel, which has made its choice.
    plan: Plan | None = None
    #: Whether filters of eigenvectors have a shape.
    has_shape: bool = False

    @classmethod
    def of(
        cls,
        H: Any,
        *,
        kernel: str | Kernel | None,
        covariates: Any,
        combine: str,
        size_exponent: float | str,
        rank: int | None,
        num_sites: int,
        solver: Choice = "auto",
        needs_eigenvectors: bool = False,
        standardises: bool = True,
    ) -> Blueprint:
        """Check the arguments of an estimator, choose how it is to be solved, and settle what is to be learned."""
        domain = Domain.of(H)
        _checks.one_of("combine", combine, COMBINATIONS)
        side = _covariate_kernel(domain, covariates, fixed=("variance",) if combine == "product" else ())
        if isinstance(kernel, Kernel):
            given = kernel if side is None else _combine({"hypergraph": kernel}, side, combine)
            return cls._with_kernel(domain, given, size_exponent, rank)
        name = None if kernel is None else _checks.one_of("kernel", kernel, tuple(KERNELS))
        standardises = standardises and _evaluation_cost(domain, rank, num_sites) <= SCALED

        def build(spectra: dict[str, Spectrum], stiff: bool) -> Kernel:
            named = {key: _named(name, each, standardises, stiff) for key, each in spectra.items()}
            return _combine(named, side, combine)

        plan = plan_solver(
            domain.relations,
            num_sites,
            solver=solver,
            rank=rank,
            needs_eigenvectors=needs_eigenvectors
            or size_exponent == "learn"
            or _is_beyond_products(side, combine, len(domain.relations)),
        )
        hypergraphs = tuple(name for name, relation in domain.relations.items() if not isinstance(relation, Graph))
        searched: tuple[str, ...] = ()
        value = 0.0
        if isinstance(size_exponent, str):
            _checks.one_of("size_exponent", size_exponent, ("auto", "learn"))
            dense = side is not None and side.rank is None
            if plan.is_iterative and size_exponent == "learn":
                raise ValueError(
                    "`size_exponent='learn'` compares log evidences, which the iterative solver only estimates. Give a "
                    "number, or learn it on a part of the hypergraph."
                )
            affordable = _search_cost(domain, hypergraphs, rank, num_sites, dense) <= AFFORDABLE
            searched = hypergraphs if size_exponent == "learn" or (affordable and not plan.is_iterative) else ()
        else:
            value = _checks.real("size_exponent", size_exponent)
        exponents = {name: value if name in hypergraphs else None for name in domain.relations}
        has_shape = name in (None, "auto") and standardises
        return cls(domain, build, searched, exponents, rank, plan, has_shape)

    @classmethod
    def _with_kernel(cls, domain: Domain, kernel: Kernel, size_exponent: float | str, rank: int | None) -> Blueprint:
        if kernel.num_vertices != len(domain.vertices):
            raise ValueError(
                f"`kernel` must be defined on the vertices of `H` ({len(domain.vertices):,}). Got a kernel on "
                f"{kernel.num_vertices:,}. Make its spectrum with `Spectrum.of(H)`."
            )
        if size_exponent != "auto" or rank is not None:
            raise ValueError(
                "`size_exponent` and `rank` belong to the spectrum, which a given `kernel` brings along. "
                "Set them in `Spectrum.of`, or name the kernel ('matern', 'diffusion', 'bernstein')."
            )
        return cls(domain, lambda _, __: kernel, (), {}, None)

    def kernel_at(self, exponents: Mapping[str, float | None], *, stiff: bool = False) -> Kernel:
        """Return the kernel whose spectra have the given size exponents; a stiff one keeps the shape of its filters."""
        relations = self.domain.relations
        if self.plan is not None and self.plan.is_iterative:
            return self.build({name: Spectrum.matrix_free(relations[name], a) for name, a in exponents.items()}, stiff)
        spectra: dict[str, Spectrum] = {k: cached_spectrum(relations[k], self.rank, a) for k, a in exponents.items()}
        return self.build(spectra, stiff)

    def is_iterative(self, solver: Choice) -> bool:
        """Return whether systems are solved by products; a given kernel has made that choice unless it is made here."""
        if self.plan is not None:
            return self.plan.is_iterative
        return check_solver(solver) == "iterative" or not self.kernel_at(self.exponents).has_eigenvectors

    @property
    def is_shaped(self) -> bool:
        """Whether filters have a shape that is set free once all else is learned."""
        return self.has_shape and self.plan is not None and not self.plan.is_iterative

    def exactly(self, num_sites: int) -> Blueprint | None:
        """Return the blueprint of the same model by an exact solver, or None where that does not fit in memory.

        A given kernel has eigenvectors or has not.
        """
        relations = self.domain.relations
        plan = self.plan
        if plan is None:
            has_eigenvectors = self.kernel_at(self.exponents).has_eigenvectors
            chosen = exact_cost(relations, num_sites, self.rank, "auto") if has_eigenvectors else None
            other = None
        else:
            chosen, other = plan.other if plan.is_iterative else None, plan.chosen
        if chosen is None or chosen.bytes > memory_limit():
            return None
        return self._replace(plan=Plan(False, chosen, other))


def _named(name: str | None, spectrum: Spectrum, standardises: bool, stiff: bool) -> Kernel:
    """Return the kernel of a name, centred and scaled where there are eigenvectors to do it with."""
    if not (standardises and isinstance(spectrum, EigenSpectrum)):
        return KERNELS["matern" if name in (None, "auto") else name](spectrum)
    if name in (None, "auto"):
        part: SpectralKernel = ShapedWalk(spectrum, fixed=("shape",) if stiff else ())
    else:
        part = KERNELS[name](spectrum)
    return Standardised(part, evenness=0.5, level=LEVEL)


def _combine(kernels: dict[str, Kernel], side: Kernel | None, combine: str) -> Kernel:
    """Add the relations' kernels, and add or multiply the covariates' kernel; shares of variance start equal."""
    terms = dict(kernels)
    if side is not None and combine == "sum":
        terms[COVARIATES] = side
    whole = next(iter(terms.values())) if len(terms) == 1 else Sum.of_equal_shares(terms)
    if side is not None and combine == "product":
        return Product(whole, side, labels=("hypergraph", COVARIATES))
    return whole


def _covariate_kernel(domain: Domain, covariates: Any, fixed: tuple[str, ...]) -> Kernel | None:
    if covariates is None:
        return None
    if isinstance(covariates, Kernel):
        if covariates.num_vertices != len(domain.vertices):
            raise ValueError(
                f"The kernel given as `covariates` must be on the {len(domain.vertices):,} vertices of `H`. "
                f"Got one on {covariates.num_vertices:,}."
            )
        return covariates
    table = domain.table(covariates)
    # Rows of p standardised columns are some sqrt(2 p) apart. One lengthscale for all columns: with one a column, a
    # few hundred observations are fitted too closely (`SquaredExponential(X, lengthscale=[...])` asks for that).
    return SquaredExponential(table, math.sqrt(table.shape[1]), fixed=fixed)


def _is_beyond_products(side: Kernel | None, combine: str, num_relations: int) -> bool:
    """Return whether covariates join in a way that products with Laplacians cannot follow, and eigenvectors can."""
    return side is not None and (side.rank is None or (combine == "product" and num_relations > 1))


def _evaluation_cost(domain: Domain, rank: int | None, num_sites: int) -> float:
    """Return the operations of one log evidence with features that move, n min(n, r)^2; ranks of relations add up."""
    sizes = [
        min(each.num_vertices, rank or each.num_vertices, getattr(each, "num_edges", each.num_vertices))
        for each in domain.relations.values()
    ]
    return float(num_sites) * min(sum(sizes), num_sites) ** 2


def _search_cost(domain: Domain, hypergraphs: tuple[str, ...], rank: int | None, num_sites: int, dense: bool) -> float:
    """Return the operations of searching every hypergraph's exponent; ranks of several relations add up."""
    sizes = [(domain.relations[name].num_vertices, domain.relations[name].num_edges) for name in hypergraphs]
    ranks = [min(*size, rank or size[0]) for size in sizes]
    system = num_sites if dense else min(sum(ranks), num_sites)
    return sum(search_cost(max(size), own, num_sites, system) for size, own in zip(sizes, ranks, strict=True))
