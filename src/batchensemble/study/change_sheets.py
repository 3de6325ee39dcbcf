"""Tables of the main study changed in one thing: rivals of equal size, the objective as written."""

from collections.abc import Callable

from batchensemble.plots.looks import NAMES, dataset_name, label
from batchensemble.plots.sheets import Cell, Sheet
from batchensemble.study.results import Study
from batchensemble.study.spec import PLAIN, Change, Run
from batchensemble.study.store import Result

SCORES = ("rmse", "accuracy", "nll", "brier", "ece", "rmsce", "miscalibration_area", "epistemic")
BE, DE = "batch_ensemble", "deep_ensemble"
SEEDS = "The numbers are over the seeds that all entrants of a dataset and variant have."


def matched(study: Study) -> Sheet:
    """Rivals limited to BatchEnsemble's number of parameters, and BatchEnsemble given theirs."""
    own = _compared(study, lambda r: r.change in SIZED or (r.method, r.change) == (BE, PLAIN))
    return _entrants(
        own,
        lambda r: (_sized(r), r.about["n_networks"]),
        Sheet(
            "matched",
            "Rivals of equal size",
            ("entrant", "networks"),
            (),
            "Narrower: ten networks with 95 to 100 % of BatchEnsemble's parameters; wider: one "
            "network with as many, or BatchEnsemble with 95 to 100 % of the deep ensemble's. "
            + SEEDS,
        ),
    )


SIZED = (Change(matched=True), Change(budget=BE), Change(budget=DE))


def _sized(result: Result) -> str:
    name, change = label(result.run.method), result.run.change
    if change == PLAIN:
        return name
    if change.matched and result.run.method == DE:
        return f"{name}, as many networks as fit"
    return f"{name}, {'narrower' if change.budget == BE else 'wider'}"


def as_written(study: Study) -> Sheet:
    """The objective as the paper writes it, beside the stabilised one."""
    written = Change(bounded=False)
    where = {key[:2] for key, own in study.runs.items() if own[0].run.change == written}
    own = _compared(
        study, lambda r: (r.dataset, r.variant) in where and r.change in (PLAIN, written)
    )
    return _entrants(
        own,
        lambda r: (
            label(r.run.method),
            "stabilised" if r.run.change == PLAIN else "as written",
            own.n_diverged((r.run.dataset, r.run.variant), r.run.entrant),
        ),
        Sheet(
            "as_written",
            "The objective as written and stabilised",
            ("method", "objective", "diverged runs"),
            (),
            "As written: no bounds on the log-variance, no clipping. A run diverges when its "
            "network stops giving finite numbers; shown are the others' mean ± standard error. "
            + SEEDS,
        ),
    )


def _compared(study: Study, is_shown: Callable[[Run], bool]) -> Study:
    """These entrants alone; at each place only the seeds that all of them have there."""
    shown = {key: own for key, own in study.runs.items() if is_shown(own[0].run)}
    shared: dict[tuple[str, str], set[int]] = {}
    for (dataset, variant, _), own in shown.items():
        seeds = {result.run.seed for result in own}
        shared[dataset, variant] = shared.get((dataset, variant), seeds) & seeds
    kept = (r for key, own in shown.items() for r in own if r.run.seed in shared[key[:2]])
    return Study(kept, paired=True)


def _entrants(study: Study, words: Callable[[Result], tuple[Cell, ...]], form: Sheet) -> Sheet:
    """One row for each entrant of each place: its words, its size and its metrics."""
    shown = {key: own[0] for key, own in study.runs.items()}
    if all(first.run.change == PLAIN for first in shown.values()):
        return form
    cells = {
        metric: {(d, v, e): study.mean((d, v), e, metric) for d, v, e in shown} for metric in SCORES
    }
    metrics = [metric for metric in SCORES if any(cells[metric].values())]
    rows: list[tuple[Cell, ...]] = [
        (
            dataset_name(key[0]),
            key[1],
            *words(first),
            first.about["n_parameters"],
            *(cells[metric][key] for metric in metrics),
        )
        for key, first in shown.items()
    ]
    columns = ("dataset", "variant", *form.columns, "parameters", *(NAMES[m] for m in metrics))
    return Sheet(form.name, form.title, columns, tuple(rows), form.note)
