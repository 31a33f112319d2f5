"""
Classification: groups in a parliament
======================================
You have a list of who took part in what, and the groups of a quarter of them. Who votes with whom tells who belongs
together. The paper's study is of Peru's congress, where a hyperedge is a bill and
its signers; those data cannot be shipped. Where ``HYPERGAUSS_DATA`` names a folder that holds them, this page is about
them, and otherwise about the bundled votes of the US House of 1984. ``hypergauss reproduce congress`` runs the whole
study.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import hypergauss as hg

try:
    data, likelihood = hg.datasets.fetch_peru_congress(), "softmax"
except FileNotFoundError:
    data, likelihood = hg.datasets.load_house_votes(), "logit"
H, group = data.hypergraph, data.target
shuffled = np.random.default_rng(0).permutation(group.index)
labelled, others = group[shuffled[: len(group) // 4]], group[shuffled[len(group) // 4 :]]
print(data.description)
print(H.to_frame().head())
print(H, "with", group.nunique(), "groups;", len(labelled), "members labelled")

# %%
# Two filters
# -----------
# A Matern filter only lets smooth functions pass. A free one learns which parts of the spectrum tell groups apart. The
# evidence lower bound says which of the two the data prefer, without a look at the held-out members.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
models = {}
for ax, kernel in zip(axes, ("matern", "bernstein"), strict=True):
    model = hg.HypergraphGPClassifier(H, kernel=kernel, likelihood=likelihood, size_exponent=0.0, random_state=0)
    models[kernel] = model.fit(labelled.index, labelled)
    proba = model.predict_proba(others.index)
    density = hg.metrics.log_predictive_density(others, proba, model.classes_)
    accuracy = hg.metrics.accuracy(others, proba, model.classes_)
    print(f"{kernel}: ELBO {model.elbo_:.1f}, accuracy {accuracy:.3f}, log density {density:.3f}")
    hg.plotting.spectrum_and_filter(model.kernel_, ax=ax)
    ax.set_title(kernel)
model = max(models.values(), key=lambda fitted: fitted.elbo_)
proba = model.predict_proba(others.index)

# %%
# Can the probabilities be believed?
hg.plotting.reliability_diagram(hg.metrics.reliability(others.to_numpy(), proba, model.classes_))

# %%
# The search for the best bound, iteration by iteration.
hg.plotting.learning_trace(model.elbo_trace_, label="ELBO")

# %%
# Who is hardest to place, and what speaks for the likeliest group?
unsure = others.index[np.argsort(proba.max(axis=1))[0]]
for label, share in zip(model.classes_, model.predict_proba([unsure])[0], strict=True):
    print(f"{share:.2f} {label}")
print(model.explain(unsure))
