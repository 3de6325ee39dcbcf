"""Which claims survive our open choices: each choice is a change of all methods, declared here.

The paper leaves these open, or what it says cannot be run as it stands. `reproduce --only
sensitivity` runs the main study once more for each; the table compares the claims' verdicts.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from batchensemble.plots.sheets import Cell, Sheet
from batchensemble.study.claims import Verdict, judge_claims
from batchensemble.study.results import Study
from batchensemble.study.spec import PLAIN, Change
from batchensemble.study.store import Result

TABLES, SERIES = ("regression", "classification"), ("forecasting",)
FLOORED = "nll_floored"


@dataclass(frozen=True)
class Choice:
    """Something of ours that could have been chosen otherwise.

    change      what is run instead; None if only a score differs
    unchanged   methods that it is not tried for
    """

    name: str
    change: Change | None
    tasks: tuple[str, ...] = (*TABLES, *SERIES)
    unchanged: tuple[str, ...] = ()


CHOICES = (
    # Without dropout MC dropout is the single network: it keeps its own.
    Choice("no dropout", Change(dropout=0.0), unchanged=("mc_dropout",)),
    Choice("objective as written", Change(bounded=False), ("regression", *SERIES)),
    Choice("probabilities of at least 10^-12", None, ("classification",)),
    Choice("uniform biases", Change(bias="uniform")),
    Choice("samples fed back in training", Change(feedback="sample"), SERIES),
)


def chosen_otherwise(results: Iterable[Result], choice: Choice) -> list[Result]:
    """The main study with the runs of a choice in place of its own.

    Runs that the choice was not tried for stay as they are; ablations, which are not run again, are
    left out. Empty if there are no runs of the choice.
    """
    every = [r for r in results if r.run.change in (PLAIN, choice.change)]
    if choice.change is None:
        if not any(FLOORED in result.metrics for result in every):
            return []
        return [
            dataclasses.replace(r, metrics={**r.metrics, "nll": r.metrics.get(FLOORED, nll)})
            if (nll := r.metrics.get("nll")) is not None
            else r
            for r in every
        ]
    own = {_key(r): r for r in every if r.run.change == choice.change}
    if not own:
        return []
    return [
        dataclasses.replace(own[_key(r)], run=r.run) if _key(r) in own else r
        for r in every
        if r.run.change == PLAIN
    ]


def sensitivity_sheet(
    results: Sequence[Result], costs: Sequence[Mapping[str, Any]], verdicts: Sequence[Verdict]
) -> Sheet:
    """A row for each claim: how many parts hold, in the main study and under each choice."""
    columns = {"main study": list(verdicts)}
    for choice in CHOICES if verdicts else ():
        otherwise = chosen_otherwise(results, choice)
        if otherwise:
            columns[choice.name] = judge_claims(Study(otherwise, costs))
    rows: list[tuple[Cell, ...]] = []
    for i, verdict in enumerate(verdicts if len(columns) > 1 else ()):
        cells = [_told(own[i], verdict) for own in columns.values()]
        rows.append((verdict.id, verdict.text, *cells))
    return Sheet(
        "sensitivity",
        "Which claims survive our open choices",
        ("id", "claim", *columns),
        tuple(rows),
        "How many parts of a claim hold; in brackets how many parts have another verdict than in "
        "the main study. Diverged: parts that cannot be judged, because runs diverged. Where a "
        "choice has no runs yet, it has no column.",
    )


def _told(own: Verdict, main: Verdict) -> str:
    words = [part.verdict for part in own.parts if part.counts]
    before = [part.verdict for part in main.parts if part.counts]
    if not any(words):
        return "not run"
    said = f"{words.count('holds')} of {len(words)}"
    changed = sum(a != b for a, b in zip(words, before, strict=True) if a is not None)
    lost = words.count(None)
    notes = [f"{changed} changed"] * bool(changed) + [f"{lost} diverged"] * bool(lost)
    return f"{said} ({', '.join(notes)})" if notes else said


def _key(result: Result) -> tuple[str, str, str, int]:
    run = result.run
    return run.dataset, run.variant, run.method, run.seed
