"""No public kernel or solver stays outside the contracts."""

import inspect

import pytest

from hypergauss import kernels
from hypergauss.inference.conditioning import SOLVERS
from hypergauss.inference.posterior import Posterior
from tests.contracts.cases import KERNELS


def test_every_public_kernel_joins_the_contracts(hypergraph):
    public = {
        value
        for name in kernels.__all__
        if inspect.isclass(value := getattr(kernels, name))
        and issubclass(value, kernels.Kernel)
        and not inspect.isabstract(value)
    }
    assert len(public) >= 7
    assert public <= {type(make(hypergraph)) for make in KERNELS.values()}


def test_every_kernel_class_is_public():
    found = set()
    waiting = [kernels.Kernel]
    while waiting:
        children = [c for c in waiting.pop().__subclasses__() if c.__module__.startswith("hypergauss.")]
        found.update(children)
        waiting += children
    assert {kernel.__name__ for kernel in found if not kernel.__name__.startswith("_")} <= set(kernels.__all__)


def test_every_solver_can_be_asked_for_by_name():
    assert {"auto", *(posterior.solver for posterior in Posterior.__subclasses__())} == set(SOLVERS)


@pytest.mark.parametrize("name", kernels.__all__)
def test_every_public_kernel_is_documented(name):
    assert inspect.getdoc(getattr(kernels, name))
