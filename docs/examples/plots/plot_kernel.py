"""
The kernel from one vertex, and a posterior
===========================================
Left, the prior correlation of every vertex with one. Right, a posterior: colour is the mean, size the uncertainty.
"""

import matplotlib.pyplot as plt

import hypergauss as hg

H = hg.Hypergraph.from_edges({"e1": ["a", "b", "c"], "e2": ["c", "d"], "e3": ["d", "e", "f", "g"], "e4": ["b", "e"]})
places = hg.drawing.layout(H)
kernel = hg.kernels.Matern(hg.Spectrum.of(H), nu=1.5, lengthscale=3.0)
figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
hg.drawing.kernel_from_vertex(H, kernel, "a", positions=places, ax=axes[0])

model = hg.HypergraphGPRegressor(H, kernel=kernel, learn=False).fit(["a", "g"], [0.0, 1.0])
mean, std = model.predict(H.vertices, return_std=True)
hg.drawing.draw_hypergraph(H, positions=places, values=mean, sizes=std, ax=axes[1])

# %%
# The same posterior as intervals.
observed = [{"a": 0.0, "g": 1.0}.get(vertex, float("nan")) for vertex in H.vertices]
hg.plotting.posterior_intervals(H.vertices, mean, std, observed=observed)
