"""
Regression: prices of cars
==========================
Cars that share a make, a body style or a fuel system cost alike. From 100 prices, predict the others, with intervals
that can be believed.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import hypergauss as hg

cars = hg.datasets.load_automobiles()
price = np.log(cars.target.dropna())
shuffled = np.random.default_rng(0).permutation(price.index)
train, test = shuffled[:100], shuffled[100:]
print(cars.hypergraph)

# %%
# Fit
# ---
# Hyperparameters, the size exponent of hyperedge weights among them, are learned by the evidence.

model = hg.HypergraphGPRegressor(cars.hypergraph, random_state=0).fit(train, price[train])
mean, std = model.predict(test, return_std=True)
print(f"R2 {model.score(test, price[test]):.3f}")
for name, value in model.hyperparameters_.items():
    print(f"{name}: {np.round(value, 4)}")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
hg.plotting.predicted_against_observed(price[test], mean, std, ax=left)
hg.plotting.spectrum_and_filter(model.kernel_, ax=right)

# %%
# What else is known
# ------------------
# Measures such as horsepower join as covariates; the model learns how much each source matters.

measures = cars.table[["horsepower", "curb-weight", "city-mpg"]].apply(lambda column: column.fillna(column.median()))
both = hg.HypergraphGPRegressor(cars.hypergraph, covariates=measures, random_state=0).fit(train, price[train])
print(f"R2 {both.score(test, price[test]):.3f}", both.relation_weights_)

# %%
# Why does this car cost so much?
dearest = test[int(np.argmax(mean))]
print(cars.table.loc[dearest, ["make", "body-style", "num-of-cylinders"]].to_dict())
print(model.explain(dearest))
