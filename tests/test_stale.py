"""Stored outcomes are held against the code that has changed since they were made."""

import os
import subprocess

import pytest
from benchmarks.stale import ROOT, Outcome, lines, measured, outcomes, standing

from hypergauss.experiments.origin import commit, origin

WHO = {f"GIT_{role}_{what}": "a@b.c" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(root, *command):
    environment = {**os.environ, **WHO}
    done = subprocess.run(["git", *command], cwd=root, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def write(root, path, text):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


@pytest.fixture
def root(tmp_path):
    """Return a checkout with two solvers' worth of code, a face, and a benchmark that depends on one folder."""
    write(tmp_path, "src/hypergauss/solvers/dense.py", "1")
    write(tmp_path, "src/hypergauss/io/files.py", "1")
    write(tmp_path, "src/hypergauss/report/page.py", "1")
    write(tmp_path, "src/hypergauss/factorisation/gibbs.py", "1")
    write(tmp_path, "benchmarks/whole.py", "")
    write(tmp_path, "benchmarks/reading.py", 'MEASURES = ("io",)\n')
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    made = git(tmp_path, "rev-parse", "--short=7", "HEAD")
    for name in ("whole", "reading", "whole-huge"):
        write(tmp_path, f"benchmarks/results/{name}.txt", f"$ {name}\nnumpy 2; the code of\ncommit {made}\n")
    write(tmp_path, "results/study.txt", "$ hypergauss reproduce study\n")
    return tmp_path


def stale(root):
    return {
        each.outcome.path.rpartition("/")[2] for each in (standing(o, root) for o in outcomes(root)) if each.is_stale
    }


def test_an_outcome_is_stale_when_what_it_measured_has_changed(root):
    assert stale(root) == {"study.txt"}  # it names no commit
    write(root, "src/hypergauss/report/page.py", "2")
    assert stale(root) == {"study.txt"}  # a page changes no figure
    write(root, "src/hypergauss/factorisation/gibbs.py", "2")
    assert stale(root) == {"study.txt"}  # nor do ratings one of vertices
    write(root, "src/hypergauss/solvers/dense.py", "2")
    assert stale(root) == {"study.txt", "whole.txt", "whole-huge.txt"}
    git(root, "commit", "-qam", "two")
    assert stale(root) == {"study.txt", "whole.txt", "whole-huge.txt"}
    write(root, "src/hypergauss/io/files.py", "2")
    assert "reading.txt" in stale(root)


def test_a_benchmark_that_has_changed_makes_its_outcome_stale(root):
    write(root, "benchmarks/reading.py", 'MEASURES = ("io",)\nROWS = 7\n')
    assert "reading.txt" in stale(root)


def test_what_changed_is_said_and_what_is_stale_comes_first(root):
    write(root, "src/hypergauss/solvers/dense.py", "2")
    told = lines([standing(outcome, root) for outcome in outcomes(root)])
    assert told[-1] == "3 of 4 stored outcomes are to be rerun."
    assert [line[:6] for line in told[:-1]] == ["stale "] * 3 + ["stands"]
    assert any("whole.txt" in line and "since then 1 file changed: solvers" in line for line in told)


@pytest.mark.parametrize(("text", "reason"), [("0000000", "does not have"), ("{made}+", "not committed")])
def test_a_commit_that_cannot_be_compared_is_stale(root, text, reason):
    made = git(root, "rev-parse", "--short=7", "HEAD")
    write(root, "benchmarks/results/whole.txt", f"the code of commit {text.format(made=made)}")
    found = standing(Outcome("benchmarks/results/whole.txt", None, ()), root)
    assert found.is_stale
    assert reason in found.reason


def test_every_folder_or_file_that_a_benchmark_or_study_names_is_there():
    for outcome in outcomes():
        for name in outcome.measures:
            assert (ROOT / "src/hypergauss" / name).exists(), (outcome.module, name)


def test_folders_are_read_without_running_the_module():
    assert measured("import nothing_of_this_name\nMEASURES = ('io', 'solvers')\n") == ("io", "solvers")
    assert measured("x = 1") == ()


def test_an_installed_package_has_no_commit(tmp_path):
    git(tmp_path, "init", "-q")
    assert commit(tmp_path / "site-packages" / "hypergauss") is None
    assert origin().startswith("hypergauss ")
