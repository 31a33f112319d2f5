"""The command line does its work, says where the results are, and explains mistakes."""

import subprocess
import sys
from functools import partial

import pandas as pd
import pytest

from hypergauss import __version__
from hypergauss.cli import main
from hypergauss.experiments import zoo


def test_the_demo_goes_from_plain_files_to_a_page_and_is_ahead_of_its_baselines(tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["demo", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert list(pd.read_csv(out / "edges.csv").columns) == ["car", "shares"]
    assert len(pd.read_csv(out / "labels.csv")) == 100
    assert len(pd.read_csv(out / "predictions.csv")) == 205
    rows = [line.strip("│ ").split("│") for line in shown.splitlines() if line.startswith("│") and "%" in line]
    scores = {name.strip(): (float(r2), float(density)) for name, r2, density, _ in rows}
    ours, others = scores.pop("hypergauss"), scores.values()
    assert len(scores) == 3
    assert all(ours[0] > r2 and ours[1] > density + 0.2 for r2, density in others)
    assert "Why:" in shown
    assert "by hyperedge, 4 in all" in shown
    assert str(out / "report.html") in shown
    assert main(["demo", "--out", str(out)]) == 0  # again, over what is there


def test_the_zoo_study_runs_and_draws_every_map(tmp_path, capsys, monkeypatch):
    # Whether the maps are good is tested where they are made: these stop early.
    monkeypatch.setattr(zoo, "HypergraphGPLVM", partial(zoo.HypergraphGPLVM, max_iterations=3))
    monkeypatch.setattr(zoo, "TSNE", partial(zoo.TSNE, max_iter=250))
    assert main(["reproduce", "zoo", "--quick", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "zoo.txt").read_text()
    for part in ("hypergraph GPLVM", "presence only", "paper: spectral", "area under the curve", "The map as nu grows"):
        assert part in text
    assert "Written to" in capsys.readouterr().out
    pictures = {path.name for path in tmp_path.glob("*.png")}
    assert pictures == {
        f"zoo{part}.png" for part in ("", "-labelled-gplvm", "-labelled-spectral", "-uncertainty", "-nu")
    }
    assert all((tmp_path / name).stat().st_size < 2**20 for name in pictures)


def test_an_output_folder_that_is_a_file_is_a_sentence_not_a_traceback(tmp_path, capsys):
    path = tmp_path / "taken"
    path.write_text("not a folder")
    assert main(["demo", "--out", str(path)]) == 1
    assert "hypergauss: " in capsys.readouterr().err


def test_an_unknown_study_lists_those_there_are(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", "elephants"])
    assert stop.value.code == 2
    assert "automobiles" in capsys.readouterr().err


def test_help_imports_nothing_heavy():
    code = (
        "import sys, hypergauss.cli as c\ntry: c.main(['--help'])\nexcept SystemExit: pass\n"
        "print(any(name in sys.modules for name in ('scipy', 'sklearn', 'pandas', 'matplotlib')))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip().endswith("False")


def test_the_version_is_the_package_s(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert __version__ in capsys.readouterr().out
