"""
Factorisation: ratings of films
===============================
You have a table of ratings: who, what, and how many stars. Users who rated the same film are a hyperedge; films rated
by the same user are a hyperedge of the dual. The paper's study is of MovieLens 100K, whose licence keeps it out of this
package. Where ``HYPERGAUSS_DATA`` names a folder that holds it, this page is about a part of it, and otherwise about
ratings made to order; it downloads nothing.
``hypergauss reproduce movielens`` runs the whole study, and downloads the data if need be.
"""

# %%
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import hypergauss as hg


def made_to_order(random):
    """Ratings from 1 to 5 by 120 users of 80 films, of two kinds each, who like what is of their kind."""
    kind_of_user, kind_of_film = random.integers(2, size=120), random.integers(2, size=80)
    user, film = np.divmod(random.permutation(120 * 80)[:3000], 80)
    liked = 3.2 + 0.9 * np.where(kind_of_user[user] == kind_of_film[film], 1, -1) + random.normal(size=80)[film] / 2
    rating = np.clip(np.round(liked + 0.7 * random.normal(size=len(user))), 1, 5)
    return pd.DataFrame({"user": user, "film": film, "rating": rating})


if (Path(os.environ.get("HYPERGAUSS_DATA", "")) / "movielens-100k").is_dir():
    movielens = hg.datasets.fetch_movielens_100k()
    ratings = movielens.ratings[["user", "film", "rating"]]
    ratings = ratings[ratings["user"].isin(range(1, 301))]
    print("MovieLens 100K, the first 300 users")
else:
    ratings = made_to_order(np.random.default_rng(0))
    print("Ratings made to order")
print(ratings.head())
order = np.random.default_rng(1).permutation(len(ratings))
test, train = ratings.iloc[order[: len(order) // 5]], ratings.iloc[order[len(order) // 5 :]]
print(f"{len(train):,} ratings to learn from, {len(test):,} held out")

# %%
# Fit
# ---
# Factors of users and films have Gaussian process priors on the hypergraph and on its dual, and everything is drawn
# from its posterior by Gibbs sampling. Few draws, to keep this page quick.

model = hg.KPMF(5, bounds=(1.0, 5.0), chains=1, warm_up=30, draws=40, random_state=0)
model.fit(train["user"], train["film"], train["rating"])
known = test["user"].isin(model.users_) & test["film"].isin(model.items_)
test = test[known]
mean, std = model.predict(test["user"], test["film"], return_std=True)
by_film = train.groupby("film")["rating"].mean()
errors = {"the film's mean": test["rating"] - test["film"].map(by_film), "factorisation": test["rating"] - mean}
for method, error in errors.items():
    print(f"RMSE {np.sqrt((error**2).mean()):.3f} by {method}")

# %%
# How sure is it?
# ---------------
# The interval of each rating, and how many of the held-out ratings lie inside.

low, high = model.predict_interval(test["user"], test["film"], level=0.9)
print(f"{np.mean((test['rating'] >= low) & (test['rating'] <= high)):.1%} of the 90% intervals hold the rating")
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
grades = [1, 2, 3, 4, 5]
ax.boxplot([mean[test["rating"] == grade] for grade in grades], positions=grades, showfliers=False)
ax.set(xlabel="rating, held out", ylabel="predicted rating")

# %%
# What to recommend
# -----------------
print(model.recommend(model.users_[0], 5))
