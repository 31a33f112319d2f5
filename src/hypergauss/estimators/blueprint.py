"""Blueprint: from an estimator's arguments to its kernel, at any size exponents."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from hypergauss import _checks
from hypergauss._checks import Matrix
from hypergauss.estimators.domain import COVARIATES, Domain
from hypergauss.estimators.features import are_many, feature_kernels
from hypergauss.estimators.grown_relations import Relations
from hypergauss.estimators.kernel_vertices import check_vertices
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
from hypergauss.solvers.choose import Choice, Plan, check_solver, is_by_products, memory_limit, plan_solver
from hypergauss.solvers.markov.field import SMOOTHNESSES
from hypergauss.solvers.work import Work
from hypergauss.spectrum import EigenSpectrum, Spectrum, cached_spectrum
from hypergauss.spectrum.given import LaplacianMatrix

KERNELS: dict[str, Callable[[Spectrum], SpectralKernel]] = {
    "auto": ShapedWalk,
    "walk": Walk,
    "matern": Matern,
    "diffusion": Diffusion,
    "bernstein": Bernstein,
}
COMBINATIONS = ("sum", "product")

#: The prior variance of the level: as that of the values, or of the noise of labels; and what that of classes has
#: besides, relative to their latent functions', so that all shares of two classes are equally probable.
LEVEL, RELATIVE_LEVEL = 1.0, 1.0
#: What the number of memberships says by itself, relative to the same, where learning starts.
ACTIVITY = 0.01


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
    #: As `Spectrum.of` takes it.
    laplacian: str | LaplacianMatrix | None = None
    #: The kernels of covariates.
    sides: Mapping[str, Kernel] = MappingProxyType({})

    @classmethod
    def of(
        cls,
        H: Relations,
        *,
        kernel: str | Kernel | None,
        covariates: Matrix | Kernel | None,
        combine: str,
        size_exponent: float | str,
        rank: int | None,
        work: Work,
        solver: Choice = "auto",
        needs_eigenvectors: bool = False,
        standardises: bool = True,
        relative_level: float = 0.0,
        laplacian: str | LaplacianMatrix | None = None,
    ) -> Blueprint:
        """Check the arguments of an estimator, choose how it is to be solved, and settle what is to be learned."""
        domain = Domain.of(H)
        _checks.one_of("combine", combine, COMBINATIONS)
        fixed = ("variance",) if combine == "product" else ()
        if isinstance(kernel, Kernel):
            sides = _covariate_kernels(domain, covariates, fixed, by_angles=work.kind == "one-hot")
            given = _combine({"hypergraph": kernel}, sides, combine)
            return cls._with_kernel(domain, given, size_exponent, rank)
        name = None if kernel is None else _checks.one_of("kernel", kernel, tuple(KERNELS))

        def build(spectra: dict[str, Spectrum], stiff: bool) -> Kernel:
            named = {key: _named(name, each, standardises, stiff, relative_level) for key, each in spectra.items()}
            return _combine(named, sides, combine)

        if isinstance(size_exponent, str):
            _checks.one_of("size_exponent", size_exponent, ("auto", "learn"))
        hypergraphs = tuple(name for name, relation in domain.relations.items() if not isinstance(relation, Graph))
        if not (laplacian is None or isinstance(laplacian, str)):
            hypergraphs = ()  # a matrix has no hyperedges to weigh
            _check_single(domain, size_exponent)
        has_many = are_many(covariates)

        def planned(sides: Mapping[str, Kernel]) -> Plan:
            return plan_solver(
                domain.relations,
                work,
                solver=solver,
                rank=rank,
                needs_eigenvectors=needs_eigenvectors
                or size_exponent == "learn"
                or _are_beyond_products(sides, combine, len(domain.relations)),
                is_dense=any(side.rank is None for side in sides.values()),
                num_features=sum(side.rank or 0 for side in sides.values()),
                is_field=_is_field(domain, name, sides, solver, laplacian, combine, has_many=has_many),
                searched=None if size_exponent == "auto" else hypergraphs if size_exponent == "learn" else (),
                is_full=laplacian not in (None, "zhou") if isinstance(laplacian, str | None) else True,
            )

        # Many features are fewer beside a field. Whether there is one is settled by what the relations take alone.
        by_angles = work.kind == "one-hot"
        beside_field = has_many and combine == "sum" and not by_angles and planned({}).uses_field
        sides = _covariate_kernels(domain, covariates, fixed, by_angles=by_angles, beside_field=beside_field)
        plan = planned(sides)
        searched: tuple[str, ...] = ()
        value = 0.0
        if isinstance(size_exponent, str):
            if plan.is_iterative and size_exponent == "learn":
                raise ValueError(
                    "`size_exponent='learn'` compares log evidences, which the iterative solver only estimates. Give a "
                    "number, or learn it on a part of the hypergraph."
                )
            searched = hypergraphs if plan.exact.searches and not plan.is_iterative else ()
        else:
            value = _checks.real("size_exponent", size_exponent)
        exponents = {name: value if name in hypergraphs else None for name in domain.relations}
        has_shape = name in (None, "auto") and standardises
        return cls(domain, build, searched, exponents, rank, plan, has_shape, laplacian, sides)

    @classmethod
    def _with_kernel(cls, domain: Domain, kernel: Kernel, size_exponent: float | str, rank: int | None) -> Blueprint:
        if kernel.num_vertices != len(domain.vertices):
            raise ValueError(
                f"`kernel` must be defined on the vertices of `H` ({len(domain.vertices):,}). Got a kernel on "
                f"{kernel.num_vertices:,}. Make its spectrum with `Spectrum.of(H)`."
            )
        check_vertices(kernel, domain.vertices)
        if size_exponent != "auto" or rank is not None:
            raise ValueError(
                "`size_exponent` and `rank` belong to the spectrum, which a given `kernel` brings along. "
                "Set them in `Spectrum.of`, or name the kernel ('matern', 'diffusion', 'bernstein')."
            )
        return cls(domain, lambda _, __: kernel, (), {}, None)

    def kernels_at(self, exponents: Mapping[str, float | None]) -> tuple[Kernel, Kernel]:
        """Return a stiff kernel, which keeps the shape of its filters, and a free one, of the same spectra."""
        spectra = self._spectra_at(exponents)
        return self.build(spectra, True), self.build(spectra, False)

    def kernel_at(self, exponents: Mapping[str, float | None], *, stiff: bool = False) -> Kernel:
        """Return the kernel whose spectra have the given size exponents."""
        return self.build(self._spectra_at(exponents), stiff)

    def _spectra_at(self, exponents: Mapping[str, float | None]) -> dict[str, Spectrum]:
        relations = self.domain.relations
        if self.plan is not None and self.plan.is_iterative:
            return {
                name: Spectrum.matrix_free(relations[name], a, laplacian=self.laplacian)
                for name, a in exponents.items()
            }
        return {name: cached_spectrum(relations[name], self.rank, a, self.laplacian) for name, a in exponents.items()}

    @property
    def is_markov(self) -> bool:
        """Whether the kernel is a Markov field, whose smoothness is chosen."""
        return self.plan is not None and self.plan.uses_field

    def fields_at(self, exponents: Mapping[str, float | None]) -> list[Kernel]:
        """Return the kernel of each smoothness that may be chosen, the first to be tried first."""
        spectra = {
            name: Spectrum.matrix_free(relation, exponents[name]) for name, relation in self.domain.relations.items()
        }
        of_relations = (
            {name: Matern(spectrum, nu, fixed=("nu",)) for name, spectrum in spectra.items()} for nu in SMOOTHNESSES
        )
        return [_added({**fields, **self.sides}) for fields in of_relations]

    def learning_size(self, num_sites: int) -> int:
        """Return how many of the observations to learn from: all of them with a given kernel, as nothing is planned."""
        return num_sites if self.plan is None else min(self.plan.learning_size, num_sites)

    @property
    def num_points(self) -> int:
        """How many values of the hyperparameters to average over."""
        return 0 if self.plan is None else self.plan.exact.num_points

    def is_iterative(self, solver: Choice) -> bool:
        """Return whether systems are solved by products; a given kernel has made that choice unless it is made here."""
        if self.plan is not None:
            return self.plan.is_iterative
        return is_by_products(solver) or not self.kernel_at(self.exponents).has_eigenvectors

    @property
    def is_shaped(self) -> bool:
        """Whether filters have a shape that is set free once all else is learned."""
        return self.has_shape and self.plan is not None and not self.plan.is_iterative

    def exactly(self, work: Work) -> Blueprint | None:
        """Return the blueprint of the same model by an exact solver, or None where that does not fit in memory.

        A given kernel has eigenvectors or has not.
        """
        plan = self.plan
        if plan is None:
            if not self.kernel_at(self.exponents).has_eigenvectors:
                return None
            plan = plan_solver(self.domain.relations, work._replace(from_all=True), solver="iterative", rank=self.rank)
        elif not plan.is_iterative:
            return None
        return None if plan.exact.cost.bytes > memory_limit() else self._replace(plan=plan._replace(is_iterative=False))


def _check_single(domain: Domain, size_exponent: float | str) -> None:
    """Refuse a matrix as the Laplacian of several relations, or with hyperedges to weigh."""
    if len(domain.relations) > 1:
        raise ValueError(
            f"`laplacian` must be a name where `H` holds several relations. Got a matrix for {list(domain.relations)}. "
            "Add kernels of `Spectrum.of(H, laplacian=...)` and pass their sum as `kernel`."
        )
    if size_exponent != "auto":
        raise ValueError(
            "`size_exponent` weighs hyperedges, and a matrix given as `laplacian` has its weights. Got "
            f"{size_exponent!r}. Leave it out, or name the Laplacian."
        )


def _is_field(
    domain: Domain,
    name: str | None,
    sides: Mapping[str, Kernel],
    solver: Choice,
    laplacian: str | LaplacianMatrix | None,
    combine: str,
    *,
    has_many: bool,
) -> bool:
    """Return whether products may be those of a Markov field: of one relation, by a kernel that leaves it open.

    A kernel that is named is taken at its word, unless the Markov solver is, which then has to be able to. It adds
    several relations and covariates with features too, where it is asked to or features are many: by covariances,
    learning with these does not end.
    """
    asked = check_solver(solver) == "markov"
    is_zhou = laplacian is None or (isinstance(laplacian, str) and laplacian == "zhou")
    is_single = len(domain.relations) == 1 and not sides
    adds = combine == "sum" and all(side.rank is not None and side.has_uniform_remainder for side in sides.values())
    fits = (is_single or ((asked or has_many) and adds)) and name in (None, "auto", "matern") and is_zhou
    if asked and not fits:
        has_covariates = bool(sides) or has_many
        raise ValueError(
            "`solver='markov'` is for Zhou's Laplacian of hypergraphs and covariates with few features, added, with "
            f"`kernel` 'auto' or 'matern'. Got {len(domain.relations)} relation(s), {'' if has_covariates else 'no '}"
            f"covariates, combine={combine!r}, kernel {name!r} and {'its' if is_zhou else 'another'} Laplacian. Use "
            "`covariates=Linear(X)` for a linear effect, or `solver='iterative'`."
        )
    return fits and (asked or name != "matern")


def _named(name: str | None, spectrum: Spectrum, standardises: bool, stiff: bool, relative_level: float) -> Kernel:
    """Return the kernel of a name, centred and scaled where there are eigenvectors to do it with."""
    if not (standardises and isinstance(spectrum, EigenSpectrum)):
        return KERNELS["matern" if name in (None, "auto") else name](spectrum)
    if name in (None, "auto"):
        part: SpectralKernel = ShapedWalk(spectrum, fixed=("shape",) if stiff else ())
    else:
        part = KERNELS[name](spectrum)
    # Where all vertices have as many memberships, their number says nothing.
    activity = ACTIVITY if part.eigenspectrum.relative_activities.any() else 0.0
    return Standardised(part, level=LEVEL, relative_level=relative_level, activity=activity, fixed=("evenness",))


def _combine(kernels: dict[str, Kernel], sides: dict[str, Kernel], combine: str) -> Kernel:
    """Add the relations' kernels, and add or multiply those of covariates; shares of variance start equal."""
    if not sides or combine == "sum":
        return _added({**kernels, **sides})
    return Product(_added(kernels), _added(sides), labels=("hypergraph", COVARIATES))


