"""The handbook. Reference pages are written from the code by tools/reference.py."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))

from reference_django import configure_django

configure_django()  # autodoc imports modules that need it

project = "outkey"
author = "the outkey developers"
copyright = "the outkey developers"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = "outkey"
html_static_path = ["_static"]
html_css_files = ["handbook.css"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
nitpicky = True
# Annotations name classes of other packages, which have no page here. That every public
# name of outkey has its place is what tests/docs checks.
nitpick_ignore_regex = [("py:.*", ".*")]
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88
# A class with fifty members is one entry of the menu, which every page has.
toc_object_entries = False
