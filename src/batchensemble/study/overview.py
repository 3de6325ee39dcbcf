"""The pictures that the report opens with: who has the lower NLL, and how much of a claim holds."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from batchensemble.plots.charts import Chart
from batchensemble.plots.looks import Look, look
from batchensemble.plots.svg import SOFT, tip
from batchensemble.study.abstract import place_name
from batchensemble.study.best_sets import WORDS, Gap, paired_gap
from batchensemble.study.claims import judge_claims
from batchensemble.study.results import Study
from batchensemble.study.statements import BE, DE, MC

LONGEST = 24  # characters of a name on an axis


def nll_gaps(study: Study) -> Chart | None:
    """By how much rivals are worse than BatchEnsemble in NLL, seed by seed, everywhere.

    A difference of log-likelihoods does not depend on the unit of the target, so datasets can be
    compared. None where there is nothing to compare.
    """
    places = study.places()
    gaps = {
        rival: [
            paired_gap(*(study.values(place, who, "nll") for who in (BE, rival)))
            for place in places
        ]
        for rival in (DE, MC)
    }
    lines = [(look(rival), own) for rival, own in gaps.items() if any(own)]
    if not lines:
        return None
    return forest(
        "NLL of a rival less that of BatchEnsemble",
        [place_name(place) for place in places],
        lines,
        x="BatchEnsemble better →",
    )


def claim_strengths(study: Study) -> Chart | None:
    """How many of its parts hold, for every judged claim, the strongest first."""
    rows = []
    for verdict in judge_claims(study):
        if verdict.verdict is not None:
            words = [part.verdict for part in verdict.parts if part.counts]
            rows.append((verdict.id, verdict.text, [words.count(word) for word in WORDS]))
    if not rows:
        return None
    rows.sort(key=lambda row: [-row[2][0] / sum(row[2]), -row[2][1] / sum(row[2])])
    rule = ", by paired differences" if study.paired else ""
    return strengths(f"Of the parts of each claim, how many hold{rule}", rows)


def forest(
    title: str,
    rows: Sequence[str],
    lines: Sequence[tuple[Look, Sequence[Gap | None]]],
    *,
    x: str,
) -> Chart:
    """Differences (mean, low, high) and a line at 0: a row each, a colour for each method."""
    known = [end for _, gaps in lines for gap in gaps if gap for end in gap]
    # A few wide intervals would hide the rest: they are cut off and end in an arrow.
    low, high = np.quantile(known, [0.03, 0.97]) if known else (-1.0, 1.0)
    pad = 0.05 * (high - low)
    low, high = min(low, 0.0) - pad, max(high, 0.0) + pad

    def draw(axes: Any) -> None:
        axes.axvline(0, color=SOFT, lw=1, zorder=0)
        for i, (method, gaps) in enumerate(lines):
            shift = 0.16 * (2 * i - len(lines) + 1)
            for y, gap in enumerate(gaps):
                if gap is None:
                    continue
                mean, start, end = gap
                axes.plot([start, end], [y + shift] * 2, color=method.colour, lw=1.3)
                (mark,) = axes.plot(
                    np.clip(mean, low, high), y + shift, method.mark, color=method.colour, ms=4
                )
                tip(mark, [f"{rows[y]}, {method.label}: {mean:.3f} ({start:.3f} to {end:.3f})"])
                for at, sign in ((low, "<"), (high, ">")):
                    if (start < at and sign == "<") or (end > at and sign == ">"):
                        axes.plot(at, y + shift, sign, color=method.colour, ms=4, clip_on=False)
            axes.plot([], [], method.mark, color=method.colour, ms=4, label=method.label)
        names = [row if len(row) <= LONGEST else f"{row[:LONGEST]}…" for row in rows]
        axes.set_yticks(range(len(rows)), names)
        axes.set(xlabel=x, xlim=(low, high), ylim=(len(rows) - 0.5, -0.5))

    said = "; ".join(
        f"{row} " + ", ".join(f"{method.label} {g[y].mean:.3f}" for method, g in lines if g[y])  # type: ignore[union-attr]
        for y, row in enumerate(rows)
    )
    return Chart(title, f"{title}: {said}.", draw, height=0.9 + 0.28 * len(rows))


STRENGTHS = (("holds", "#0072B2"), ("partly", "#9ecae1"), ("does not hold", "#D55E00"))


def strengths(title: str, rows: Sequence[tuple[str, str, Sequence[int]]]) -> Chart:
    """A bar for each (name, words, how many hold, hold partly, do not), cut into shares."""

    def draw(axes: Any) -> None:
        for y, (name, words, counts) in enumerate(rows):
            start, n = 0.0, sum(counts)
            for (word, colour), count in zip(STRENGTHS, counts, strict=True):
                if count:
                    bars = axes.barh(y, count / n, left=start, color=colour, height=0.75)
                    tip(bars[0], [f"{name}: {count} of {n} parts: {word}\n{words}"])
                start += count / n
            axes.text(1.02, y, f"{counts[0]} of {n}", fontsize=7, va="center")
        for word, colour in STRENGTHS:
            axes.barh([0], [0], color=colour, label=word)
        axes.set_yticks(range(len(rows)), [name for name, *_ in rows])
        axes.set(xlim=(0, 1), ylim=(len(rows) - 0.4, -0.6), xlabel="share of a claim's parts")

    said = "; ".join(f"{name} {counts[0]} of {sum(counts)}" for name, _, counts in rows)
    return Chart(title, f"{title}: {said}.", draw, height=0.9 + 0.17 * len(rows))
