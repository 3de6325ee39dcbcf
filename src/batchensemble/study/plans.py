"""Which runs the study has: profiles, and the units of each dataset."""

from collections.abc import Sequence
from dataclasses import dataclass

from batchensemble.data.frames import read_columns
from batchensemble.study.additions import fingerprint
from batchensemble.study.datasets import SERIES, TABLES, load_series, load_table
from batchensemble.study.spec import PLAIN, VARIANTS, Change, Settings, Unit, units_of
from batchensemble.study.tables import N_SEEDS, QUICK
from batchensemble.words import one_of

RIVALS = ("deep_ensemble", "mc_dropout", "single")


@dataclass(frozen=True)
class Profile:
    """How thorough the study is."""

    n_seeds: int
    settings: Settings
    n_repeats: int  # of timings
    note: str


PROFILES = {
    "full": Profile(N_SEEDS, Settings(), 5, "the paper's setting"),
    "quick": Profile(2, Settings(epochs=50, most_rows=2_000, most_windows=150), 1, QUICK),
}
ABLATION_PROFILES = {
    "full": PROFILES["full"],
    "quick": Profile(2, Settings(epochs=20, most_rows=1_000, most_windows=100), 1, QUICK),
}


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


def longest_first(units: Sequence[Unit]) -> list[Unit]:
    """So that no long unit starts last. A window costs about 20 rows: it is read step by step."""
    rows = {
        name: len(load_table(name).y) if name in TABLES else 20 * len(load_series(name).values)
        for name in {unit.dataset for unit in units}
    }
    return sorted(units, key=lambda unit: -rows[unit.dataset] * len(unit.changes))


def check_names(names: Sequence[str]) -> list[str]:
    """The names, all of known datasets."""
    return [one_of(name, (*TABLES, *SERIES), "dataset") for name in names]


def loadable(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The datasets that can be loaded, and for each of the others why not."""
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
