"""The handbook. Reference pages are written from the code by tools/reference.py."""

project = "outkey"
author = "the outkey developers"
copyright = "the outkey developers"
extensions = ["myst_parser"]
html_theme = "furo"
exclude_patterns = ["_build"]
myst_heading_anchors = 3
nitpicky = True
