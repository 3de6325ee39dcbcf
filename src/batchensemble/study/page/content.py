"""What the report shows, from results: main tables, and one section for each dataset."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from batchensemble.metrics import COVERAGES, LEVELS
from batchensemble.plots.charts import Chart, curve, panel
from batchensemble.plots.looks import LOOKS, NAMES, UP, dataset_name, label, look
from batchensemble.plots.sheets import Cell, MeanSE, Sheet
from batchensemble.study.checks import best_set
from batchensemble.study.figures import CLASSES, REGRESSION
from batchensemble.study.spec import PLAIN, VARIANTS
from batchensemble.study.store import Result
from batchensemble.study.tables import near_end, over_seeds

TASKS = {
    "regression": ("Regression tables", REGRESSION),
    "classification": ("Classification tables", CLASSES),
    "forecasting": ("Series", REGRESSION),
}
WORDS = {"id": "in-distribution", "shift": "shift"}
PARTS = ("total", "aleatoric", "epistemic")


@dataclass(frozen=True)
class Table:
    """A sheet, and which of its cells (row, column) stand out as the best."""

    sheet: Sheet
    best: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class View:
    """One variant: of a dataset, or of the main tables."""

    variant: str
    facts: str = ""
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Section:
    anchor: str
    title: str
    facts: str
    views: tuple[View, ...]


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def main_results(results: Iterable[Result]) -> list[Result]:
    """Those of the main study: datasets by task, methods in the order of their looks."""
    tasks, methods = list(TASKS), list(LOOKS)

    def place(result: Result) -> tuple[int, str, str, int, str]:
        run = result.run
        known = methods.index(run.method) if run.method in methods else len(methods)
        return tasks.index(task_of(result)), run.dataset, run.variant, known, run.method

    return sorted((r for r in results if r.run.change == PLAIN), key=place)


def task_of(result: Result) -> str:
    task = str(result.about.get("task"))
    return task if task in TASKS else "regression"


def among_best(found: Mapping[str, MeanSE], metric: str) -> list[str]:
    """The best set of those with finite numbers."""
    sound = {name: cell for name, cell in found.items() if math.isfinite(cell.mean)}
    return best_set(sound, highest=metric in UP) if sound else []


def main_tables(results: Sequence[Result], *, mark_best: bool) -> list[View]:
    """For each variant one table a task: datasets and methods down, metrics across."""
    views = []
    for variant in VARIANTS:
        here = [r for r in results if r.run.variant == variant]
        tables = [
            _main_table(task, variant, list(own), mark_best=mark_best)
            for task, own in groupby(here, task_of)
        ]
        views.append(View(variant, tables=tuple(tables)))
    return [view for view in views if view.tables]


def _main_table(task: str, variant: str, results: list[Result], *, mark_best: bool) -> Table:
    title, metrics = TASKS[task]
    rows: list[tuple[Cell, ...]] = []
    best = set()
    for dataset, group in groupby(results, lambda r: r.run.dataset):
        own = list(group)
        found = {metric: over_seeds(own, metric) for metric in metrics}
        sizes = {r.run.method: r.about.get("n_parameters") for r in own}
        for method, size in sizes.items():
            cells = [found[metric].get(method) for metric in metrics]
            best |= {
                (len(rows), 2 + i)
                for i, metric in enumerate(metrics)
                if mark_best and method in among_best(found[metric], metric)
            }
            rows.append((dataset_name(dataset), label(method), *cells, size))
    columns = ("dataset", "method", *(NAMES[metric] for metric in metrics), "parameters")
    note = "Bold: the best mean, and all whose interval overlaps its interval." if best else ""
    sheet = Sheet(f"all-{task}-{variant}", f"{title}, {WORDS[variant]}", columns, tuple(rows), note)
    return Table(sheet, frozenset(best))


Hits = dict[str, dict[str, list[bool]]]


def _hits(results: Sequence[Result]) -> Hits:
    """By method and metric: in each dataset and variant, whether it is in the best set."""
    hits: Hits = {}
    for _, group in groupby(results, lambda r: (r.run.dataset, r.run.variant)):
        own = list(group)
        for metric in TASKS[task_of(own[0])][1]:
            found = over_seeds(own, metric)
            best = among_best(found, metric)
            for method in found:
                hits.setdefault(method, {}).setdefault(metric, []).append(method in best)
    return hits


def wins(results: Sequence[Result]) -> Sheet:
    """How often each method is in the best set, over datasets and variants."""
    hits = _hits(results)
    metrics = [metric for metric in NAMES if any(metric in own for own in hits.values())]
    most = {m: max(len(own.get(m, [])) for own in hits.values()) for m in metrics}
    rows = tuple(
        (label(method), *(sum(own[m]) if m in own else None for m in metrics))
        for method, own in hits.items()
    )
    columns = ("method", *(f"{NAMES[m]} (of {most[m]})" for m in metrics))
    note = "Counted over datasets and variants; ties count for all who tie."
    return Sheet("best_sets", "How often each method is among the best", columns, rows, note)


def headlines(results: Sequence[Result]) -> list[str]:
    """What matters most, in a sentence each."""
    sizes: dict[tuple[str, str], int] = {
        (r.run.dataset, r.run.method): r.about.get("n_parameters", 0) for r in results
    }
    shares = [
        100 * ours / sizes[dataset, "deep_ensemble"]
        for (dataset, method), ours in sizes.items()
        if method == "batch_ensemble" and sizes.get((dataset, "deep_ensemble"))
    ]
    said = []
    if shares:
        span = " to ".join(dict.fromkeys(f"{share:.0f}" for share in (min(shares), max(shares))))
        said.append(f"BatchEnsemble has {span} % of the deep ensemble's parameters.")
    counts = {method: own.get("nll", []) for method, own in _hits(results).items()}
    each = [f"{label(m)} {sum(own)}" for m, own in counts.items() if own]
    places = max((len(own) for own in counts.values()), default=0)
    if each:
        said.append(f"Among the best in NLL, of {places} test sets: {', '.join(each)}.")
    return said


def sections(results: Sequence[Result], sheets: Mapping[str, Sheet]) -> list[Section]:
    """One for each dataset of the main study."""
    made: list[Section] = []
    for dataset, group in groupby(results, lambda r: r.run.dataset):
        own = list(group)
        views = []
        for variant in VARIANTS:
            here = [r for r in own if r.run.variant == variant]
            if here:
                views.append(_view(variant, here, sheets.get(f"main-{dataset}-{variant}")))
        anchor = "data-" + re.sub(r"[^a-z0-9]+", "-", dataset.lower()).strip("-")
        if anchor in {section.anchor for section in made}:
            anchor += f"-{len(made)}"
        made.append(Section(anchor, dataset_name(dataset), _facts(own[0]), tuple(views)))
    return made


def _facts(result: Result) -> str:
    about = result.about
    if task_of(result) == "forecasting":
        return f"Series of {about.get('n_rows', 0):,} values: from 12, the next 5."
    kind = "Regression" if task_of(result) == "regression" else "Classification"
    rows, features, inputs = (about.get(f"n_{k}", 0) for k in ("rows", "features", "inputs"))
    encoded = "" if inputs == features else f", {inputs} inputs once encoded"
    return f"{kind} table of {rows:,} rows with {features} features{encoded}."


def _view(variant: str, results: list[Result], sheet: Sheet | None) -> View:
    task = task_of(results[0])
    sound = [r for r in results if "diverged" not in r.metrics]
    charts = [_panel(metric, sound) for metric in TASKS[task][1]]
    things = "windows" if task == "forecasting" else "rows"
    error = "accuracy" if task == "classification" else "RMSE"
    title, kept = f"{_capital(error)} of the most certain {things}", f"share of {things} kept"
    charts.append(_curve(title, "selective", sound, kept, error))
    title = "Nominal and empirical coverage"
    charts.append(_curve(title, "coverage", sound, "nominal", "empirical"))
    tables = [Table(sheet)] if sheet else []
    tables.append(Table(_decomposition(variant, sound, task)))
    return View(
        variant,
        _view_facts(results, things),
        tuple(chart for chart in charts if chart),
        tuple(table for table in tables if table.sheet.rows),
    )


def _view_facts(results: list[Result], things: str) -> str:
    about = results[0].about
    seeds = len({r.run.seed for r in results})
    sizes = [_span(about.get(f"n_{part}", [])) for part in ("train", "test")]
    words = f"{sizes[0]} training and {sizes[1]} test {things}; {seeds} seed{'s' * (seeds != 1)}."
    lost = [r.run.method for r in results if "diverged" in r.metrics]
    for method in dict.fromkeys(lost):
        runs = sum(r.run.method == method for r in results)
        words += (
            f" {label(method)}: {lost.count(method)} of {runs} runs diverged and "
            f"{'is' if lost.count(method) == 1 else 'are'} not in the numbers."
        )
    return words


def _span(sizes: Sequence[int] | int) -> str:
    every = [sizes] if isinstance(sizes, int) else list(sizes)
    if not every:
        return "?"
    low, high = min(every), max(every)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _panel(metric: str, results: list[Result]) -> Chart | None:
    found = {m: c for m, c in over_seeds(results, metric).items() if math.isfinite(c.mean)}
    if not found:
        return None
    ours = found.get("batch_ensemble")
    limit = near_end(ours, highest=metric in UP) if ours else None
    better = "higher is better" if metric in UP else "lower is better"
    chart = panel(NAMES[metric], [(look(m), cell) for m, cell in found.items()], limit)
    return replace(chart, title=f"{_capital(chart.title)} ({better})")


def _curve(title: str, name: str, results: list[Result], x: str, y: str) -> Chart | None:
    curves: dict[str, list[list[float]]] = {}
    for result in results:
        if name in result.curves:
            curves.setdefault(result.run.method, []).append(result.curves[name])
    if not curves:
        return None
    at = (LEVELS if name == "coverage" else COVERAGES).tolist()
    found = [
        (look(method), [MeanSE.of(values) for values in zip(*own, strict=True)])
        for method, own in curves.items()
    ]
    return curve(title, at, found, x=x, y=y, diagonal=name == "coverage")


def _decomposition(variant: str, results: list[Result], task: str) -> Sheet:
    found = {part: over_seeds(results, part) for part in PARTS}
    rows = tuple((label(m), *(found[p].get(m) for p in PARTS)) for m in found["total"])
    unit = "entropies in nats" if task == "classification" else "variances in scaled units"
    return Sheet(
        f"parts-{variant}",
        "Uncertainty and its parts",
        ("method", *PARTS),
        rows,
        f"Mean {unit}; total = aleatoric (noise in the data) + epistemic (members disagree).",
    )
