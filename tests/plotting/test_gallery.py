"""The paper's own hypergraphs stand in the gallery as they are in the paper."""

import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import LineCollection

GALLERY = Path(__file__).parents[2] / "docs" / "examples" / "plots"


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_the_schematic_is_that_of_the_papers_first_figure():
    H = runpy.run_path(str(GALLERY / "plot_01_schematic.py"))["H"]
    lines = {"e1": (1, 2, 4), "e2": (1, 2, 3), "e3": (4, 5), "e4": (6,)}  # of the bipartite graph
    expected = np.array([[vertex in lines[edge] for edge in H.edges] for vertex in range(1, 7)])
    assert list(H.vertices) == [f"v{vertex}" for vertex in range(1, 7)]
    assert list(H.edges) == list(lines)
    assert np.array_equal(H.incidence.toarray(), expected)


def test_the_clique_expansions_are_those_of_the_papers_appendix(capsys):
    example = runpy.run_path(str(GALLERY / "plot_02_cliques.py"))["example"]
    weighted = [[0, 2, 2, 2, 1], [2, 0, 3, 4, 2], [2, 3, 0, 3, 1], [2, 4, 3, 0, 2], [1, 2, 1, 2, 0]]
    assert np.array_equal(example.clique_expansion().adjacency.toarray(), weighted)
    binary = example.clique_expansion(weighted=False).adjacency.toarray()
    assert np.array_equal(binary, np.ones((5, 5)) - np.eye(5))
    (drawn,) = [lines for lines in plt.figure(1).axes[1].collections if isinstance(lines, LineCollection)]
    widths = np.array(weighted)[np.triu_indices(5, 1)]
    assert np.allclose(drawn.get_linewidths() / drawn.get_linewidths()[0], widths / widths[0])
    assert str(np.array(weighted)) in capsys.readouterr().out
