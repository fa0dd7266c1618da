"""Configuration of the documentation site, built by `make docs`.

No page asks for anything over the network: formulas are plain text, fonts and scripts are part of the theme.
"""

import os
import re
from pathlib import Path

from proxcode import __version__

project = "proxcode"
author = "the authors of proxcode"
release = version = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["results/cells"]

# Markdown: headings are link targets, as on GitHub.
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

# Docstrings: a name in backquotes is code, and a link where it is the name of something documented.
default_role = "py:obj"
nitpick_ignore_regex = [("py:obj", "(?s).*")]
add_module_names = False
toc_object_entries_show_parents = "hide"
smartquotes = False  # b'Wb has no quotation mark
autodoc_typehints = "none"
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_use_plots = False

# Examples are run anew when they change.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/\d\d_\w+\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
    "backreferences_dir": "gallery/uses",
    "doc_module": ("proxcode",),
}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "proxcode"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/icon.svg"
html_logo = "_static/icon.svg"
html_show_sourcelink = False
# Pages without others below them have no list of a section.
html_sidebars = {"start": []}
html_theme_options = {
    "logo": {"text": "proxcode"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
copyright = "the authors of proxcode, BSD-3-Clause"

DOCS = Path(__file__).parent
# Relative links that leave the folder of a page.
OUTWARD_LINK = re.compile(r"\]\((?P<path>\.\./[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")


def follow_outward_links(app, docname, source):
    """Give the links of a page that GitHub follows to files outside docs/ a target within the site.

    A file with a page of its own in docs/, such as CHANGELOG.md, becomes this page, and any other Markdown file a
    download. A folder stands for its README or, in the package, for its `__init__.py`.
    """
    folder = (DOCS / docname).parent

    def target(link):
        path = (folder / link["path"]).resolve()
        if path.is_dir():
            path = next((file for name in ("README.md", "__init__.py") if (file := path / name).exists()), path)
        elif path.is_relative_to(DOCS) or path.suffix != ".md":
            return link[0]
        if path.parent == DOCS.parent and (DOCS / path.name).exists():
            return f"]({os.path.relpath(DOCS / path.name, folder)}{link['anchor'] or ''})"
        return f"](path:{os.path.relpath(path, folder)})"

    source[0] = OUTWARD_LINK.sub(target, source[0])


def skip_foreign_members(app, kind, name, member, skip, options):
    """Leave out members of a class that scikit-learn or Python define, and fields, which its docstring describes."""
    function = next((getattr(member, form) for form in ("fget", "func", "__func__") if hasattr(member, form)), member)
    is_own = (getattr(function, "__module__", None) or "").startswith("proxcode")
    return None if is_own and name != "__init__" else True


def take_no_readme_for_a_header(app, config):
    """Leave the README.md of a folder below examples/ out of the gallery: its headers are .rst files."""
    config.sphinx_gallery_conf["source_suffix"] = {".rst": "restructuredtext"}


def setup(app):
    """Connect the functions above, the last one after sphinx-gallery has read its configuration."""
    app.connect("source-read", follow_outward_links)
    app.connect("autodoc-skip-member", skip_foreign_members)
    app.connect("config-inited", take_no_readme_for_a_header, priority=900)
