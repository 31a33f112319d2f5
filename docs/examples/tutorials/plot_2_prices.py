"""
Regression: prices of cars
==========================
You have a table: a row a car, what it is in some columns, and a price in the last, which is not known of all. Cars that
share a make, a body style or a fuel system cost alike. From 100 prices, predict the others, with intervals that can be
believed.
"""

# %%
# The table
# ---------
# It comes with the package; yours may come from ``pd.read_csv``, with an index that names the rows.

import matplotlib.pyplot as plt
import numpy as np

import hypergauss as hg

table = hg.datasets.load_automobiles().table
print(table[["make", "body-style", "fuel-system", "horsepower", "price"]].head())

# %%
# Each value of a column is a hyperedge of the rows that share it: all Audis, all sedans, all diesels.

kinds = ["symboling", "make", "fuel-type", "aspiration", "num-of-doors", "body-style", "drive-wheels"]
kinds += ["engine-location", "engine-type", "num-of-cylinders", "fuel-system"]
H = hg.Hypergraph.from_attributes(table[kinds])
print(H)

# %%
# Prices are positive and skewed: their logarithm is what is learned. Half of them are held out.

price = np.log(table["price"].dropna())
shuffled = np.random.default_rng(0).permutation(price.index)
train, test = shuffled[:100], shuffled[100:]

# %%
# Fit
# ---
# Hyperparameters, the size exponent of hyperedge weights among them, are learned by the evidence.

model = hg.HypergraphGPRegressor(H, random_state=0).fit(train, price[train])
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

measures = table[["horsepower", "curb-weight", "city-mpg"]].apply(lambda column: column.fillna(column.median()))
both = hg.HypergraphGPRegressor(H, covariates=measures, random_state=0).fit(train, price[train])
print(f"R2 {both.score(test, price[test]):.3f}", both.relation_weights_)

# %%
# Why does this car cost so much?
dearest = test[int(np.argmax(mean))]
print(table.loc[dearest, ["make", "body-style", "num-of-cylinders"]].to_dict())
print(model.explain(dearest))
