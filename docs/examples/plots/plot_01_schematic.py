"""
A hypergraph as shaded regions, and its bipartite form
======================================================
Left, each hyperedge is a region around its members. Right, the same: a line for each membership.
"""

import matplotlib.pyplot as plt

import hypergauss as hg

H = hg.Hypergraph.from_edges({"e1": ["a", "b", "c"], "e2": ["c", "d"], "e3": ["d", "e", "f", "g"], "e4": ["b", "e"]})
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
hg.drawing.draw_hypergraph(H, ax=left)
hg.drawing.draw_bipartite(H, ax=right)
