"""Directed and temporal tables lose nothing, and a model says what it does not look at."""

import warnings

import pandas as pd
import pytest

from hypergauss import HypergraphGPRegressor, read_hif, read_table, write_hif
from hypergauss.exceptions import DataWarning, FileError

TEXT = "who,what,when,side\n1,flow,2001,source\n2,flow,2002,target\n2,flow,2005,\n3,back,,in\n1,back,2003,head\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_times_and_directions_are_kept_and_written_again(table, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
        pd.read_csv(table, dtype={"when": "Int64"}).to_parquet(table := table.with_suffix(".parquet"))
    H = read_table(table, time="when", direction="side")
    notes = H.attributes
    assert {pair: about["time"] for pair, about in notes.incidences.items()} == {
        (1, "flow"): 2001,
        (2, "flow"): [2002, 2005],
        (1, "back"): 2003,
    }
    assert notes.directions == {
        (1, "flow"): ("tail",),
        (2, "flow"): ("head",),
        (3, "back"): ("tail",),
        (1, "back"): ("head",),
    }
    write_hif(H, table.with_suffix(".json"))
    again = read_hif(table.with_suffix(".json"))
    assert again.attributes.incidences == notes.incidences
    assert again.attributes.directions == notes.directions
    assert again.attributes.network_type == "directed"


def test_a_side_that_is_none_is_named_with_its_row(table):
    table.write_text(TEXT.replace("3,back,,in", "3,back,,left"))
    with pytest.raises(FileError, match=r"'head' or 'tail' in 'side'.*Row 4 has 'left'"):
        read_table(table, direction="side")


def test_lists_of_members_have_no_place_for_times(table):
    with pytest.raises(ValueError, match=r"Got `vertex`, `weight`, `time` or `direction` as well"):
        read_table(table, members="who", time="when")


def test_a_fitted_model_says_what_it_ignores(table):
    H = read_table(table, time="when", direction="side")
    with pytest.warns(DataWarning, match="ignores the directions of 4 memberships, the times of 3 memberships of"):
        HypergraphGPRegressor(H, learn=False).fit([1, 2], [0.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HypergraphGPRegressor(read_table(table), learn=False).fit([1, 2], [0.0, 1.0])
