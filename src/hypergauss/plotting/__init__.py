"""Figures: predictions, calibration, spectra and learning; hypergraphs (`drawing`); maps of vertices (`maps`)."""

from hypergauss.plotting.drawing import draw_bipartite, draw_clique_expansion, draw_hypergraph, kernel_from_vertex
from hypergauss.plotting.figures import (
    learning_trace,
    posterior_intervals,
    predicted_against_observed,
    reliability_diagram,
    size_exponent_profile,
    spectrum_and_filter,
)
from hypergauss.plotting.maps import draw_map

__all__ = [
    "draw_bipartite",
    "draw_clique_expansion",
    "draw_hypergraph",
    "draw_map",
    "kernel_from_vertex",
    "learning_trace",
    "posterior_intervals",
    "predicted_against_observed",
    "reliability_diagram",
    "size_exponent_profile",
    "spectrum_and_filter",
]
