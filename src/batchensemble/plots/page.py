"""The frame of a page: an HTML file that needs no other file and no network."""

import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.resources import files
from typing import Any
from uuid import uuid4

from batchensemble.plots.charts import Chart
from batchensemble.plots.drawing import shared_out
from batchensemble.plots.sheets import Cell, MeanSE, fold, show

PACKAGES = ("itables", "jinja2", "matplotlib")


def need(package: str, what: str, extra: str) -> None:
    """Raise a one-line error if a package of an extra cannot be imported."""
    try:
        import_module(package)
    except ImportError:
        name = package.partition(".")[0]
        raise ImportError(f"{what} {name}: pip install 'batchensemble[{extra}]'") from None


def check_packages() -> None:
    """Refuse early to make a page that cannot be made."""
    for package in PACKAGES:
        need(package, "a report needs", "report")


def render_page(
    package: str,
    template: str,
    *,
    filters: Mapping[str, Callable[..., Any]] | None = None,
    note: str,
    n_jobs: int = 1,
    **content: Any,
) -> str:
    """The page as text: a template in the folder `page` of a package, which extends the frame.

    `note`, if not empty, stands on every table and chart; a filter `show` writes cells otherwise.
    Charts are drawn by `n_jobs` processes, once the page says which it has.
    """
    check_packages()
    import itables
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    style = (files("batchensemble.plots") / "style.css").read_text(encoding="utf-8")
    tables = (files(itables) / "html" / "dt_bundle.js").read_text(encoding="utf-8")
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
    charts: list[Chart] = []
    token = uuid4().hex  # stands where a chart will be

    def drawn(chart: Chart) -> Markup:
        charts.append(chart)
        return Markup(f"{token}-{len(charts) - 1}-")

    pages.filters.update({"show": show, "order": _order, "fold": fold, "drawn": drawn})
    pages.filters.update(filters or {})
    pages.tests["numeric"] = lambda cell: isinstance(cell, int | float | MeanSE)
    # A closing tag inside a script would end it there.
    libraries = {
        "style": Markup(style),
        "datatables": Markup(re.sub(r"</script", r"<\\/script", tables, flags=re.IGNORECASE)),
    }
    page = pages.get_template(template).render(note=note, **libraries, **content)
    pictures = shared_out(_draw, charts, n_jobs)
    return re.sub(f"{token}-([0-9]+)-", lambda found: pictures[int(found[1])], page)


def _draw(charts: Sequence[Chart]) -> list[str]:
    return [chart.svg() for chart in charts]


def _order(cell: Cell) -> str | float | int:
    """What a cell is sorted by."""
    if isinstance(cell, MeanSE):
        return cell.mean
    return "" if cell is None else cell
