"""The study and its ablations, one function each: plan, run what is unfinished, write outputs."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from joblib import cpu_count
from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table as RichTable

from batchensemble.estimators.base import pick_device
from batchensemble.plots.sheets import Cell, MeanSE, Sheet, show
from batchensemble.study.ablations import ACKLEY
from batchensemble.study.additions import NOTHING, Additions, fingerprint
from batchensemble.study.cost import compile_kernels, measure_costs
from batchensemble.study.costs_file import check_costs
from batchensemble.study.datasets import SERIES, TABLES
from batchensemble.study.outputs import write_outputs
from batchensemble.study.plans import (
    PROFILES,
    STANDARD,
    Profile,
    choose,
    loadable,
    longest_first,
    not_run,
    plan,
    variants_of,
)
from batchensemble.study.results import Study
from batchensemble.study.runner import run_units, unfinished
from batchensemble.study.sheets import main_sheet
from batchensemble.study.spec import Unit
from batchensemble.study.store import Result, Store
from batchensemble.training.methods import METHODS
from batchensemble.training.workers import MapCalls
from batchensemble.words import one_of


def reproduce(
    *,
    profile: str,
    only: Sequence[str],
    methods: Sequence[str],
    additions: Additions,
    device: str,
    folder: Path,
    n_jobs: int,
    console: Console,
    n_seeds: int | None = None,
    elsewhere: MapCalls | None = None,
) -> list[Result]:
    """Run what is unfinished, write all outputs, print the main table; returns all results.

    only      parts of the study (`plans.PARTS`) and names of datasets
    n_seeds   instead of the profile's
    elsewhere  where units are run, if not here
    """
    chosen = PROFILES[one_of(profile, PROFILES, "profile")]
    if n_seeds is not None:
        chosen = replace(chosen, n_seeds=n_seeds)
    session = Session(chosen, pick_device(device), folder, n_jobs, console, elsewhere)
    added = additions.register()
    parts, named = choose(only)
    if methods and parts == STANDARD:
        parts = tuple(part for part in parts if part != "ablations")  # of BatchEnsemble alone
    words = tuple(one_of(word, METHODS, "method") for word in methods) or tuple(METHODS)
    here, left_out = loadable(named or added or _all_datasets(profile))
    units = [unit for name in here for unit in plan(name, chosen, words, parts)]
    measured = [name for name in here if name not in ACKLEY] if "costs" in parts else []
    measured = [] if methods else measured
    left_out += not_run(only, here, chosen, words)
    if "costs" in only and not measured:
        left_out.append("costs, which are of all methods together, and not of Ackley's function")
    session.check({name: fingerprint(name) for name in here})
    with session.compiling(measured):
        session.run(units, additions)
    left_out += [
        f"{name} under shift, which needs two numeric features"
        for name in here
        if name in TABLES and variants_of(name) == ("id",)
    ]
    if measured:
        session.measure(measured)
    return session.conclude(left_out, with_table="main" in parts)


def _all_datasets(profile: str) -> list[str]:
    """The generated series, which is not the paper's, only in a quick study."""
    return [name for name in (*TABLES, *SERIES) if profile == "quick" or name != "seasonal"]


