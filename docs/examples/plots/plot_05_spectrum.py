"""
A spectrum and its filter
=========================
Marks are the eigenvalues of the hypergraph's Laplacian, the curve says how much prior variance each of their
eigenvectors gets. Three filters on the features of 205 cars.
"""

import matplotlib.pyplot as plt

import hypergauss as hg

spectrum = hg.Spectrum.of(hg.datasets.load_automobiles().hypergraph)
kernels = {
    "Matern, nu 1.5": hg.kernels.Matern(spectrum, nu=1.5, lengthscale=5.0),
    "diffusion": hg.kernels.Diffusion(spectrum, 3.0),
    "Bernstein, free in form": hg.kernels.Bernstein(spectrum, [1.0, 0.1, 0.5, 0.02, 0.05]),
}
figure, axes = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained", sharey=True)
for ax, (name, kernel) in zip(axes, kernels.items(), strict=True):
    hg.plotting.spectrum_and_filter(kernel, ax=ax)
    ax.set_title(name)
