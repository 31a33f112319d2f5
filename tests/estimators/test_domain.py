import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from hypergauss import Graph, Hypergraph, HypergraphGPRegressor, Spectrum
from hypergauss.estimators.domain import Domain
from hypergauss.kernels import Matern

pytestmark = pytest.mark.usefixtures("few_points")

BILLS = Hypergraph.from_edges({"b": ["ana", "luis"]})
TRIPS = Hypergraph.from_edges({"t": ["rosa", "ana"], "u": ["luis"]})


def test_one_hypergraph_is_its_own_domain():
    domain = Domain.of(BILLS)
    assert list(domain.vertices) == ["ana", "luis"]
    assert list(domain.relations.values()) == [BILLS]


def test_several_relations_are_aligned_on_the_union_of_their_vertices():
    domain = Domain.of({"bills": BILLS, "trips": TRIPS})
    assert list(domain.vertices) == ["ana", "luis", "rosa"]
    assert domain.relations["bills"].incidence.toarray().tolist() == [[1], [1], [0]]
    assert domain.relations["trips"].incidence.toarray().tolist() == [[1, 0], [0, 1], [1, 0]]


def test_a_dataframe_of_covariates_is_matched_by_its_index():
    frame = pd.DataFrame({"age": [30.0, 50.0, 99.0]}, index=["luis", "ana", "someone else"])
    assert np.allclose(Domain.of(BILLS).table(frame), [[1.0], [-1.0]])
    assert np.allclose(Domain.of(BILLS).table(frame["age"]), [[1.0], [-1.0]])


def test_covariates_are_standardised():
    table = Domain.of(TRIPS).table([[1.0, 7.0], [2.0, 8.0], [6.0, 7.0]])
    assert np.allclose(table.mean(axis=0), 0.0)
    assert np.allclose(table.std(axis=0), 1.0)
    assert np.allclose(Domain.of(TRIPS).table(sp.csr_array([[1.0, 7.0], [2.0, 8.0], [6.0, 7.0]])), table)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Domain.of({}), ValueError, "at least one relation. Got an empty dict"),
        (lambda: Domain.of([["a", "b"]]), TypeError, "Hypergraph, a Graph, or a dict.*Got list.*from_edges"),
        (lambda: Domain.of({"x": 3}), TypeError, "Got int for 'x'"),
        (lambda: Domain.of(Hypergraph.from_edges([])), ValueError, "at least one vertex"),
        (lambda: Domain.of({"a": BILLS, "g": Graph([[0]])}), ValueError, "graph 'g' must have the same vertices"),
        (lambda: Domain.of(BILLS).rows(["eva"]), ValueError, r"the hypergraph \(2 vertices\). Got 'eva'"),
        (lambda: Domain.of(BILLS).table(np.eye(3)), ValueError, r"each of the 2 vertices. Got shape \(3, 3\)"),
        (lambda: Domain.of(BILLS).table([["a"], ["b"]]), TypeError, "`covariates` must hold numbers"),
        (
            lambda: Domain.of(BILLS).table(pd.DataFrame({"age": [1.0, 2.0], "seats": [7, 7]}, index=["ana", "luis"])),
            ValueError,
            "must tell some vertices apart. Column 'seats' is 7 for all of them. Leave it out",
        ),
        (
            lambda: Domain.of(BILLS).table([[1.0], [np.nan]]),
            ValueError,
            r"must not contain NaN.*Got nan at position \(1, 0\)",
        ),
        (
            lambda: Domain.of(BILLS).table(pd.DataFrame({"age": [1.0]}, index=["ana"])),
            ValueError,
            "a row for every vertex. 'luis'.*none",
        ),
        (
            lambda: Domain.of(BILLS).table(pd.DataFrame({"age": [1.0, 2.0, 3.0]}, index=["ana", "luis", "ana"])),
            ValueError,
            "different names. 'ana'",
        ),
    ],
)
def test_bad_input_is_named_with_its_rule(make, error, message):
    with pytest.raises(error, match=message):
        make()


EDGES = [["a", "b", "c"], ["c", "d"], ["d", "e", "a"]]
NAMED = Hypergraph.from_edges(EDGES)


@pytest.mark.parametrize("compose", [lambda k: k, lambda k: 2.0 * k + k, lambda k: k * k])
@pytest.mark.parametrize(
    ("names", "message"),
    [("edcba", "vertices of `H`, in their order. Got one with 'e' in the place of 'a'"), ("abcdz", "'z' in the place")],
)
def test_a_kernel_on_other_vertices_or_in_another_order_is_refused(compose, names, message):
    other = Hypergraph.from_edges([list(names)])
    model = HypergraphGPRegressor(NAMED, compose(Matern(Spectrum.of(other))))
    with pytest.raises(ValueError, match=message):
        model.fit(["a", "b"], [1.0, 2.0])


def test_a_kernel_on_the_same_vertices_or_on_numbered_ones_is_taken():
    fewer = Hypergraph.from_edges(EDGES[:2], vertices=list("abcde"))
    for other in (NAMED, fewer, Hypergraph.from_incidence(np.eye(5)[:, :3] + np.eye(5, 3, -1))):
        model = HypergraphGPRegressor(NAMED, Matern(Spectrum.of(other)), learn=False)
        assert np.isfinite(model.fit(["a", "b"], [1.0, 2.0]).predict(["e"])).all()
