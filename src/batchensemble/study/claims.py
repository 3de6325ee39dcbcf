"""The claims of the paper, each with a verdict computed from the results.

Verdicts come from full runs of five seeds alone; of other runs the numbers are shown without one.
"""

import dataclasses
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from batchensemble.plots.sheets import Cell, Sheet
from batchensemble.study.best_sets import WORDS, Word, together
from batchensemble.study.claim_list import CLAIMS, Claim
from batchensemble.study.results import Study
from batchensemble.study.statements import ALL, Need, Part


@dataclass(frozen=True)
class Verdict:
    """What came of a claim; `verdict` is None if it is not judged, and `why_not` says why.

    paired   the verdict by paired differences, where it was asked for, and those of the parts
    """

    id: str
    text: str
    verdict: Word | None
    why_not: str
    parts: tuple[Part, ...]
    paired: Word | None = None
    paired_parts: tuple[Word | None, ...] = ()


def judge_claims(study: Study, paired: Study | None = None) -> list[Verdict]:
    """Every claim in order; what is missing makes a claim unjudged, never an error.

    With a study that is judged by paired differences, its verdicts stand beside the others.
    """
    verdicts = [_judge(claim, study) for claim in CLAIMS]
    if paired is None:
        return verdicts
    return [
        dataclasses.replace(
            verdict,
            paired=beside.verdict,
            paired_parts=tuple(part.verdict for part in beside.parts),
        )
        for verdict, beside in zip(verdicts, judge_claims(paired), strict=True)
    ]


def write_claims(verdicts: Sequence[Verdict], path: Path) -> None:
    """`claims.json`: a list; the numbers of a claim stand under the texts of its parts."""
    entries = []
    for verdict in verdicts:
        entry = dataclasses.asdict(verdict)
        entry["numbers"] = {part["text"]: part.pop("numbers") for part in entry["parts"]}
        for part, word in zip(entry["parts"], entry.pop("paired_parts"), strict=False):
            part["paired"] = word
        entries.append(entry)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(entries, indent=1, allow_nan=False) + "\n")


def claims_sheet(verdicts: Sequence[Verdict]) -> Sheet:
    """One row for each claim: how many of its parts hold, hold partly, or do not, by both rules."""
    rows: list[tuple[Cell, ...]] = []
    is_paired = any(verdict.paired_parts for verdict in verdicts)
    for verdict in verdicts:
        counted = [i for i, part in enumerate(verdict.parts) if part.counts]
        words = [verdict.parts[i].verdict for i in counted]
        cells: list[Cell] = [verdict.verdict or "not judged", *map(words.count, WORDS)]
        if is_paired:
            beside = [verdict.paired_parts[i] for i in counted]
            cells += [verdict.paired or "not judged", *map(beside.count, WORDS)]
        rows.append((verdict.id, verdict.text, *cells))
    names = ("verdict", *(f"parts: {word}" for word in WORDS))
    return Sheet(
        "claims",
        "The paper's claims",
        ("id", "claim", *names, *(f"paired {name}" for name in names if is_paired)),
        tuple(rows),
        "Partly: the claimed winners are inside a larger best set, or only some parts hold. "
        "Paired: by the 95 % interval of differences on the same seeds, of all seeds there are; "
        "the others are the paper's rule, mean ± standard error of five seeds.",
    )


def _judge(claim: Claim, study: Study) -> Verdict:
    parts = [part for statement in claim.statements for part in statement.parts(study)]
    why_not = write_needs(need for one in claim.statements for need in one.needs(study))
    words = [part.verdict for part in parts if part.counts and part.verdict is not None]
    return Verdict(claim.id, claim.text, None if why_not else together(words), why_not, (*parts,))


def write_needs(needs: Iterable[Need]) -> str:
    """One sentence; entrants are named where not all four methods are missing."""
    whats: dict[str, dict[str, list[str]]] = {}
    for what, where, who in dict.fromkeys(needs):
        whats.setdefault(what, {}).setdefault(where, []).append(who)
    parts = []
    for what, places in whats.items():
        named = [
            where if {*who} >= {*ALL} else f"{where} ({', '.join(who)})"
            for where, who in places.items()
            if where
        ]
        parts.append(f"{what}: {', '.join(named)}" if named else what)
    return f"needs {'; '.join(parts)}" if parts else ""
