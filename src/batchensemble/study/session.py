"""Work on the screen: runs with their progress and numbers, measurements, and what came out."""

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

from batchensemble.plots.sheets import MeanSE, Sheet, show
from batchensemble.study.cost import measure_costs
from batchensemble.study.outputs import write_outputs
from batchensemble.study.own import Own
from batchensemble.study.runner import NOTHING, run_units
from batchensemble.study.sheets import main_sheet
from batchensemble.study.spec import Settings, Unit
from batchensemble.study.store import Result, Store


@dataclass(frozen=True)
class Profile:
    """How thorough the study is."""

    n_seeds: int
    settings: Settings
    n_repeats: int  # of timings
    note: str


@dataclass(frozen=True)
class Session:
    """Where and how runs are done; a negative `n_jobs` is one for each core, or one on a GPU."""

    profile: Profile
    device: torch.device
    folder: Path
    n_jobs: int
    console: Console

    def run(self, units: Sequence[Unit], own: Own = NOTHING) -> None:
        """Do what is not done yet, and show how far it is."""
        if self.n_jobs == 0:
            raise ValueError("expected jobs of at least 1, or -1 for one on each core, got 0")
        store, profile = Store(self.folder / "runs"), self.profile
        store.check(profile.settings)
        runs = [run for unit in units for run in unit.runs]
        done = sum(run in store for run in runs)
        self.console.print(
            f"{profile.n_seeds} seeds, {profile.settings.epochs} epochs ({profile.note}): "
            f"{len(runs)} runs, {done} of them done before; kept in {store.folder}",
            soft_wrap=True,
        )
        waiting = [unit for unit in units if not all(run in store for run in unit.runs)]
        with Progress(*COLUMNS, console=self.console) as progress:
            task = progress.add_task("", total=len(runs), completed=done, running=0, left=0)

            def show_left() -> None:
                sizes = [len(unit.runs) for unit in waiting]
                n = self._at_once
                progress.update(task, running=sum(sizes[:n]), left=sum(sizes[n:]))

            def tell(unit: Unit, results: list[Result]) -> None:
                waiting.remove(unit)
                progress.advance(task, len(unit.runs))
                show_left()
                for line in _numbers(unit, results):
                    progress.console.print(line, soft_wrap=True, highlight=False, markup=False)

            show_left()
            run_units(units, store, device=self.device, n_jobs=self._at_once, own=own, tell=tell)

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
        """Write all outputs, and say what is where and what was left out."""
        results, said = write_outputs(self.folder)
        if with_table:
            self.console.print(_printed(main_sheet(results), self.profile))
        for line in (*(f"Left out: {line}" for line in left_out), *said):
            self.console.print(line, soft_wrap=True, markup=False)
        return results

    @property
    def _at_once(self) -> int:
        if self.n_jobs > 0:
            return self.n_jobs
        return 1 if self.device.type == "cuda" else int(cpu_count())


COLUMNS = (
    TextColumn("{task.completed} done, {task.fields[running]} running, {task.fields[left]} left"),
    BarColumn(),
    TimeElapsedColumn(),
    TimeRemainingColumn(),
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
