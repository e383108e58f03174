"""A chart as a file, and as a part of the page that takes the page's colours."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from markupsafe import Markup

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import LayoutEngine

__all__ = ["COLOURS", "TALLEST", "WIDTH", "inline", "layout", "render", "style"]

COLOURS = {
    "ink": "#1d2330",
    "dim": "#5c6675",
    "line": "#d9dde3",
    "paper": "#ffffff",
    # Okabe & Ito's, which colour-blind readers tell apart; they differ in lightness too, for grey print.
    "blue": "#0072b2",
    "sky": "#8cc5e8",
    "orange": "#e69f00",
    "red": "#d55e00",
    "green": "#009e73",
    "grey": "#c3c8cf",
    # Words on a bar keep their colour in both themes, as the bar does.
    "on_light": "#111318",
    "on_dark": "#fdfdfd",
}
"""The charts' colours by name. In the page each becomes the CSS variable ``--fig-NAME``."""

WIDTH = 9.0
"""Inches of a chart that takes the page's width."""

TALLEST = 11.5
"""Inches of a chart, so that it is on one page of paper with its words still readable."""

_NAMES = {value: name for name, value in COLOURS.items()}
_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
_SCALE = 1.5
"""CSS pixels to a point of the chart, where the page is wide enough: its 9-point words are then as large as text."""


@contextmanager
def style() -> Iterator[None]:
    """Draw in our style, whatever the user's own matplotlib settings are."""
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        # Letters stay letters in the file, so a font without them only costs a little of the layout.
        warnings.filterwarnings("ignore", r"Glyph .* missing from", UserWarning)
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(
            {
                "svg.fonttype": "none",
                "svg.hashsalt": "searchsim",
                "font.family": "sans-serif",
                "font.size": 9,
                "text.parse_math": False,
                "text.color": COLOURS["ink"],
                "axes.labelcolor": COLOURS["dim"],
                "axes.edgecolor": COLOURS["dim"],
                "axes.linewidth": 0.8,
                "axes.spines.top": False,
                "axes.spines.right": False,
                "axes.titlesize": 9.5,
                "axes.titleweight": "bold",
                "axes.titlelocation": "left",
                "axes.axisbelow": True,
                "grid.color": COLOURS["line"],
                "grid.linewidth": 0.7,
                "xtick.color": COLOURS["dim"],
                "ytick.color": COLOURS["dim"],
                "ytick.labelcolor": COLOURS["ink"],
                "hatch.linewidth": 0.8,
                "legend.frameon": False,
                "legend.fontsize": 9,
                "figure.facecolor": COLOURS["paper"],
                "axes.facecolor": COLOURS["paper"],
            }
        )
        yield


def layout() -> LayoutEngine:
    """Room for all words; numbers at the right of a panel don't seem to belong to the next one."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return ConstrainedLayoutEngine(w_pad=0.1)


def render(figure: Figure) -> str:
    """A chart as an SVG file's text: white background, plain colours, words as words, the same bytes each time."""
    out = io.StringIO()
    # What metadata there would be names a date, a version and addresses.
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return out.getvalue()


def inline(svg: str, name: str, label: str) -> Markup:
    """A chart as an element of an HTML page.

    Args:
        svg: What `render` gave.
        name: Begins its ids, so that they are the chart's alone in the page.
        label: What is read out in its place.
    """
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own file
    for parent in list(root.iter()):
        for child in list(parent):
            # The style would be that of the page's other elements too.
            if child.tag in (f"{{{_SVG}}}style", f"{{{_SVG}}}metadata"):
                parent.remove(child)
    for element in root.iter():
        for key, value in list(element.attrib.items()):
            if key == "id":
                element.set(key, f"{name}-{value}")
            elif key == f"{{{_XLINK}}}href":
                element.set(key, f"#{name}-{value[1:]}")
            elif key == "d":
                element.set(key, " ".join(value.split()))
            elif key == "clip-path":
                element.set(key, value.replace("#", f"#{name}-"))
            elif key in ("fill", "stroke"):
                # Variables are for declarations; an attribute need not take them.
                element.set("style", f"{key}:{value};{element.get('style', '')}")
                del element.attrib[key]
        if "style" in element.attrib:
            element.set("style", _themed(element.attrib["style"], name))
        for part in ("text", "tail"):
            if (getattr(element, part) or "").isspace():
                setattr(element, part, None)
    width = float(root.attrib.pop("width").removesuffix("pt"))
    root.attrib.pop("height")
    root.set("role", "img")
    root.set("aria-label", label)
    root.set("style", f"width:{_SCALE * width:.0f}px;stroke-linejoin:round")
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    # The tree escapes what was text.
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # noqa: S704


def _themed(declarations: str, name: str) -> str:
    """The page's font and variables for what a file has fixed, and the chart's own ids."""
    kept = [d.strip() for d in declarations.split(";") if not d.strip().startswith("font-family")]

    def variable(match: re.Match[str]) -> str:
        colour = _NAMES.get(match.group())
        return match.group() if colour is None else f"var(--fig-{colour.replace('_', '-')})"

    own = ";".join(d for d in kept if d).replace("url(#", f"url(#{name}-")
    return re.sub(r"#[0-9a-f]{6}\b", variable, own)
