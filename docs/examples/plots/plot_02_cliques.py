"""
The clique expansion
====================
A graph can only join pairs. Joining all pairs that share a hyperedge forgets who met with whom: these two hypergraphs
have the same clique expansion.
"""

import matplotlib.pyplot as plt
import numpy as np

import hypergauss as hg

together = hg.Hypergraph.from_edges({"one meeting": ["a", "b", "c"], "another": ["c", "d"]})
in_pairs = hg.Hypergraph.from_edges({"ab": ["a", "b"], "bc": ["b", "c"], "ca": ["a", "c"], "another": ["c", "d"]})
places = np.array([[0.0, 1.0], [0.0, -1.0], [1.4, 0.0], [3.0, 0.0]])
figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for ax, H, title in zip(axes[:2], (together, in_pairs), ("three in one meeting", "three meetings of two"), strict=True):
    hg.drawing.draw_hypergraph(H, positions=places, ax=ax)
    ax.set_title(title)
hg.drawing.draw_clique_expansion(together, positions=places, ax=axes[2])
axes[2].set_title("the clique expansion of both")
same = together.clique_expansion().adjacency != in_pairs.clique_expansion().adjacency
print("memberships that differ between the two graphs:", same.nnz)

# %%
# Their kernels differ: the prior correlation of every vertex with ``a``, which a ring marks.

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, H in zip(axes, (together, in_pairs), strict=True):
    kernel = hg.kernels.Matern(hg.Spectrum.of(H), nu=1.5, lengthscale=3.0)
    hg.drawing.kernel_from_vertex(H, kernel, "a", positions=places, ax=ax)
