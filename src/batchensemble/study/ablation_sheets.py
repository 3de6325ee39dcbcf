"""The tables of the ablations: every variant, and whether diversity goes with better scores."""

from scipy import stats

from batchensemble.plots.looks import CALIBRATION, ERROR, NAMES, dataset_name
from batchensemble.plots.sheets import Cell, Sheet
from batchensemble.study.ablations import ABLATIONS
from batchensemble.study.results import ID, Study


def ablation_sheet(study: Study, name: str) -> Sheet:
    """Every variant of an ablation; one whose runs diverged says how many."""
    ablation, tasks = ABLATIONS[name], study.tasks()
    datasets = ablation.present(study)
    judged = ("nll", "epistemic", "member_disagreement")
    metrics = dict.fromkeys(
        metric
        for task in (tasks[dataset] for dataset in datasets)
        for metric in (ERROR[task], judged[0], CALIBRATION[task], *judged[1:])
    )
    rows: list[tuple[Cell, ...]] = []
    for dataset in datasets:
        survived = [variant for variant, _ in ablation.means(study, dataset, "nll")]
        for variant in (*survived, *ablation.diverged(study, dataset)):
            place, entrant = (dataset, ID), variant.entrant
            n, n_diverged = len(study.runs[(*place, entrant)]), study.n_diverged(place, entrant)
            share = "all" if n_diverged == n else f"{n_diverged} of {n}"
            words = variant.name + (f" ({share} runs diverged)" if n_diverged else "")
            cells = (study.mean(place, entrant, metric) for metric in metrics)
            rows.append(
                (dataset_name(dataset), words, study.about(place, entrant)["n_parameters"], *cells)
            )
    return Sheet(
        f"ablation-{name}",
        ablation.question,
        ("dataset", ablation.axis, "parameters", *(NAMES[m] for m in metrics)),
        tuple(rows),
        "BatchEnsemble, in-distribution, mean ± standard error over the seeds.",
    )


def diversity(study: Study) -> Sheet:
    """Does more diversity buy better uncertainty? Over the variants of each ablation."""
    rows: list[tuple[Cell, ...]] = []
    for name, ablation in ABLATIONS.items():
        for dataset in ablation.present(study):
            spread = dict(ablation.means(study, dataset, "member_disagreement"))
            pairs = [
                (spread[variant].mean, cell.mean)
                for variant, cell in ablation.means(study, dataset, "nll")
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
