"""Which runs the study has: profiles, and the units of each dataset."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from batchensemble.data.frames import read_columns
from batchensemble.study.ablations import ABLATIONS, ACKLEY
from batchensemble.study.additions import fingerprint
from batchensemble.study.datasets import SERIES, TABLES, load_series, load_table
from batchensemble.study.results import N_SEEDS, QUICK
from batchensemble.study.sensitivity import CHOICES
from batchensemble.study.spec import PLAIN, VARIANTS, Change, Settings, Unit, units_of
from batchensemble.words import one_of

BE, DE = "batch_ensemble", "deep_ensemble"
N_STARTS = 4  # initialisations of a split, where its variance is told apart
EXTRAS = ("sensitivity", "starts")


@dataclass(frozen=True)
class Profile:
    """How thorough the study is."""

    n_seeds: int
    settings: Settings
    n_repeats: int  # of timings
    note: str
    ablated: tuple[str, ...] | None = None  # datasets that ablations are limited to


SMALL = ("diabetes", "breast_cancer", "electric", *ACKLEY)
PROFILES = {
    "full": Profile(N_SEEDS, Settings(), 5, "the paper's setting"),
    "quick": Profile(2, Settings(epochs=20, most_rows=500, most_windows=30), 1, QUICK, SMALL),
}
STANDARD = ("main", "matched", "as_written", "costs", "ablations")
PARTS = (*STANDARD, *ABLATIONS, *EXTRAS)
"""What `--only` chooses from: parts of the study, ablations one by one, and what is extra."""


def choose(words: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """Parts and datasets among the words of `--only`; all standard parts if it names none."""
    for word in words:
        one_of(word, (*PARTS, *TABLES, *SERIES), "part of the study or dataset")
    parts = tuple(word for word in words if word in PARTS)
    return parts or STANDARD, [word for word in words if word not in PARTS]


def plan(
    dataset: str,
    profile: Profile,
    methods: tuple[str, ...],
    parts: Sequence[str] = STANDARD,
) -> list[Unit]:
    """The units of a dataset in these parts, each once."""
    is_table = dataset in TABLES
    task = _facts(dataset).task if is_table else "forecasting"
    is_ackley = dataset in ACKLEY  # a dataset of ablations alone
    entries = [] if is_ackley else _entries(parts, task, methods)
    size = (profile.n_seeds, profile.settings)
    units = [
        unit
        for variant in variants_of(dataset)
        for words, changes in entries
        for unit in units_of(dataset, variant, words, *size, changes, fingerprint(dataset))
    ]
    if BE in methods and (profile.ablated is None or dataset in profile.ablated):
        ablations = [
            ablation
            for name, ablation in ABLATIONS.items()
            if name in parts or ("ablations" in parts and not ablation.is_extra)
        ]
        units += [unit for own in ablations for unit in own.units([dataset], *size)]
    return list(dict.fromkeys(units))


def not_run(
    words: Sequence[str], datasets: Sequence[str], profile: Profile, methods: tuple[str, ...]
) -> Iterator[str]:
    """The parts among the words of `--only` of which these datasets have nothing, and why."""
    for part in [word for word in words if word in PARTS and word != "costs"]:
        if any(plan(name, profile, methods, (part,)) for name in datasets):
            continue
        if part in ("ablations", *ABLATIONS) and BE not in methods:
            yield f"{part}, which needs the method {BE}"
        elif part in ("ablations", *ABLATIONS):
            parts = ABLATIONS.values() if part == "ablations" else [ABLATIONS[part]]
            own = dict.fromkeys(name for ablation in parts for name in ablation.datasets)
            there = [name for name in own if name in (profile.ablated or own)]
            yield f"{part}, which is for {', '.join(there) or 'the full profile'}"
        elif part == "as_written":
            yield f"{part}, which is for tables with a number as the target"
        else:
            yield f"{part}, which changes none of these methods on these datasets"


Entry = tuple[tuple[str, ...], list[Change]]


def _entries(parts: Sequence[str], task: str, methods: tuple[str, ...]) -> list[Entry]:
    """Methods and changes of the parts that are run on every dataset and variant."""

    def those(*words: str) -> tuple[str, ...]:
        return tuple(method for method in methods if method in words)

    entries: list[Entry] = []
    if "main" in parts:
        entries.append((methods, [PLAIN]))
    if "matched" in parts:
        entries.append((those("mc_dropout", "single"), [Change(matched=True)]))
        entries.append((those(DE), [Change(budget=BE)]))
        entries.append((those(BE), [Change(budget=DE)]))
    if "as_written" in parts and task == "regression":
        entries.append((methods, [Change(bounded=False)]))
    if "sensitivity" in parts:
        for choice in CHOICES:
            if task in choice.tasks and choice.change is not None:
                kept = tuple(m for m in methods if m not in choice.unchanged)
                entries.append((kept, [choice.change]))
    if "starts" in parts:
        entries.append((methods, [Change(start=i) for i in range(1, N_STARTS)]))
    return [(words, changes) for words, changes in entries if words]


def variants_of(dataset: str) -> tuple[str, ...]:
    """A series shifts by itself; a table is shifted in two of its numeric features."""
    if dataset not in TABLES:
        return ("id",)
    return VARIANTS if _facts(dataset).n_numbers >= 2 else ("id",)


class Facts(NamedTuple):
    task: str
    n_rows: int
    n_numbers: int  # columns of numbers


_READ: dict[str, tuple[object, Facts]] = {}


def _facts(name: str) -> Facts:
    """What a plan asks of a table, which is read once: that may take seconds."""
    source, facts = _READ.get(name, (None, None))
    if facts is None or source is not TABLES[name]:
        table = load_table(name)
        kinds = [column.kind for column in read_columns(table.X)]
        facts = Facts(table.task, len(table.y), kinds.count("number"))
        _READ[name] = TABLES[name], facts
    return facts


def longest_first(units: Sequence[Unit]) -> list[Unit]:
    """So that no long unit starts last.

    A window costs about 20 rows: it is read step by step. A network that is made wider costs about
    ten: it does not fit the chip of a GPU.
    """
    rows = {
        name: _facts(name).n_rows if name in TABLES else 20 * len(load_series(name).values)
        for name in {unit.dataset for unit in units}
    }

    def cost(unit: Unit) -> int:
        is_wider = any(change.matched or change.budget == DE for change in unit.changes)
        return rows[unit.dataset] * len(unit.changes) * (10 if is_wider else 1)

    return sorted(units, key=cost, reverse=True)


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
