"""What pages of the site read is made when it is built: pictures, tables and an example report, in ``docs/_made``.

Nothing there is kept in the repository, so nothing there can be older than the code and the stored results.
"""

from pathlib import Path

from making import benchmarks, catalogue, example_report, front_picture, ten_lines

DOCS = Path(__file__).parents[1]
MADE = DOCS / "_made"


def make_all(_app=None):
    """Write all of it."""
    MADE.mkdir(exist_ok=True)
    front_picture.write(MADE)
    catalogue.write(MADE)
    ten_lines.write(MADE, DOCS.parent)
    benchmarks.write(MADE, DOCS.parent)
    example_report.write(MADE / "extra")


def setup(app):
    """Make it before Sphinx reads a page."""
    app.connect("builder-inited", make_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