def _added(terms: dict[str, Kernel]) -> Kernel:
    return next(iter(terms.values())) if len(terms) == 1 else Sum.of_equal_shares(terms)


def _covariate_kernels(
    domain: Domain,
    covariates: Matrix | Kernel | None,
    fixed: tuple[str, ...],
    *,
    by_angles: bool,
    beside_field: bool = False,
) -> dict[str, Kernel]:
    """Return what covariates add to a model: nothing, a kernel that is given, that of a few columns, those of many."""
    if covariates is None:
        return {}
    if isinstance(covariates, Kernel):
        if covariates.num_vertices != len(domain.vertices):
            raise ValueError(
                f"The kernel given as `covariates` must be on the {len(domain.vertices):,} vertices of `H`. "
                f"Got one on {covariates.num_vertices:,}."
            )
        return {COVARIATES: covariates}
    if are_many(covariates):
        return feature_kernels(domain, covariates, fixed, by_angles=by_angles, beside_field=beside_field)
    table = domain.table(covariates)
    # Rows of p standardised columns are some sqrt(2 p) apart. One lengthscale for all columns: with one a column, a
    # few hundred observations are fitted too closely (`SquaredExponential(X, lengthscale=[...])` asks for that).
    return {COVARIATES: SquaredExponential(table, math.sqrt(table.shape[1]), fixed=fixed)}


def _are_beyond_products(sides: Mapping[str, Kernel], combine: str, num_relations: int) -> bool:
    """Return whether covariates join in a way that products with Laplacians cannot follow, and eigenvectors can."""
    return any(side.rank is None for side in sides.values()) or (
        bool(sides) and combine == "product" and num_relations > 1
    )
