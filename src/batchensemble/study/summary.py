"""The study and its ablations from one command each: plan, run what is left, conclude."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from batchensemble.data.frames import read_columns
from batchensemble.estimators.base import pick_device
from batchensemble.study.ablations import ABLATIONS, ACKLEY
from batchensemble.study.datasets import SERIES, TABLES, load_series, load_table
from batchensemble.study.own import Own, fingerprint
from batchensemble.study.session import Profile, Session
from batchensemble.study.spec import PLAIN, VARIANTS, Change, Settings, Unit, units_of
from batchensemble.study.store import Result
from batchensemble.study.tables import N_SEEDS, QUICK
from batchensemble.training.methods import METHODS
from batchensemble.words import one_of

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
    session = Session(chosen, pick_device(device), folder, n_jobs, console)
    added = own.register()
    names = _names(only) or added or [n for n in (*TABLES, *SERIES) if n not in ACKLEY]
    words = tuple(one_of(word, METHODS, "method") for word in methods) or tuple(METHODS)
    here, left_out = _present(names)
    units = [unit for name in here for unit in plan(name, chosen, words)]
    session.run(longest_first(units), own)
    left_out += [
        f"{name} under shift, which needs two numeric features"
        for name in here
        if name in TABLES and variants_of(name) == ("id",)
    ]
    if not methods:
        session.measure(here)
    return session.conclude(left_out, with_table=True)


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
    session = Session(chosen, pick_device(device), folder, n_jobs, console)
    words = list(ABLATIONS) if "all" in names else names
    ablations = [ABLATIONS[one_of(word, (*ABLATIONS, "all"), "ablation")] for word in words]
    wanted = dict.fromkeys(name for ablation in ablations for name in ablation.datasets)
    for name in _names(only):
        one_of(name, wanted, "dataset of these ablations")
    here, left_out = _present([name for name in wanted if name in only or not only])
    units = [u for a in ablations for u in a.units(here, chosen.n_seeds, chosen.settings)]
    session.run(longest_first(list(dict.fromkeys(units))))
    return session.conclude(left_out)


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


def longest_first(units: Sequence[Unit]) -> list[Unit]:
    """So that the last to finish is a short one. A window is read step by step, unlike a row."""
    rows = {
        name: len(load_table(name).y) if name in TABLES else 20 * len(load_series(name).values)
        for name in {unit.dataset for unit in units}
    }
    return sorted(units, key=lambda unit: -rows[unit.dataset] * len(unit.changes))


def variants_of(dataset: str) -> tuple[str, ...]:
    """A series shifts by itself; a table is shifted in two of its numeric features."""
    if dataset not in TABLES:
        return ("id",)
    columns = read_columns(load_table(dataset).X)
    return VARIANTS if sum(column.kind == "number" for column in columns) >= 2 else ("id",)


def _present(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Datasets that are here, and why the others are not."""
    here, left_out = [], []
    for name in names:
        try:
            load_table(name) if name in TABLES else load_series(name)
            here.append(name)
        except FileNotFoundError as error:
            left_out.append(str(error))
    if not here:
        raise ValueError(f"there is no dataset to run: {'; '.join(left_out)}")
    return here, left_out
