"""
The clique expansion
====================
The example of the paper's appendix: a hypergraph, and its weighted and binary clique expansions. The width of a line is
in proportion to its weight; of all that the hypergraph says, the binary graph keeps that everyone met everyone.
"""

import matplotlib.pyplot as plt
import numpy as np

import hypergauss as hg

incidence = np.array([[1, 0, 1, 0], [1, 1, 1, 1], [1, 0, 1, 1], [1, 1, 1, 1], [0, 1, 1, 0]])
example = hg.Hypergraph.from_incidence(incidence, vertices=range(1, 6), edges=["e1", "e2", "e3", "e4"])
angles = np.pi / 2 - 2 * np.pi * np.arange(5) / 5
corners = np.column_stack([np.cos(angles), np.sin(angles)])
figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
hg.drawing.draw_hypergraph(example, positions=corners, ax=axes[0])
axes[0].set_title("$H$")
for ax, weighted, title in ((axes[1], True, "$A_w$"), (axes[2], False, "$A_b$")):
    hg.drawing.draw_clique_expansion(example, weighted=weighted, positions=corners, ax=ax)
    ax.set_title(title)
print(example.clique_expansion().adjacency.toarray().astype(int))

# %%
# A graph can only join pairs. Joining all pairs that share a hyperedge forgets who met with whom: these two hypergraphs
# have the same clique expansion.

together = hg.Hypergraph.from_edges({"one meeting": ["a", "b", "c"], "another": ["c", "d"]})
in_pairs = hg.Hypergraph.from_edges({"ab": ["a", "b"], "bc": ["b", "c"], "ca": ["a", "c"], "another": ["c", "d"]})
places = np.array([[0.0, 1.0], [0.0, -1.0], [1.4, 0.0], [3.0, 0.0]])
figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for ax, H, title in zip(axes[:2], (together, in_pairs), ("three in one meeting", "three meetings of two"), strict=True):
    hg.drawing.draw_hypergraph(H, positions=places, ax=ax)
    ax.set_title(title)
hg.drawing.draw_clique_expansion(together, positions=places, ax=axes[2])
axes[2].set_title("the clique expansion of both")
differ = together.clique_expansion().adjacency != in_pairs.clique_expansion().adjacency
print("links that differ between the two graphs:", differ.nnz)

# %%
# Their kernels differ: the prior correlation of every vertex with ``a``, which a ring marks.

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, H in zip(axes, (together, in_pairs), strict=True):
    kernel = hg.kernels.Matern(hg.Spectrum.of(H), nu=1.5, lengthscale=3.0)
    hg.drawing.kernel_from_vertex(H, kernel, "a", positions=places, ax=ax)
