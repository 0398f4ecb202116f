"""Sphinx reads this in build/docs/source, where docs/generator has put the pages."""

import os

project = "TonY"
author = "the authors of TonY"
copyright = ""  # noqa: A001  # Sphinx's name for it.
release = version = os.environ["TONY_VERSION"]

extensions = ["myst_parser", "sphinx_copybutton"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
nitpicky = True  # a dead link or anchor is a warning, and scripts/docs takes warnings for errors

html_theme = "furo"
html_title = f"TonY {release}"
html_static_path = ["static"]
html_css_files = ["tony.css"]
html_extra_path = ["extra"]
html_copy_source = html_show_sourcelink = html_show_sphinx = html_show_copyright = False
html_theme_options = {"navigation_with_keys": False}

# A copied command is without its prompt and without what it printed.
copybutton_prompt_text = r"\$ |> "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
copybutton_line_continuation_character = "\\"
exclude_patterns = ["extra"]
