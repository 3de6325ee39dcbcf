"""What the report shows: main tables, a section for each dataset, a question for each ablation."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from batchensemble.plots.charts import Chart
from batchensemble.plots.looks import NAMES, UP, dataset_name, label
from batchensemble.plots.sheets import Cell, Sheet
from batchensemble.study.ablations import ABLATIONS, Ablation
from batchensemble.study.best_sets import best_set
from batchensemble.study.claims import Verdict
from batchensemble.study.figures import SHOWN, line, panel, variants
from batchensemble.study.results import Place, Study
from batchensemble.study.sheets import BE, DE
from batchensemble.study.spec import VARIANTS

TASKS = {
    "regression": "Regression tables",
    "classification": "Classification tables",
    "forecasting": "Series",
}
WORDS = {"id": "in-distribution", "shift": "shift"}


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


@dataclass(frozen=True)
class Question:
    anchor: str
    title: str
    finding: str
    verdict: Verdict | None
    charts: tuple[Chart, ...]
    sheet: Sheet


def in_order(study: Study) -> list[Place]:
    """The places of the main study by task, dataset and variant."""
    tasks, order = study.tasks(), list(TASKS)
    return sorted(study.places(), key=lambda place: (order.index(tasks[place.dataset]), place))


def among_best(study: Study, place: Place, metric: str) -> list[str]:
    means = {m: c for m, c in study.means(place, metric).items() if abs(c.mean) < float("inf")}
    return best_set(means, highest=metric in UP) if means else []


def main_tables(study: Study, *, mark_best: bool) -> list[View]:
    """For each variant one table a task: datasets and methods down, metrics across."""
    tasks, views = study.tasks(), []
    for variant in VARIANTS:
        places = [place for place in in_order(study) if place.variant == variant]
        tables = []
        for task in TASKS:
            own = [place for place in places if tasks[place.dataset] == task]
            if own:
                tables.append(_main_table(study, task, own, mark_best=mark_best))
        views.append(View(variant, tables=tuple(tables)))
    return [view for view in views if view.tables]


def _main_table(study: Study, task: str, places: Sequence[Place], *, mark_best: bool) -> Table:
    metrics, variant = SHOWN[task], places[0].variant
    rows: list[tuple[Cell, ...]] = []
    best = set()
    for place in places:
        leaders = [among_best(study, place, metric) for metric in metrics]
        for method in study.methods(place):
            cells = (study.mean(place, method, metric) for metric in metrics)
            size = study.about(place, method).get("n_parameters")
            if mark_best:
                best |= {(len(rows), 2 + i) for i, own in enumerate(leaders) if method in own}
            rows.append((dataset_name(place.dataset), label(method), *cells, size))
    columns = ("dataset", "method", *(NAMES[metric] for metric in metrics), "parameters")
    note = "Bold: the best mean, and all whose interval overlaps its interval." if best else ""
    title = f"{TASKS[task]}, {WORDS[variant]}"
    return Table(Sheet(f"all-{task}-{variant}", title, columns, tuple(rows), note), frozenset(best))


def hits(study: Study) -> dict[str, dict[str, list[bool]]]:
    """By method and metric: in each dataset and variant, whether it is in the best set."""
    in_best: dict[str, dict[str, list[bool]]] = {}
    for place in in_order(study):
        for metric in SHOWN[study.tasks()[place.dataset]]:
            best = among_best(study, place, metric)
            for method in study.means(place, metric):
                in_best.setdefault(method, {}).setdefault(metric, []).append(method in best)
    return in_best


def wins(study: Study) -> Sheet:
    """How often each method is in the best set, over datasets and variants."""
    counts = hits(study)
    metrics = [metric for metric in NAMES if any(metric in own for own in counts.values())]
    most = {m: max(len(own.get(m, [])) for own in counts.values()) for m in metrics}
    rows = tuple(
        (label(method), *(sum(own[m]) if m in own else None for m in metrics))
        for method, own in counts.items()
    )
    columns = ("method", *(f"{NAMES[m]} (of {most[m]})" for m in metrics))
    note = "Counted over datasets and variants; ties count for all who tie."
    return Sheet("best_sets", "How often each method is among the best", columns, rows, note)


def headlines(study: Study) -> list[str]:
    """What matters most, in a sentence each."""
    shares = []
    for place in study.places():
        if {BE, DE} <= {*study.methods(place)}:
            ours, theirs = (study.about(place, m).get("n_parameters", 0) for m in (BE, DE))
            shares += [100 * ours / theirs] if theirs else []
    said = []
    if shares:
        span = " to ".join(dict.fromkeys(f"{share:.0f}" for share in (min(shares), max(shares))))
        said.append(f"BatchEnsemble has {span} % of the deep ensemble's parameters.")
    counts = {method: own.get("nll", []) for method, own in hits(study).items()}
    each = [f"{label(m)} {sum(own)}" for m, own in counts.items() if own]
    places = max((len(own) for own in counts.values()), default=0)
    if each:
        said.append(f"Among the best in NLL, of {places} test sets: {', '.join(each)}.")
    return said


def sections(study: Study, sheets: Mapping[str, Sheet]) -> list[Section]:
    """One for each dataset of the main study."""
    views: dict[str, list[View]] = {}
    for place in in_order(study):
        views.setdefault(place.dataset, []).append(_view(study, place, sheets))
    made: list[Section] = []
    for dataset, own in views.items():
        anchor = "data-" + re.sub(r"[^a-z0-9]+", "-", dataset.lower()).strip("-")
        if anchor in {section.anchor for section in made}:
            anchor += f"-{len(made)}"
        facts = _facts(study, Place(dataset, own[0].variant))
        made.append(Section(anchor, dataset_name(dataset), facts, tuple(own)))
    return made


def _facts(study: Study, place: Place) -> str:
    about, task = study.about(place), study.tasks()[place.dataset]
    if task == "forecasting":
        return f"Series of {about.get('n_rows', 0):,} values: from 12, the next 5."
    rows, features, inputs = (about.get(f"n_{k}", 0) for k in ("rows", "features", "inputs"))
    return f"{task.capitalize()}: {rows:,} rows, {features} features, {inputs} inputs."


def _view(study: Study, place: Place, sheets: Mapping[str, Sheet]) -> View:
    task = study.tasks()[place.dataset]
    metrics = study.metrics(place, SHOWN[task])
    curves = (line(study, place, name) for name in ("selective", "coverage"))
    charts = (*(panel(study, place, m) for m in metrics), *(chart for chart in curves if chart))
    sheet = sheets[f"main-{place.dataset}-{place.variant}"]
    return View(place.variant, _view_facts(study, place), charts, (Table(sheet),))


def _view_facts(study: Study, place: Place) -> str:
    about, seeds = study.about(place), study.n_seeds(place)
    things = "windows" if study.tasks()[place.dataset] == "forecasting" else "rows"
    sizes = [_span(about.get(f"n_{part}", [])) for part in ("train", "test")]
    words = f"{sizes[0]} training and {sizes[1]} test {things}; {seeds} seed{'s' * (seeds != 1)}."
    if "shifted_features" in about:
        pairs = dict.fromkeys(" and ".join(own) for own in about["shifted_features"])
        words += f" Tail rows are extreme in {', or '.join(pairs)}."
    for method in study.methods(place):
        n, n_diverged = len(study.runs[(*place, method)]), study.n_diverged(place, method)
        if n_diverged:
            lost = f"{n_diverged} of {n} runs diverged and {'is' if n_diverged == 1 else 'are'}"
            words += f" {label(method)}: {lost} not in the numbers."
    return words


def _span(sizes: Sequence[int] | int) -> str:
    every = [sizes] if isinstance(sizes, int) else list(sizes)
    if not every:
        return "?"
    return " to ".join(dict.fromkeys(f"{size:,}" for size in (min(every), max(every))))


def questions(
    study: Study, sheets: Mapping[str, Sheet], verdicts: Sequence[Verdict], *, full: bool
) -> list[Question]:
    """One for each ablation of which there are results; findings from full studies alone."""
    tasks = study.tasks()
    by_id = {verdict.id: verdict for verdict in verdicts}
    made = []
    for name, ablation in ABLATIONS.items():
        datasets = ablation.present(study)
        if datasets:
            charts = tuple(
                variants(study, ablation, dataset, metric)
                for dataset in datasets
                for metric in (*SHOWN[tasks[dataset]], "member_disagreement")
                if ablation.means(study, dataset, metric)
            )
            finding = _finding(study, ablation, datasets) if full else ""
            sheet, verdict = sheets[f"ablation-{name}"], by_id.get(ablation.claim)
            made.append(Question(sheet.name, ablation.question, finding, verdict, charts, sheet))
    return made


def _finding(study: Study, ablation: Ablation, datasets: Sequence[str]) -> str:
    said = []
    for dataset in datasets:
        means = {variant.name: cell for variant, cell in ablation.means(study, dataset, "nll")}
        best = best_set(means)
        lost = [variant.name for variant in ablation.diverged(study, dataset)]
        words = "all tie" if len(best) == len(means) and not lost else "; ".join(best)
        words += f" (all runs diverged: {'; '.join(lost)})" if lost else ""
        said.append(f"{dataset_name(dataset)} {words}")
    return f"Among the best in NLL: {' | '.join(said)}."
