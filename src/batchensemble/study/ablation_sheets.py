"""The tables of the ablations: every variant, and whether diversity goes with better scores."""

from collections.abc import Sequence

from scipy import stats

from batchensemble.plots.looks import CALIBRATION, ERROR, NAMES, dataset_name
from batchensemble.plots.sheets import Cell, Sheet
from batchensemble.study.ablations import ABLATIONS
from batchensemble.study.store import Result


def ablation_sheet(results: Sequence[Result], name: str) -> Sheet:
    ablation = ABLATIONS[name]
    sizes = {(r.run.dataset, r.run.entrant): r.about["n_parameters"] for r in results}
    tasks = {r.run.dataset: r.about["task"] for r in results}
    here = ablation.present(results)
    metrics = dict.fromkeys(m for d in here for m in _judged(tasks[d]))
    rows: list[tuple[Cell, ...]] = []
    for dataset in here:
        found = {m: dict(ablation.found(results, dataset, m)) for m in metrics}
        for variant in (*found["nll"], *ablation.lost(results, dataset)):
            size = sizes[dataset, variant.entrant]
            cells = (found[m].get(variant) for m in metrics)
            label = variant.name + _lost_runs(results, dataset, variant.entrant)
            rows.append((dataset_name(dataset), label, size, *cells))
    return Sheet(
        f"ablation-{name}",
        ablation.question,
        ("dataset", ablation.axis, "parameters", *(NAMES[m] for m in metrics)),
        tuple(rows),
        "BatchEnsemble, in-distribution, mean ± standard error over the seeds.",
    )


def diversity(results: Sequence[Result]) -> Sheet:
    """Does more diversity buy better uncertainty? Over the variants of each ablation."""
    rows: list[tuple[Cell, ...]] = []
    for name, ablation in ABLATIONS.items():
        for dataset in ablation.present(results):
            spread = dict(ablation.found(results, dataset, "member_disagreement"))
            pairs = [
                (spread[variant].mean, cell.mean)
                for variant, cell in ablation.found(results, dataset, "nll")
                if variant in spread
            ]
            if len(pairs) > 2:
                rank = float(stats.spearmanr(*zip(*pairs, strict=True)).statistic)
                rows.append((name, dataset_name(dataset), len(pairs), rank))
    return Sheet(
        "diversity",
        "Does more diversity buy better uncertainty?",
        ("ablation", "dataset", "variants", "Spearman of disagreement and NLL"),
        tuple(rows),
        "Over the variants' means. Below 0: where members disagree more, NLL is lower.",
    )


def _lost_runs(results: Sequence[Result], dataset: str, entrant: str) -> str:
    """So that a mean over the few that survived is not taken for one over all seeds."""
    key = (dataset, "id", entrant)
    own = [r for r in results if (r.run.dataset, r.run.variant, r.run.entrant) == key]
    n_lost = sum(r.metrics.get("diverged", 0) > 0 for r in own)
    if n_lost == 0:
        return ""
    return f" ({'all' if n_lost == len(own) else f'{n_lost} of {len(own)}'} runs lost)"


def _judged(task: str) -> tuple[str, ...]:
    return (ERROR[task], "nll", CALIBRATION[task], "epistemic", "member_disagreement")
