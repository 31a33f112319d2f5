"""What the repository says of itself is true."""

import re
import runpy
from pathlib import Path

import pytest

from hypergauss import __version__

ROOT = Path(__file__).parents[1]
if not (ROOT / "docs").exists():
    pytest.skip("the repository is not part of this installation", allow_module_level=True)
BADGES = runpy.run_path(str(ROOT / "docs/badges/make.py"))


@pytest.mark.parametrize("name", BADGES["facts"]())
def test_badges_say_what_the_package_says(name):
    value = BADGES["facts"]()[name]
    assert (ROOT / "docs" / "badges" / f"{name}.svg").read_text() == BADGES["badge"](name, value)
    assert f"docs/badges/{name}.svg" in (ROOT / "README.md").read_text()


def test_the_changelog_begins_with_this_version():
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1]
    assert __version__.removesuffix(".dev0") == first


def test_the_changelog_says_in_a_screen_what_is_new_and_has_each_heading_once():
    section = (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1]
    short, *parts = section.split("\n### ")
    assert len(short.splitlines()) <= 20
    assert "**What changes if you come from an earlier copy**" in short
    names = [part.splitlines()[0] for part in parts]
    assert len(names) == len(set(names)) > 2


def test_hosts_run_what_every_change_must_pass_and_the_wheel_on_oldest_and_newest_python():
    oldest = re.search(r'requires-python = ">=(.*)"', (ROOT / "pyproject.toml").read_text())[1]
    for file in (".github/workflows/checks.yml", ".gitlab-ci.yml"):
        text = (ROOT / file).read_text()
        assert ".ci/run" in text
        assert "make test-wheel" in text
        assert 'make bench-check JOBS="' in text
        assert f'"{oldest}"' in text


def test_links_between_pages_of_the_repository_lead_somewhere():
    for page in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "RELEASING.md"):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / page).read_text()):
            assert (ROOT / target).exists(), f"{page}: {target}"
