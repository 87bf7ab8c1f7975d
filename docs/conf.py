"""How the documentation is built: offline, warnings are errors (`make docs`)."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "benchmarks")]

import generated  # noqa: E402
from sphinx_gallery.sorting import FileNameSortKey  # noqa: E402

from catena.version import __version__  # noqa: E402

project = "catena"
author = "the catena developers"
html_show_copyright = False
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
    "generated",
]
# the page of running times would load its table script from the network
exclude_patterns = ["_build", "**sg_execution_times.rst"]
myst_enable_extensions = ["dollarmath", "amsmath", "substitution"]
myst_substitutions = generated.race_figures()
myst_heading_anchors = 3
numfig = math_numfig = True  # equations are numbered by page

html_theme = "furo"
html_title = f"catena {version}"
html_static_path = ["_static"]
# from a copy: the pages ask nothing of the network
mathjax_path = "mathjax/tex-svg.js"
mathjax_options = {"defer": "defer"}
# spoken formulas would ask for a script that is not in the copy
mathjax4_config = {"options": {"enableMenu": False, "menuOptions": {"settings": {"enrich": False}}}}

bibtex_bibfiles = ["../src/catena/references.bib"]
bibtex_default_style = "alpha"

default_role = "code"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False

sphinx_gallery_conf = {
    "examples_dirs": ["../examples/tutorial", "../examples/gallery"],
    "gallery_dirs": ["tutorial", "gallery"],
    "filename_pattern": r"/\d",
    "within_subsection_order": FileNameSortKey,
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "show_signature": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "capture_repr": ("_repr_html_",),  # of pages that can be turned and played
}
suppress_warnings = ["config.cache"]
