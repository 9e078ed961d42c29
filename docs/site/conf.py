"""What Sphinx is told about the documents; site.py calls it."""
from pygments.lexers import get_lexer_by_name

project = "flc"
author = "The flc developers"
extensions = ["myst_parser"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = "flc"
html_copy_source = False
html_show_copyright = False
html_show_sourcelink = False
# Outputs of commands hold characters that no shell would take.
suppress_warnings = ["misc.highlighting_failure"]


def setup(app):
    """Fl is coloured as Futhark."""
    app.add_lexer("fl", type(get_lexer_by_name("futhark")))
