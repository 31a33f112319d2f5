"""
An embedding
============
Animals by two eigenvectors of their traits; hulls and colours are types, which the map did not see, and names are
written where there is room.
"""

import matplotlib.pyplot as plt

import hypergauss as hg

zoo = hg.datasets.load_zoo()
figure, ax = plt.subplots(figsize=(9, 6.5), layout="constrained")
place = hg.SpectralEmbedding(2).fit_transform(zoo.hypergraph)
hg.maps.draw_map(place, zoo.target, names=[str(name) for name in zoo.hypergraph.vertices], ax=ax)
