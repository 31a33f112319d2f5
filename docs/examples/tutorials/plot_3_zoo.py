"""
Maps: the zoo
=============
You have a table of traits: a row an animal, a column a trait. Place the animals on a map by that alone, with the
uncertainty of each place.
"""

# %%
# The table
# ---------
# A hyperedge for each value of each column: all that have feathers, all that have four legs.

import matplotlib.pyplot as plt

import hypergauss as hg

zoo = hg.datasets.load_zoo()
traits = zoo.table.drop(columns="type")
print(traits.iloc[:5, :8])
H = hg.Hypergraph.from_attributes(traits)
print(H)

# %%
# Two maps
# --------

model = hg.HypergraphGPLVM(starts=("spectral",), random_state=0).fit(H)
spectral = hg.SpectralEmbedding(2).fit_transform(H)
print(model.starts_)

# %%
# The types were not shown to either map.

figure, axes = plt.subplots(1, 2, figsize=(12, 5.5), layout="constrained")
for ax, place, title in zip(axes, (model.embedding_, spectral), ("hypergraph GPLVM", "spectral"), strict=True):
    hg.maps.draw_map(place, zoo.target, ax=ax, legend=ax is axes[0])
    nearest = hg.metrics.nearest_neighbour_accuracy(place, zoo.target)
    ax.set_title(f"{title}: nearest neighbour of the same type {nearest:.0%}")

# %%
# Where a new animal belongs: it has hair, gives milk, breathes, has a backbone and four legs.
edges = list(H.edges)
has = {("hair", 1), ("milk", 1), ("breathes", 1), ("backbone", 1), ("legs", 4), ("toothed", 1), ("feathers", 0)}
print(model.transform([[1.0 if edge in has else 0.0 for edge in edges]]))
