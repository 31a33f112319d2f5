"""Plots draw what they are given, on the Axes they are given."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt

from hypergauss import Spectrum, plotting
from hypergauss.datasets import load_zoo
from hypergauss.kernels import Matern
from hypergauss.learning.size_exponent import Profile
from hypergauss.metrics import Reliability
from hypergauss.plotting.figures import BLUE, RED


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


@pytest.fixture
def bins():
    """Two bins that hold vertices, three that hold none; the error is 0.25 * 0.1 + 0.75 * 0.2."""
    empty = [np.nan] * 3
    return Reliability(
        np.arange(6) / 5,
        confidence=np.array([*empty, 0.7, 0.9]),
        accuracy=np.array([*empty, 0.8, 0.7]),
        counts=np.array([0, 0, 0, 10, 30]),
    )


def test_a_reliability_diagram_marks_the_bins_that_hold_vertices(ax, bins):
    assert plotting.reliability_diagram(bins, ax=ax) is ax
    points = ax.collections[-1]
    assert points.get_offsets().tolist() == [[0.7, 0.8], [0.9, 0.7]]
    assert [text.get_text() for text in ax.texts] == ["10", "30"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["calibration error 0.175"]


def test_classifiers_compared_on_one_diagram_share_the_diagonal_and_differ_in_colour(ax, bins):
    for label in ("first", "second"):
        plotting.reliability_diagram(bins, ax=ax, label=label)
    diagonal, first, second = ax.lines
    assert diagonal.get_xydata().tolist() == [[0, 0], [1, 1]]
    assert [first.get_color(), second.get_color()] == [BLUE, RED]
    assert [text.get_text().split(":")[0] for text in ax.get_legend().get_texts()] == ["first", "second"]


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
    plt.close("all")
    axes = plotting.predicted_against_observed([0.0, 1.0], [0.1, 0.9], [1.0, 1.0])
    assert [plt.figure(number) for number in plt.get_fignums()] == [axes.figure]
    assert axes.figure.axes == [axes]
    plt.close(axes.figure)
