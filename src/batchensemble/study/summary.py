"""The study from one command: plan, run what is left, and print a table for every dataset."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as Sheet

from batchensemble.datasets import SERIES, TABLES, load_series, load_table
from batchensemble.estimators.base import pick_device
from batchensemble.methods import METHODS
from batchensemble.study.figures import draw_figures
from batchensemble.study.runner import run_units
from batchensemble.study.spec import PLAIN, VARIANTS, Change, Settings, Unit, units_of
from batchensemble.study.store import Result, Store
from batchensemble.study.tables import over_seeds, write_runs
from batchensemble.words import one_of


@dataclass(frozen=True)
class Profile:
    """How thorough the study is."""

    n_seeds: int
    settings: Settings
    note: str


RIVALS = ("deep_ensemble", "mc_dropout", "single")
PROFILES = {
    "full": Profile(5, Settings(), "the paper's setting"),
    "quick": Profile(
        2,
        Settings(epochs=100, most_rows=3_000, most_windows=200),
        "QUICK: fewer epochs, seeds and rows; draw no conclusions",
    ),
}


def reproduce(
    *,
    profile: str,
    only: Sequence[str] | None,
    device: str,
    folder: Path,
    n_jobs: int,
    console: Console,
) -> list[Result]:
    """Run what is not done yet, print a table for each dataset, and return all results."""
    chosen = PROFILES[one_of(profile, PROFILES, "profile")]
    names = [one_of(name, (*TABLES, *SERIES), "dataset") for name in only or (*TABLES, *SERIES)]
    where = pick_device(device)
    store = Store(folder / "runs")
    here, left_out = _present(names)
    units = [unit for name in here for unit in plan(name, chosen)]
    runs = [run for unit in units for run in unit.runs]
    done = sum(run in store for run in runs)
    console.print(
        f"Profile {profile}: {chosen.n_seeds} seeds, {chosen.settings.epochs} epochs; {len(runs)} "
        f"runs, {done} of them done before; results in {folder}.",
        soft_wrap=True,
    )
    columns = (TextColumn("run"), MofNCompleteColumn(), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.description}"), console=console) as progress:
        task = progress.add_task("", total=len(runs), completed=done)

        def tell(unit: Unit) -> None:
            words = f"{unit.dataset} {unit.variant}: {', '.join(unit.methods)}"
            progress.update(task, advance=len(unit.runs), description=words)

        n_jobs = 1 if where.type == "cuda" and n_jobs < 0 else n_jobs
        run_units(units, store, device=where, n_jobs=n_jobs, tell=tell)
    results = [store.read(run) for run in runs]
    write_runs(results, folder / "runs.csv")
    for name in here:
        for variant in VARIANTS:
            own = [
                r
                for r in results
                if (r.run.dataset, r.run.variant, r.run.change) == (name, variant, PLAIN)
            ]
            if own:
                console.print(_sheet(f"{name} ({variant})", chosen, own))
    for line in left_out:
        console.print(f"Left out: {line}", soft_wrap=True)
    console.print(f"All numbers: {folder / 'runs.csv'}", soft_wrap=True)
    if find_spec("matplotlib") is None:
        console.print("No figures: they need matplotlib, pip install batchensemble[plots]")
    else:
        note = "" if profile == "full" else chosen.note
        draw_figures(results, folder / "figures", note)
        console.print(f"Figures: {folder / 'figures'}", soft_wrap=True)
    return results


def plan(dataset: str, profile: Profile) -> list[Unit]:
    """The units of a dataset; a series has no shifted variant, it shifts by itself."""
    variants = VARIANTS if dataset in TABLES else ("id",)
    entries = [(tuple(METHODS), PLAIN), (RIVALS, Change(matched=True))]
    if dataset in TABLES and load_table(dataset).task == "regression":
        entries.append((tuple(METHODS), Change(bounded=False)))
    return [
        unit
        for variant in variants
        for methods, change in entries
        for unit in units_of(dataset, variant, methods, profile.n_seeds, profile.settings, change)
    ]


def _present(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Datasets that are here, and why the others are not."""
    here, left_out = [], []
    for name in names:
        try:
            load_table(name) if name in TABLES else load_series(name)
            here.append(name)
        except FileNotFoundError as error:
            left_out.append(str(error))
    return here, left_out


def _sheet(title: str, profile: Profile, results: Sequence[Result]) -> Sheet:
    sheet = Sheet(
        box=SIMPLE,
        title=f"{title}: mean ± standard error of {profile.n_seeds} seeds\n{profile.note}",
    )
    sheet.add_column("", no_wrap=True)
    for word in METHODS:
        sheet.add_column(word, justify="right", no_wrap=True)
    sizes = {r.run.method: r.about["n_parameters"] for r in results}
    sheet.add_row("parameters", *(f"{sizes[word]:,}" for word in METHODS))
    for metric in results[0].metrics:
        found = over_seeds(results, metric)
        cells = (f"{found[w].mean:.3f}±{found[w].se:.3f}" if w in found else "" for w in METHODS)
        sheet.add_row(_short(metric), *cells)
    return sheet


def _short(metric: str) -> str:
    """A metric's name as the narrow first column shows it."""
    for ending in ("_area", "_score"):
        metric = metric.removesuffix(ending)
    for long, short in (("coverage", "cover"), ("member_", ""), ("miscalibration", "miscal.")):
        metric = metric.replace(long, short)
    return metric.replace("_", " ")
