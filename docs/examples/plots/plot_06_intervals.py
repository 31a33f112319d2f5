"""
Posterior intervals
===================
A mean and a central interval for each vertex, lowest first; crosses are observations.
"""

import numpy as np

import hypergauss as hg

cars = hg.datasets.load_automobiles()
price = np.log(cars.target.dropna())
model = hg.HypergraphGPRegressor(cars.hypergraph, size_exponent=0.0, n_starts=1, random_state=0)
model.fit(price.index[::3], price.iloc[::3])
shown = price.index[1:130:6]
mean, std = model.predict(shown, return_std=True)
names = [f"{cars.table.loc[car, 'make']} {car}" for car in shown]
ax = hg.plotting.posterior_intervals(names, mean, std, observed=price[shown])
ax.set(xlabel="log price of cars that were held out")
ax.figure.set_size_inches(6, 6)
