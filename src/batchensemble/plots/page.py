"""The frame of a page: an HTML file that needs no other file and no network."""

import re
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from batchensemble.plots.sheets import Cell, MeanSE, show


def render_page(
    package: str,
    template: str,
    *,
    filters: Mapping[str, Callable[..., Any]] | None = None,
    note: str,
    **content: Any,
) -> str:
    """The page as text: a template in the folder `page` of a package, which extends the frame.

    `note`, if not empty, stands on every table and chart; a filter `show` writes cells otherwise.
    """
    scripts = _libraries()
    pages = Environment(
        loader=ChoiceLoader(
            [PackageLoader(package, "page"), PackageLoader("batchensemble.plots", ".")]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    pages.filters.update({"show": show, "order": _order, **(filters or {})})
    pages.tests["numeric"] = _is_number
    return pages.get_template(template).render(note=note, **scripts, **content)


def _libraries() -> dict[str, Markup]:
    """Vega draws the charts and DataTables sorts the tables; both are put into the page."""
    try:
        import itables
        import vl_convert
    except ImportError as error:
        raise ImportError(
            f"a page needs {error.name}: pip install itables vl-convert-python"
        ) from None
    tables = (files(itables) / "html" / "dt_bundle.js").read_text(encoding="utf-8")
    own = files("batchensemble.plots")
    texts = {
        "vega": vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"),
        "datatables": tables,
        "glue": (own / "glue.js").read_text(encoding="utf-8"),
        "style": (own / "style.css").read_text(encoding="utf-8"),
    }
    # A closing tag inside a script would end it there.
    return {
        name: Markup(re.sub(r"</(script|style)", r"<\\/\1", text, flags=re.IGNORECASE))
        for name, text in texts.items()
    }


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, int | float | MeanSE)


def _order(cell: Cell) -> str | float | int:
    """What a cell is sorted by."""
    if isinstance(cell, MeanSE):
        return cell.mean
    return "" if cell is None else cell
