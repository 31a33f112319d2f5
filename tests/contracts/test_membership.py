"""No public kernel, likelihood, solver or estimator stays outside the contracts."""

import inspect

import pytest

import hypergauss
from hypergauss import kernels, likelihoods
from hypergauss.solvers import Solver
from hypergauss.solvers.base import Posterior
from hypergauss.solvers.choose import SOLVERS
from tests.contracts.cases import ESTIMATORS, KERNELS, LIKELIHOODS
from tests.contracts.test_solvers import SOLVED


def public(module, base):
    """Return the classes that a module offers and that can be made."""
    offered = (getattr(module, name) for name in module.__all__)
    return {c for c in offered if inspect.isclass(c) and issubclass(c, base) and not inspect.isabstract(c)}


def descendants(base, package=None):
    """Return all classes of the base's own package that derive from it, at any depth."""
    package = base.__module__.rsplit(".", 1)[0] if package is None else package
    children = {c for c in base.__subclasses__() if c.__module__.startswith(package)}
    return children.union(*(descendants(c, package) for c in children))


def test_every_public_kernel_joins_the_contracts(hypergraph):
    found = public(kernels, kernels.Kernel)
    assert len(found) >= 7
    assert found <= {type(make(hypergraph)) for make in KERNELS.values()}


def test_every_public_likelihood_joins_the_contracts():
    found = public(likelihoods, likelihoods.Likelihood)
    assert len(found) >= 7
    assert found <= {type(likelihood) for likelihood in LIKELIHOODS.values()}


def test_every_kernel_class_is_public():
    found = descendants(kernels.Kernel)
    assert {kernel.__name__ for kernel in found if not kernel.__name__.startswith("_")} <= set(kernels.__all__)


def test_every_likelihood_that_can_be_made_is_public():
    found = {c for c in descendants(likelihoods.Likelihood) if not inspect.isabstract(c)}
    assert {likelihood.__name__ for likelihood in found} <= set(likelihoods.__all__)


def test_every_solver_joins_the_contracts_and_can_be_asked_for_by_name():
    found = {solver.name for solver in descendants(Solver) if not inspect.isabstract(solver)}
    assert found == set(SOLVED)
    assert found == {posterior.solver for posterior in descendants(Posterior) if not inspect.isabstract(posterior)}
    assert {"auto", *found - {"sparse"}} == set(SOLVERS)  # "sparse" is asked for by inducing variables


def test_every_public_estimator_joins_the_contracts():
    offered = (getattr(hypergauss, name) for name in hypergauss.__all__)
    found = {c for c in offered if inspect.isclass(c) and hasattr(c, "fit")}
    assert len(found) >= 5
    assert found <= set(ESTIMATORS)


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module in (kernels, likelihoods) for name in module.__all__]
)
def test_every_public_kernel_and_likelihood_is_documented(module, name):
    assert inspect.getdoc(getattr(module, name))
