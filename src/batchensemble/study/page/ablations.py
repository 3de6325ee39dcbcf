"""The report's ablations: question, finding, verdict, panels and table of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from batchensemble.plots.charts import Chart, panel
from batchensemble.plots.looks import ERROR, NAMES, SPARE, UP, Look, dataset_name, look
from batchensemble.plots.sheets import Sheet
from batchensemble.study.ablations import ABLATIONS, Ablation, Found, plain_of
from batchensemble.study.checks import best_set
from batchensemble.study.claims import Verdict
from batchensemble.study.spec import PLAIN
from batchensemble.study.store import Result
from batchensemble.study.tables import near_end


@dataclass(frozen=True)
class Question:
    anchor: str
    title: str
    finding: str
    verdict: Verdict | None
    charts: tuple[Chart, ...]
    sheet: Sheet


def questions(
    results: Sequence[Result],
    sheets: Mapping[str, Sheet],
    verdicts: Sequence[Verdict],
    *,
    full: bool,
) -> list[Question]:
    """One for each ablation of which there are results; findings from full studies alone."""
    tasks = {r.run.dataset: r.about["task"] for r in results}
    by_id = {verdict.id: verdict for verdict in verdicts}
    made = []
    for name, ablation in ABLATIONS.items():
        here = ablation.present(results)
        if here:
            charts = [
                _panel(ablation, results, dataset, metric)
                for dataset in here
                for metric in (ERROR[tasks[dataset]], "nll", "member_disagreement")
            ]
            finding = _finding(ablation, results, here) if full else ""
            verdict = by_id.get(ablation.claim)
            sheet = sheets[f"ablation-{name}"]
            made.append(
                Question(f"ablation-{name}", ablation.question, finding, verdict, (*charts,), sheet)
            )
    return made


def _finding(ablation: Ablation, results: Sequence[Result], datasets: Sequence[str]) -> str:
    said = []
    for dataset in datasets:
        found = ablation.found(results, dataset, "nll")
        best = best_set({variant.name: cell for variant, cell in found})
        lost = [variant.name for variant in ablation.lost(results, dataset)]
        tie = len(best) == len(found) and not lost
        words = "all tie" if tie else "; ".join(best)
        words += f" (all runs lost: {'; '.join(lost)})" if lost else ""
        said.append(f"{dataset_name(dataset)} {words}")
    return f"Among the best in NLL: {' | '.join(said)}."


def _panel(ablation: Ablation, results: Sequence[Result], dataset: str, metric: str) -> Chart:
    found = ablation.found(results, dataset, metric)
    plain, limit, better = plain_of(found), None, ""
    if metric != "member_disagreement":  # which is neither good nor bad
        limit = near_end(plain, highest=metric in UP) if plain else None
        better = f" ({'higher' if metric in UP else 'lower'} is better)"
    title = f"{dataset_name(dataset)}: {NAMES[metric]}{better}"
    return panel(title, [(_look(one, found), one[1]) for one in found], limit)


def _look(one: Found, found: Sequence[Found]) -> Look:
    """A line of a figure is a colour; the ensemble of the main study has its own."""
    variant, _ = one
    lines = list(dict.fromkeys(other.line for other, _ in found))
    colours = [look("batch_ensemble").colour, *(colour for colour, _ in SPARE)]
    mark = "o" if variant.change == PLAIN else "D"
    return Look(variant.name, colours[lines.index(variant.line)], mark)
