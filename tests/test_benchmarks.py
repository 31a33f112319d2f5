"""What `make bench-check` reads and tells, without running it."""

from pathlib import Path

import pytest
from benchmarks import common
from benchmarks.check import SHORT, compared, stored
from benchmarks.common import RESULTS
from benchmarks.first_fit import TARGETS
from benchmarks.first_fit_jobs import JOBS
from benchmarks.planning import SHAPES


def test_stored_ratios_are_read_for_the_jobs_that_have_targets():
    ratios = stored((RESULTS / "first_fit.txt").read_text())
    assert len(ratios) > 5
    assert ratios.keys() <= TARGETS.keys()
    assert all(ratio > 0 for ratio in ratios.values())


def test_a_target_that_is_missed_is_told_beside_what_is_stored():
    job = "20,000 x 1,000"
    at_most = TARGETS[job].at_most
    missed, met = compared({job: 2 * at_most, "import": 0.5}, {job: 1.25})
    assert missed[1:3] == [f"{2 * at_most:.3g}", "1.25"]
    assert missed[3].endswith("MISSED")
    assert met[2:] == ["", f"at most {TARGETS['import'].at_most:.3g}: met"]


def test_short_jobs_are_jobs_and_plans_are_compared_for_a_dozen_shapes_of_every_kind():
    assert set(SHORT) <= set(JOBS)
    assert len(SHAPES) >= 12
    assert {min(shape.num_classes, 3) for shape in SHAPES} == {1, 2, 3}
    assert any(s.num_vertices < s.num_edges for s in SHAPES)
    assert any(s.num_vertices > s.num_edges for s in SHAPES)


@pytest.mark.parametrize("name", ["fuzz", "interrupts", "reading", "report", "first_steps"])
def test_an_outcome_that_is_no_table_names_its_command_and_the_commit(name):
    command, setting, empty = common.heading(f"{name} --switch")
    assert command == f"$ python -m benchmarks.{name} --switch"
    assert setting.endswith(f"the code of commit {common.commit()}")
    assert empty == ""
    assert "heading(" in Path(common.__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
