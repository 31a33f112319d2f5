"""
A hypergraph, three ways
========================
Hyperedges as shaded regions, the bipartite form beside it, and the clique expansion, which forgets who met with whom.
"""

import matplotlib.pyplot as plt

import hypergauss as hg

H = hg.Hypergraph.from_edges({"e1": ["a", "b", "c"], "e2": ["c", "d"], "e3": ["d", "e", "f", "g"], "e4": ["b", "e"]})
places = hg.drawing.layout(H)
figure, axes = plt.subplots(1, 3, figsize=(12, 4.4), layout="constrained")
hg.drawing.draw_hypergraph(H, positions=places, ax=axes[0])
hg.drawing.draw_bipartite(H, ax=axes[1])
hg.drawing.draw_clique_expansion(H, positions=places, ax=axes[2])
