"""The package offers what it lists, and imports it only when asked."""

import subprocess
import sys

import pytest

import hypergauss


@pytest.mark.parametrize("name", hypergauss.__all__)
def test_every_public_name_is_there(name):
    offered = getattr(hypergauss, name)
    assert name in dir(hypergauss)
    assert getattr(offered, "__name__", name).rsplit(".", 1)[-1] == name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Hypergaph'"):
        _ = hypergauss.Hypergaph


FIT = """
import sys
import hypergauss as hg
H = hg.Hypergraph.from_edges([["a", "b", "c"], ["c", "d"], ["d", "e", "f"]])
hg.HypergraphGPRegressor(H, learn=False).fit(["a", "f"], [1.0, 2.0]).predict(["c"])
hg.HypergraphGPRegressor(H, solver="iterative", learn=False).fit(["a", "f"], [1.0, 2.0]).predict(["c"])
hg.HypergraphGPClassifier(H, learn=False).fit(["a", "f"], ["left", "right"]).predict(["c"])
print("jax" in sys.modules)
"""


def test_no_estimator_touches_jax_whose_precision_is_the_processs_own():
    run = subprocess.run([sys.executable, "-c", FIT], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
