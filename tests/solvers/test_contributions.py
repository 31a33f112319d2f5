"""What a mean is made of adds up to the mean, whichever solver found it."""

import numpy as np
import pytest

from hypergauss.kernels import Diffusion, Linear, Matern
from hypergauss.solvers import Iterative, Prior, Sites, condition
from hypergauss.solvers.contributions import edge_parts, edge_values
from hypergauss.spectrum import Spectrum
from tests.hypergraphs import random_hypergraph

H = random_hypergraph(12, 8, seed=1)
SPECTRA = {
    "exact": Spectrum.of(H),
    "truncated": Spectrum.of(H, rank=4),
    "matrix-free": Spectrum.matrix_free(H),
    "graph": Spectrum.of(H.clique_expansion()),
}
COVARIATES = np.random.default_rng(0).standard_normal((12, 2))
KERNELS = {
    "one filter": lambda spectrum: Matern(spectrum),
    "covariates added": lambda spectrum: Matern(spectrum) + Linear(COVARIATES),
    "covariates multiplied": lambda spectrum: Matern(spectrum) * Linear(COVARIATES),
    "both": lambda spectrum: Linear(COVARIATES) * Matern(spectrum) + Diffusion(spectrum, 2.0),
}
ROWS = np.array([7, 1, 0, 4, 5, 10])
Y = np.random.default_rng(1).standard_normal((6, 2))
MEAN = np.array([0.3, -0.2])


def posterior_of(spectrum, kernel, solver):
    sites = Sites(ROWS, Y, np.full(6, 0.1))
    return condition(Prior(KERNELS[kernel](SPECTRA[spectrum]), MEAN), sites, solver)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("spectrum", "solver"),
    [
        (name, solver)
        for name in SPECTRA
        for solver in ("dense", Iterative(1e-9))
        if (name, solver) != ("matrix-free", "dense")
    ],
)
def test_parts_add_up_to_the_mean(spectrum, kernel, solver):
    posterior = posterior_of(spectrum, kernel, solver)
    assert posterior.is_by_products == (solver != "dense")
    mean = posterior.mean(np.arange(12))
    for vertex in range(12):
        # Parts of one output after those of another.
        by_output = np.reshape([part.values.sum() + part.rest for part in edge_parts(posterior, vertex)], (2, -1))
        assert np.allclose(MEAN + by_output.sum(axis=1), mean[vertex], atol=1e-8)


@pytest.mark.parametrize(("spectrum", "solver"), [("exact", "dense"), ("matrix-free", "iterative")])
def test_what_hyperedges_tell_is_what_their_members_hear(spectrum, solver):
    posterior = posterior_of(spectrum, "one filter", solver)
    (told,) = edge_values(posterior, output=1)
    for vertex in range(12):
        part = edge_parts(posterior, vertex)[1]
        heard = np.zeros(H.num_edges)
        heard[part.edges] = part.values
        assert np.allclose(told.incidence[[vertex]].toarray()[0] * told.values, heard, atol=1e-10)


@pytest.mark.parametrize(("spectrum", "kernel"), [("graph", "one filter"), ("exact", "covariates multiplied")])
def test_without_hyperedges_or_with_voices_that_differ_there_are_no_values(spectrum, kernel):
    assert edge_values(posterior_of(spectrum, kernel, "dense")) == []