@dataclass(frozen=True)
class Session:
    """Where and how runs are done; a negative `n_jobs` is one per core, or one on a GPU."""

    profile: Profile
    device: torch.device
    folder: Path
    n_jobs: int
    console: Console
    elsewhere: MapCalls | None = None

    @property
    def n_processes(self) -> int:
        if self.n_jobs < 0:
            return 1 if self.device.type == "cuda" else int(cpu_count())
        return self.n_jobs

    def check(self, data: Mapping[str, str]) -> None:
        """Refuse results with other settings, or of other data of these datasets."""
        Store(self.folder / "runs").check(self.profile.settings, data)
        check_costs(self.folder / "costs.json", self.profile.settings, data)

    def run(self, units: Sequence[Unit], additions: Additions = NOTHING) -> None:
        """Run unfinished units, the longest first, with a progress bar and their first metrics."""
        if self.n_jobs == 0 or self.n_jobs < -1:
            raise ValueError(
                f"expected jobs of at least 1, or -1 for one per core, got {self.n_jobs}"
            )
        store, profile = Store(self.folder / "runs"), self.profile
        runs = [run for unit in units for run in unit.runs]
        done = sum(run in store for run in runs)
        self.console.print(
            f"{profile.n_seeds} seeds, {profile.settings.epochs} epochs ({profile.note}): "
            f"{len(runs)} runs, {done} of them done before; results in {store.folder}",
            soft_wrap=True,
        )
        n_jobs = self.n_processes
        waiting = unfinished(longest_first(units), store)
        with Progress(*COLUMNS, console=self.console) as progress:
            task = progress.add_task("", total=len(runs), completed=done, running=0, left=0)

            def show_left() -> None:
                sizes = [len(unit.runs) for unit in waiting]
                progress.update(task, running=sum(sizes[:n_jobs]), left=sum(sizes[n_jobs:]))

            def tell(unit: Unit, results: list[Result]) -> None:
                waiting.remove(unit)
                progress.advance(task, len(unit.runs))
                show_left()
                for line in _first_metrics(unit, results):
                    progress.console.print(line, soft_wrap=True, highlight=False, markup=False)

            show_left()
            run_units(
                list(waiting),
                store,
                device=self.device,
                n_jobs=n_jobs,
                additions=additions,
                tell=tell,
                elsewhere=self.elsewhere,
            )

    @contextmanager
    def compiling(self, datasets: Sequence[str]) -> Iterator[None]:
        """Compile what will be measured on a GPU, while other processes run units."""
        if self.device.type != "cuda" or self.n_processes < 2 or not datasets:
            yield
            return
        with ThreadPoolExecutor(1) as thread:
            # An error comes again, and is told, when they are measured.
            thread.submit(compile_kernels, datasets, self.device, self.profile.settings)
            yield

    def measure(self, datasets: Sequence[str]) -> None:
        """Time and memory of the methods, where they are not known yet."""
        with self.console.status("Measuring time and memory") as status:
            measure_costs(
                datasets,
                self.device,
                self.folder / "costs.json",
                settings=self.profile.settings,
                n_repeats=self.profile.n_repeats,
                tell=lambda line: status.update(f"Measuring time and memory: {line}"),
            )

    def conclude(self, left_out: Sequence[str], *, with_table: bool = False) -> list[Result]:
        """Write all outputs; print where they are and what was left out."""
        results, lines = write_outputs(self.folder, self.n_processes)
        if with_table and results:
            sheet = main_sheet(results)
            what = f"{sheet.title}: mean ± standard error of {_seeds(results)}"
            _print_sheet(self.console, sheet, f"{what}\n{self.profile.note}")
        for line in (*(f"Left out: {line}" for line in left_out), *lines):
            self.console.print(line, soft_wrap=True, markup=False)
        return results


COLUMNS = (
    TextColumn("{task.completed} done, {task.fields[running]} running, {task.fields[left]} left"),
    BarColumn(),
    TimeElapsedColumn(),
    TimeRemainingColumn(),
)
WIDEST = 10_000  # characters of a line


def _first_metrics(unit: Unit, results: Sequence[Result]) -> list[str]:
    """A line for each entrant of a finished unit: its first three metrics over the seeds."""
    lines = []
    for entrant in dict.fromkeys(result.run.entrant for result in results):
        mine = [result.metrics for result in results if result.run.entrant == entrant]
        names = [name for name in mine[0] if all(name in metrics for metrics in mine)][:3]
        means = (f"{name} {show(MeanSE.of([m[name] for m in mine]))}" for name in names)
        lines.append(f"  {unit.dataset} {unit.variant}, {entrant}: {', '.join(means)}")
    return lines


def _seeds(results: Sequence[Result]) -> str:
    """How many the places of the main study have, as the tables of each place count them."""
    study = Study(results, paired=True)
    counts = {study.n_seeds(place) for place in study.places()} or {0}
    few, many = min(counts), max(counts)
    return f"{few} to {many} seeds" if few < many else f"{many} seed{'s' * (many != 1)}"


def _print_sheet(console: Console, sheet: Sheet, title: str) -> None:
    """As wide as its numbers are; a terminal that is narrower gets the methods in turns."""
    methods = range(3, len(sheet.columns))
    while methods:
        n = len(methods)
        table, width = _printed(console, sheet, methods, title)
        while console.is_terminal and width > console.width and n > 1:
            n -= 1
            table, width = _printed(console, sheet, methods[:n], title)
        console.print(table, crop=False)
        methods = methods[n:]


def _printed(
    console: Console, sheet: Sheet, methods: Sequence[int], title: str
) -> tuple[RichTable, int]:
    """A table of some methods that cuts no number, and its width."""
    table = RichTable(box=SIMPLE, padding=(0, 1, 0, 0), pad_edge=False, title=title)
    table.add_column("", no_wrap=True)
    for i in methods:
        table.add_column(escape(sheet.columns[i]), justify="right", no_wrap=True)
    before: tuple[Cell, ...] = ()
    for row in sheet.rows:
        dataset, variant, metric = row[:3]
        if (dataset, variant) != before:
            before = (dataset, variant)
            table.add_row(f"[bold]{escape(str(dataset))} {variant}[/bold]")
        table.add_row(f"  {metric}", *(show(row[i]).replace(" ± ", "±") for i in methods))
    endless = console.options.update(max_width=WIDEST)
    table.width = console.measure(table, options=endless).maximum
    return table, table.width
