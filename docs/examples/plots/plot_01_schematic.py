"""
A hypergraph as shaded regions, and its bipartite form
======================================================
The paper's figure 1: four hyperedges among six vertices, where the paper has them. Left, each hyperedge is a region
around its members. Right, the same: a line for each membership.
"""

import matplotlib.pyplot as plt
import numpy as np

import hypergauss as hg

places = {"v1": (0, 1.7), "v2": (1.2, 2.3), "v3": (2.5, 3), "v4": (2, 0.5), "v5": (2.5, 1.2), "v6": (4, 1.3)}
edges = {"e1": ["v1", "v2", "v4"], "e2": ["v1", "v2", "v3"], "e3": ["v4", "v5"], "e4": ["v6"]}
H = hg.Hypergraph.from_edges(edges).with_vertices(list(places))
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
hg.drawing.draw_hypergraph(H, positions=np.array([places[name] for name in H.vertices]), ax=left)
hg.drawing.draw_bipartite(H, ax=right)
