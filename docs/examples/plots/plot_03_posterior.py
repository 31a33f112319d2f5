"""
A posterior on a hypergraph
===========================
Two vertices are observed, ``a`` as 0 and ``g`` as 1. Colour is the posterior mean, size the uncertainty.
"""

import hypergauss as hg

H = hg.Hypergraph.from_edges({"e1": ["a", "b", "c"], "e2": ["c", "d"], "e3": ["d", "e", "f", "g"], "e4": ["b", "e"]})
kernel = hg.kernels.Matern(hg.Spectrum.of(H), nu=1.5, lengthscale=3.0)
model = hg.HypergraphGPRegressor(H, kernel=kernel, learn=False).fit(["a", "g"], [0.0, 1.0])
mean, std = model.predict(H.vertices, return_std=True)
hg.drawing.draw_hypergraph(H, values=mean, sizes=std)
