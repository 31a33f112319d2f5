import numpy as np
import pytest

from hypergauss import Spectrum
from hypergauss.kernels import Diffusion, Linear, Matern, SquaredExponential, Sum, relations
from tests.hypergraphs import random_hypergraph


@pytest.fixture
def spectrum(hypergraph):
    return Spectrum.of(hypergraph)


@pytest.fixture
def covariates(rng):
    return rng.standard_normal((12, 2))


def test_sums_products_and_scaling_act_on_every_entry(spectrum, covariates):
    k1, k2, k3 = Matern(spectrum), Diffusion(spectrum, 3.0), Linear(covariates)
    G1, G2, G3 = (np.asarray(k.gram()) for k in (k1, k2, k3))
    assert np.allclose((k1 + k2 + k3).gram(), G1 + G2 + G3)
    assert np.allclose((k1 * k3).gram(), G1 * G3)
    assert np.allclose((2.5 * (k1 + k2 * k3)).gram(), 2.5 * (G1 + G2 * G3))
    assert np.allclose((k2 * k3 * 0.5).gram([1, 2], [3]), 0.5 * (G2 * G3)[1:3, 3:4])


def test_filters_of_one_spectrum_share_their_features(spectrum, covariates):
    assert (Matern(spectrum) + Diffusion(spectrum)).rank == spectrum.rank
    assert ((Matern(spectrum) + Diffusion(spectrum)) * 2.0 + Linear(covariates)).rank == spectrum.rank + 2
    assert (
        Matern(spectrum) + Linear(covariates) + Diffusion(spectrum) + Linear(covariates[:, :1])
    ).rank == spectrum.rank + 3
    assert (Matern(spectrum) + Linear(covariates)).rank == spectrum.rank + 2
    assert (Matern(spectrum) * Linear(covariates)).rank == spectrum.rank * 2
    assert (Matern(spectrum) + SquaredExponential(covariates)).rank is None
    assert (Matern(spectrum) * SquaredExponential(covariates)).rank is None


def test_sums_are_opened_up_and_repeated_names_numbered(spectrum, covariates):
    k = Matern(spectrum) + (Diffusion(spectrum) + Matern(spectrum)) + Linear(covariates)
    assert k.labels == ("matern1", "diffusion", "matern2", "linear")


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_labels_stay_distinct_however_many_repeats_are_added(spectrum, count):
    k = Matern(spectrum)
    for _ in range(count - 1):
        k = k + Matern(spectrum)
    assert len(set(k.labels)) == count


def test_shares_are_of_the_mean_prior_variance(spectrum, covariates):
    k = Sum([Matern(spectrum, variance=3.0), SquaredExponential(covariates)], ["friends", "age"])
    assert k.shares() == pytest.approx({"friends": 0.75, "age": 0.25})


def test_relations_start_from_equal_shares(hypergraph, spectrum):
    other = Spectrum.of(random_hypergraph(12, 5, seed=9))
    k = relations({"bills": spectrum, "trips": other}, Diffusion, beta=2.0)
    assert k.shares() == pytest.approx({"bills": 0.5, "trips": 0.5})
    assert np.isclose(np.mean(k.diagonal()), 1.0)


def test_kernels_on_different_vertices_do_not_combine(spectrum):
    with pytest.raises(ValueError, match=r"same vertices. Got kernels on \[12, 3\] vertices.*with_vertices"):
        Matern(spectrum) + Linear(np.eye(3))
    with pytest.raises(ValueError, match=r"Got kernels on \[12, 3\]"):
        Matern(spectrum) * Linear(np.eye(3))


def test_no_relations_are_refused():
    with pytest.raises(ValueError, match=r"at least one relation. Got none"):
        relations({})


def test_a_kernel_plus_a_number_is_refused(spectrum):
    with pytest.raises(TypeError):
        Matern(spectrum) + 1.0
