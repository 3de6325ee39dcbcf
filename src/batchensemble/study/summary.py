"""The study from one command: plan, run what is left, measure, and write all outputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from joblib import cpu_count
from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table as RichTable

from batchensemble.datasets import SERIES, TABLES, load_series, load_table
from batchensemble.estimators.base import pick_device
from batchensemble.frames import read_columns
from batchensemble.methods import METHODS
from batchensemble.study.ablations import ABLATIONS, ACKLEY
from batchensemble.study.cost import measure_costs
from batchensemble.study.outputs import write_outputs
from batchensemble.study.own import Own, fingerprint
from batchensemble.study.runner import run_units
from batchensemble.study.sheets import main_sheet
from batchensemble.study.spec import PLAIN, VARIANTS, Change, Settings, Unit, units_of
from batchensemble.study.store import Result, Store
from batchensemble.study.tables import N_SEEDS, QUICK, MeanSE, Sheet, show
from batchensemble.words import one_of


@dataclass(frozen=True)
class Profile:
    """How thorough the study is."""

    n_seeds: int
    settings: Settings
    n_repeats: int  # of timings
    note: str


RIVALS = ("deep_ensemble", "mc_dropout", "single")
PROFILES = {
    "full": Profile(N_SEEDS, Settings(), 5, "the paper's setting"),
    "quick": Profile(2, Settings(epochs=50, most_rows=2_000, most_windows=150), 1, QUICK),
}

ABLATION_PROFILES = {
    "full": PROFILES["full"],
    "quick": Profile(2, Settings(epochs=20, most_rows=1_000, most_windows=100), 1, QUICK),
}


def reproduce(
    *,
    profile: str,
    only: Sequence[str],
    methods: Sequence[str],
    own: Own,
    device: str,
    folder: Path,
    n_jobs: int,
    console: Console,
) -> list[Result]:
    """Run what is not done yet, write all outputs, print the main table; returns all results."""
    chosen = PROFILES[one_of(profile, PROFILES, "profile")]
    added = own.register()
    names = _names(only) or added or [n for n in (*TABLES, *SERIES) if n not in ACKLEY]
    words = tuple(one_of(word, METHODS, "method") for word in methods) or tuple(METHODS)
    where = pick_device(device)
    here, left_out = _present(names)
    if not here:
        raise ValueError(f"there is no dataset to run: {'; '.join(left_out)}")
    units = [unit for name in here for unit in plan(name, chosen, words)]
    _run(units, chosen, Store(folder / "runs"), where, n_jobs, own, console)
    if not methods:
        _measure(here, chosen, where, folder / "costs.json", console)
    results, said = write_outputs(folder)
    console.print(_printed(main_sheet(results), chosen))
    for line in (*(f"Left out: {line}" for line in left_out), *said):
        console.print(line, soft_wrap=True)
    return results


def ablate(
    *,
    names: Sequence[str],
    profile: str,
    only: Sequence[str],
    device: str,
    folder: Path,
    n_jobs: int,
    console: Console,
) -> list[Result]:
    """The same for ablations: BatchEnsemble, changed in one thing at a time."""
    chosen = ABLATION_PROFILES[one_of(profile, ABLATION_PROFILES, "profile")]
    words = list(ABLATIONS) if "all" in names else names
    ablations = [ABLATIONS[one_of(word, (*ABLATIONS, "all"), "ablation")] for word in words]
    wanted = dict.fromkeys(name for ablation in ablations for name in ablation.datasets)
    names = _names(only)
    here, left_out = _present([name for name in wanted if name in names or not names])
    if not here:
        raise ValueError(
            f"there is no dataset to run; these ablations are made on {', '.join(wanted)}"
        )
    units = dict.fromkeys(
        unit
        for ablation in ablations
        for unit in ablation.units(here, chosen.n_seeds, chosen.settings)
    )
    where = pick_device(device)
    _run(list(units), chosen, Store(folder / "runs"), where, n_jobs, Own(), console)
    results, said = write_outputs(folder)
    for line in (*(f"Left out: {line}" for line in left_out), *said):
        console.print(line, soft_wrap=True)
    return results


def _names(only: Sequence[str]) -> list[str]:
    return [one_of(name, (*TABLES, *SERIES), "dataset") for name in only]


def plan(dataset: str, profile: Profile, methods: tuple[str, ...]) -> list[Unit]:
    """The units of a dataset: the main study, rivals of equal size, the objective as written."""
    rivals = tuple(method for method in methods if method in RIVALS)
    entries = [(methods, PLAIN), (rivals, Change(matched=True))]
    if dataset in TABLES and load_table(dataset).task == "regression":
        entries.append((methods, Change(bounded=False)))
    size = (profile.n_seeds, profile.settings)
    return [
        unit
        for variant in variants_of(dataset)
        for words, change in entries
        for unit in units_of(dataset, variant, words, *size, [change], fingerprint(dataset))
    ]


def variants_of(dataset: str) -> tuple[str, ...]:
    """A series shifts by itself; a table is shifted in two of its numeric features."""
    if dataset not in TABLES:
        return ("id",)
    columns = read_columns(load_table(dataset).X)
    return VARIANTS if sum(column.kind == "number" for column in columns) >= 2 else ("id",)


def _run(
    units: Sequence[Unit],
    profile: Profile,
    store: Store,
    device: torch.device,
    n_jobs: int,
    own: Own,
    console: Console,
) -> None:
    if n_jobs == 0:
        raise ValueError("expected jobs of at least 1, or -1 for one on each core, got 0")
    store.check(profile.settings)
    runs = [run for unit in units for run in unit.runs]
    done = sum(run in store for run in runs)
    console.print(
        f"{profile.n_seeds} seeds, {profile.settings.epochs} epochs ({profile.note}): "
        f"{len(runs)} runs, {done} of them done before; kept in {store.folder}",
        soft_wrap=True,
    )
    if device.type == "cuda" and n_jobs < 0:
        n_jobs = 1
    columns = (
        TextColumn(
            "{task.completed} done, {task.fields[running]} running, {task.fields[left]} left"
        ),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    at_once = cpu_count() if n_jobs < 0 else n_jobs

    with Progress(*columns, console=console) as progress:
        waiting = [unit for unit in units if not all(run in store for run in unit.runs)]
        task = progress.add_task("", total=len(runs), completed=done, running=0, left=0)

        def show_left() -> None:
            sizes = [len(unit.runs) for unit in waiting]
            progress.update(task, running=sum(sizes[:at_once]), left=sum(sizes[at_once:]))

        def tell(unit: Unit, results: list[Result]) -> None:
            waiting.remove(unit)
            progress.advance(task, len(unit.runs))
            show_left()
            for line in _numbers(unit, results):
                progress.console.print(line, soft_wrap=True, highlight=False, markup=False)

        show_left()
        run_units(units, store, device=device, n_jobs=n_jobs, own=own, tell=tell)


def _measure(
    datasets: Sequence[str], profile: Profile, device: torch.device, path: Path, console: Console
) -> None:
    with console.status("Measuring time and memory") as status:
        measure_costs(
            datasets,
            device,
            path,
            settings=profile.settings,
            n_repeats=profile.n_repeats,
            tell=lambda line: status.update(f"Measuring time and memory: {line}"),
        )


def _numbers(unit: Unit, results: Sequence[Result]) -> list[str]:
    """What a finished unit says of itself: the first numbers of each method."""
    lines = []
    for entrant in dict.fromkeys(result.run.entrant for result in results):
        mine = [result for result in results if result.run.entrant == entrant]
        known = [m for m in mine[0].metrics if all(m in r.metrics for r in mine)][:3]
        means = (f"{m} {show(MeanSE.of([r.metrics[m] for r in mine]))}" for m in known)
        lines.append(f"  {unit.dataset} {unit.variant}, {entrant}: {', '.join(means)}")
    return lines


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


def _printed(sheet: Sheet, profile: Profile) -> RichTable:
    table = RichTable(
        box=SIMPLE,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        title=f"{sheet.title}: mean ± standard error of {profile.n_seeds} seeds\n{profile.note}",
    )
    table.add_column("", no_wrap=True)
    for column in sheet.columns[3:]:
        table.add_column(column, justify="right", no_wrap=True)
    before: tuple[object, ...] = ()
    for dataset, variant, metric, *cells in sheet.rows:
        if (dataset, variant) != before:
            before = (dataset, variant)
            table.add_row(f"[bold]{escape(str(dataset))} {variant}[/bold]")
        table.add_row(f"  {metric}", *(show(cell).replace(" ± ", "±") for cell in cells))
    return table
