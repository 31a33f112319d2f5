"""Configuration of the documentation."""

import sys
from pathlib import Path

from hypergauss import __version__

sys.path.insert(0, str(Path(__file__).parent))  # `making`

project = "hypergauss"
author = "The hypergauss developers"
copyright = "The hypergauss developers"
release = __version__
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # formulas without a network, as everything else on the site
    "sphinx_gallery.gen_gallery",
    "making",  # what pages read of the package and of stored results
]
# Tutorials and plots are scripts, run by the build; one that fails fails the build.
sphinx_gallery_conf = {
    "examples_dirs": ["examples/tutorials", "examples/plots"],
    "gallery_dirs": ["tutorials", "gallery"],
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "show_memory": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "capture_repr": (),
}
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
autosummary_generate = True
templates_path = ["_templates"]
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
exclude_patterns = ["_build", "_made", "examples"]
html_theme = "furo"
html_title = "hypergauss"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_extra_path = ["_made/extra"]
