"""
Predicted against observed
==========================
Held-out values against their predictions; intervals that miss are told apart. And the evidence over the size exponent
of hyperedge weights, by which it was chosen.
"""

import matplotlib.pyplot as plt
import numpy as np

import hypergauss as hg

cars = hg.datasets.load_automobiles()
price = np.log(cars.target.dropna())
train, test = price.iloc[::2], price.iloc[1::2]
model = hg.HypergraphGPRegressor(cars.hypergraph, n_starts=1, random_state=0).fit(train.index, train)
mean, std = model.predict(test.index, return_std=True)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
hg.plotting.predicted_against_observed(test, mean, std, ax=left)
hg.plotting.size_exponent_profile(model.size_exponent_profile_, ax=right)
