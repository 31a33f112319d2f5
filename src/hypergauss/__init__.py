"""Gaussian processes on hypergraphs."""

from hypergauss.hypergraph import Hypergraph
from hypergauss.spectrum import Spectrum
