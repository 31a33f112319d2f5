"""Configuration of the documentation."""

from hypergauss import __version__

project = "hypergauss"
author = "The hypergauss developers"
copyright = "The hypergauss developers"
release = __version__
extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax"]
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3
autosummary_generate = True
templates_path = ["_templates"]
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "hypergauss"
