"""Plots draw what they are given, on the Axes they are given."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt

from hypergauss import Spectrum, plotting
from hypergauss.datasets import load_zoo
from hypergauss.inference.size_exponent import Profile
from hypergauss.kernels import Matern


@pytest.fixture
def ax():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def test_intervals_that_miss_are_counted_apart(ax):
    drawn = plotting.predicted_against_observed([0.0, 0.0, 5.0], np.zeros(3), np.ones(3), ax=ax)
    assert drawn is ax
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "90% interval covers the observation (67%)",
        "90% interval misses the observation (33%)",
    ]


def test_the_filter_is_marked_at_every_eigenvalue(ax):
    kernel = Matern(Spectrum.of(load_zoo().hypergraph))
    plotting.spectrum_and_filter(kernel, ax=ax)
    assert len(ax.lines[1].get_xdata()) == kernel.spectrum.rank
    assert ax.lines[0].get_ydata().max() == pytest.approx(1.0)


def test_a_profile_is_drawn_relative_to_zero(ax):
    profile = Profile(1.0, None, np.array([0.0, 1.0, 2.0]), np.array([-5.0, -2.0, -4.0]))
    plotting.size_exponent_profile(profile, ax=ax)
    assert ax.lines[0].get_ydata().tolist() == [0.0, 3.0, 1.0]


def test_without_axes_a_figure_is_made():
    axes = plotting.predicted_against_observed([0.0, 1.0], [0.1, 0.9], [1.0, 1.0])
    assert axes.figure is not None
    plt.close(axes.figure)
