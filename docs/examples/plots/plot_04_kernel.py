"""
The kernel from one vertex
==========================
The prior correlation of every vertex with ``a``, which a ring marks: for a rough and for a smooth filter.
"""

import matplotlib.pyplot as plt

import hypergauss as hg

H = hg.Hypergraph.from_edges({"e1": ["a", "b", "c"], "e2": ["c", "d"], "e3": ["d", "e", "f", "g"], "e4": ["b", "e"]})
places = hg.drawing.layout(H)
figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
for ax, (nu, lengthscale) in zip(axes, ((0.5, 1.0), (2.5, 6.0)), strict=True):
    kernel = hg.kernels.Matern(hg.Spectrum.of(H), nu=nu, lengthscale=lengthscale)
    hg.drawing.kernel_from_vertex(H, kernel, "a", positions=places, ax=ax)
    ax.set_title(f"nu {nu}, lengthscale {lengthscale}")
