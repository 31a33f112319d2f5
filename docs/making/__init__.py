"""What pages of the site read is made when it is built: pictures, tables and an example report, in ``docs/_made``.

Nothing there is kept in the repository, so nothing there can be older than the code and the stored results.
"""

from pathlib import Path

from making import benchmarks, catalogue, example_report, front_picture, headings, ten_lines

DOCS = Path(__file__).parents[1]
MADE = DOCS / "_made"


def make_all(_app=None):
    """Write all of it."""
    front_picture.write(MADE)
    catalogue.write(MADE)
    ten_lines.write(MADE, DOCS.parent)
    benchmarks.write(MADE, DOCS.parent)
    example_report.write(MADE / "extra")


def setup(app):
    """Make it before Sphinx reads a page."""
    (MADE / "extra").mkdir(parents=True, exist_ok=True)  # Sphinx looks for it before anything is made
    app.connect("builder-inited", make_all)
    app.connect("html-page-context", headings.give_levels, priority=900)  # after the theme
    return {"parallel_read_safe": True, "parallel_write_safe": True}
