"""The study's tables, from results alone."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from batchensemble.plots.looks import METRICS, NAMES, dataset_name, label
from batchensemble.plots.sheets import Cell, MeanSE, Sheet
from batchensemble.study import published
from batchensemble.study.ablation_sheets import ablation_sheet, diversity
from batchensemble.study.ablations import ABLATIONS
from batchensemble.study.costs_file import cost_sheet
from batchensemble.study.spec import PLAIN, VARIANTS, Change
from batchensemble.study.store import Result
from batchensemble.study.tables import Place, methods, of_place, over_seeds, places

PARTS = ("total", "aleatoric", "epistemic")
TASKS = {"unc_id_shift_delta_reg": "regression", "unc_id_shift_delta_clf": "classification"}


def make_sheets(results: Sequence[Result], costs: Sequence[Mapping[str, Any]] = ()) -> list[Sheet]:
    """Every table for which there is something to show."""
    sheets = [
        data_overview(results),
        params_size(results),
        *(uncertainty(results, name, task) for name, task in TASKS.items()),
        paper_vs_ours(results),
        main_sheet(results),
        *(place_sheet(results, place) for place in places(results)),
        tails(results),
        paired(results),
        matched(results),
        as_written(results),
        *(ablation_sheet(results, name) for name in ABLATIONS),
        diversity(results),
        cost_sheet([dict(row) for row in costs]),
    ]
    return [sheet for sheet in sheets if sheet.rows]


def data_overview(results: Sequence[Result]) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    for dataset, about in _facts(results).items():
        sizes = [_sizes(results, (dataset, variant)) for variant in VARIANTS]
        is_series = about["task"] == "forecasting"
        rows.append(
            (
                dataset_name(dataset),
                "series" if is_series else "table",
                about["task"],
                about["n_rows"],
                about["n_features"],
                about["n_inputs"],
                *sizes,
            )
        )
    columns = ("dataset", "kind", "task", "rows", "features", "inputs")
    return Sheet(
        "data_overview",
        "Datasets",
        (*columns, "training + test", "training + test, shifted"),
        tuple(rows),
        "Inputs are what the network sees after categories are encoded. Training and test are "
        "rows, or windows of a series; of a shifted table, the mean over the seeds.",
    )


def params_size(results: Sequence[Result]) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    wrong, n_known = [], 0
    for dataset in _facts(results):
        sizes = {r.run.method: r.about["n_parameters"] for r in of_place(results, (dataset, "id"))}
        known = published.N_PARAMETERS.get(dataset, {})
        n_known += len({*known} & {*sizes})
        wrong += [f"{dataset} {m}" for m, size in known.items() if sizes.get(m, size) != size]
        share = None
        if {"batch_ensemble", "deep_ensemble"} <= set(sizes):
            share = sizes["batch_ensemble"] / sizes["deep_ensemble"]
        rows.append((dataset_name(dataset), *(sizes.get(m) for m in methods(results)), share))
    equal = f"All {n_known} published counts of these datasets are met exactly."
    return Sheet(
        "params_size",
        "Parameters",
        ("dataset", *map(label, methods(results)), "BatchEnsemble / deep ensemble"),
        tuple(rows),
        f"Not as published: {', '.join(wrong)}." if wrong else equal if n_known else "",
    )


def uncertainty(results: Sequence[Result], name: str, task: str) -> Sheet:
    """The decomposition in-distribution and under shift, and the change, seed by seed."""
    rows: list[tuple[Cell, ...]] = []
    for dataset, about in _facts(results).items():
        if about["task"] != task:
            continue
        by_variant = [of_place(results, (dataset, variant)) for variant in VARIANTS]
        for method in methods(results):
            before, after = (_by_seed(own, method) for own in by_variant)
            if before or after:
                cells = [_mean(found, part) for found in (before, after) for part in PARTS]
                cells += [_change(before, after, part) for part in PARTS]
                rows.append((dataset_name(dataset), label(method), *cells))
    when = ("ID", "shift", "change")
    unit = "variances of the scaled target" if task == "regression" else "entropies in nats"
    return Sheet(
        name,
        f"Uncertainty and its parts under shift: {task}",
        ("dataset", "method", *(f"{part}, {word}" for word in when for part in PARTS)),
        tuple(rows),
        f"Means over the test set, {unit}; the change is shift - ID of the same seed.",
    )


def paper_vs_ours(results: Sequence[Result]) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    for dataset, variant in places(results):
        place, own = (dataset, variant), of_place(results, (dataset, variant))
        for method in methods(results):
            theirs: dict[str, float] = {}
            if method in published.RMSE.get(place, {}):
                theirs["rmse"] = published.RMSE[place][method]
            if method in published.UNCERTAINTY.get(place, {}):
                theirs |= published.UNCERTAINTY[place][method]._asdict()
            for metric, number in theirs.items():
                ours = over_seeds(own, metric).get(method)
                difference = None if ours is None else ours.mean - number
                names = (dataset_name(dataset), variant, label(method), NAMES[metric])
                rows.append((*names, number, ours, difference))
    return Sheet(
        "paper_vs_ours",
        "Published numbers and ours",
        ("dataset", "variant", "method", "quantity", "published", "ours", "difference"),
        tuple(rows),
        "All numbers that are printed in the paper; the rest is in its figures. Its RMSEs are "
        "printed as approximate.",
    )


def main_sheet(results: Sequence[Result]) -> Sheet:
    """The study at a glance: size, error and NLL of every method everywhere."""
    words = methods(results)
    rows: list[tuple[Cell, ...]] = []
    for dataset, variant in places(results):
        own = of_place(results, (dataset, variant))
        names = (dataset_name(dataset), variant)
        if variant == "id":
            sizes = {r.run.method: r.about["n_parameters"] for r in own}
            rows.append((*names, "parameters", *(sizes.get(word) for word in words)))
        for metric in ("rmse", "accuracy", "nll"):
            found = over_seeds(own, metric)
            if found:
                rows.append((*names, NAMES[metric], *(found.get(word) for word in words)))
    return Sheet(
        "main",
        "Error and NLL",
        ("dataset", "variant", "", *map(label, words)),
        tuple(rows),
        "Mean ± standard error over the seeds, in units of the scaled target.",
    )


def place_sheet(results: Sequence[Result], place: Place) -> Sheet:
    dataset, variant = place
    own = of_place(results, place)
    metrics = [m for m in METRICS if any(m in r.metrics for r in own)]
    sizes = {r.run.method: r.about["n_parameters"] for r in own}
    found = {metric: over_seeds(own, metric) for metric in metrics}
    rows = tuple(
        (label(method), sizes[method], *(found[metric].get(method) for metric in metrics))
        for method in methods(own)
    )
    words = {"id": "in-distribution", "shift": "shifted"}
    return Sheet(
        f"main-{dataset}-{variant}",
        f"{dataset_name(dataset)}, {words[variant]}",
        ("method", "parameters", *(NAMES[metric] for metric in metrics)),
        rows,
        f"Mean ± standard error of {_n_seeds(own)} seeds.",
    )


def tails(results: Sequence[Result]) -> Sheet:
    """The rows of the shifted test sets that training had none of, alone."""
    own = [r for r in results if r.run.variant == "shift" and r.run.change == PLAIN]
    known = [m for m in METRICS if any(f"tail_{m}" in r.metrics for r in own)]
    rows: list[tuple[Cell, ...]] = []
    for dataset in _facts(own):
        here = of_place(own, (dataset, "shift"))
        found = {m: over_seeds(here, f"tail_{m}") for m in (*known, "auroc")}
        for method in methods(here):
            cells = (found[m].get(method) for m in (*known, "auroc"))
            rows.append((dataset_name(dataset), label(method), *cells))
    return Sheet(
        "tails",
        "Tail rows alone",
        ("dataset", "method", *(NAMES[m] for m in known), "AUROC of epistemic uncertainty"),
        tuple(rows),
        "The AUROC says how well epistemic uncertainty tells tail rows from the rest of the "
        "shifted test set: 0.5 is chance.",
    )


def paired(results: Sequence[Result]) -> Sheet:
    """Differences to BatchEnsemble on the same seed, with a 95 % interval of their mean."""
    rows: list[tuple[Cell, ...]] = []
    for place in places(results):
        own = of_place(results, place)
        ours = _by_seed(own, "batch_ensemble")
        for method in methods(own):
            if method == "batch_ensemble":
                continue
            theirs = _by_seed(own, method)
            for metric in (m for m in METRICS if any(m in r.metrics for r in own)):
                seeds = [s for s in ours if metric in ours[s] and metric in theirs.get(s, {})]
                gaps = [theirs[seed][metric] - ours[seed][metric] for seed in seeds]
                if len(gaps) > 1 and metric not in PARTS:
                    low, high = _t_interval(gaps)
                    names = (dataset_name(place[0]), place[1], label(method), NAMES[metric])
                    rows.append((*names, float(np.mean(gaps)), low, high))
    return Sheet(
        "paired",
        "Differences to BatchEnsemble, seed by seed",
        ("dataset", "variant", "method", "metric", "mean difference", "low", "high"),
        tuple(rows),
        "Method - BatchEnsemble on the same split; low to high is Student's 95 % interval.",
    )


def matched(results: Sequence[Result]) -> Sheet:
    """Rivals that have to do with BatchEnsemble's parameters."""

    def is_shown(result: Result) -> bool:
        run = result.run
        is_ours = (run.method, run.change) == ("batch_ensemble", PLAIN)
        return is_ours or run.change == Change(matched=True)

    return _entrants(
        results,
        is_shown,
        lambda r: label(r.run.method) + ("" if r.run.change == PLAIN else ", matched"),
        Sheet(
            "matched",
            "Rivals with as many parameters as BatchEnsemble",
            ("entrant", "networks"),
            (),
            "Matched: one network widened to BatchEnsemble's count of parameters, or as many "
            "networks as fit in it.",
        ),
        lambda r: (r.about["n_networks"],),
    )


def as_written(results: Sequence[Result]) -> Sheet:
    """The objective as the paper writes it, beside the stabilised one."""
    written = Change(bounded=False)
    where = {(r.run.dataset, r.run.variant) for r in results if r.run.change == written}

    def is_shown(result: Result) -> bool:
        run = result.run
        return (run.dataset, run.variant) in where and run.change in (PLAIN, written)

    lost: dict[tuple[Place, str], int] = {}
    for r in results:
        key = ((r.run.dataset, r.run.variant), r.run.entrant)
        lost[key] = lost.get(key, 0) + int(r.metrics.get("diverged", 0))
    return _entrants(
        results,
        is_shown,
        lambda r: label(r.run.method),
        Sheet(
            "as_written",
            "The objective as written and stabilised",
            ("method", "objective", "runs lost"),
            (),
            "As written: no bounds on the log-variance, no clipping. A run is lost when its "
            "network stops giving finite numbers; the others' mean ± standard error is shown.",
        ),
        lambda r: (
            "stabilised" if r.run.change == PLAIN else "as written",
            lost[(r.run.dataset, r.run.variant), r.run.entrant],
        ),
    )


def _entrants(
    results: Sequence[Result],
    is_shown: Callable[[Result], bool],
    name: Callable[[Result], str],
    form: Sheet,
    more: Callable[[Result], tuple[Cell, ...]],
) -> Sheet:
    """One row for each entrant of each place: its words, its size and its metrics."""
    shown = [r for r in results if is_shown(r)]
    if all(r.run.change == PLAIN for r in shown):
        return form
    metrics = [m for m in METRICS if any(m in r.metrics for r in shown)]
    rows: list[tuple[Cell, ...]] = []
    for place in {(r.run.dataset, r.run.variant): None for r in shown}:
        own = [r for r in shown if (r.run.dataset, r.run.variant) == place]
        found = {metric: over_seeds(own, metric) for metric in metrics}
        for entrant, r in {r.run.entrant: r for r in own}.items():
            cells = (found[metric].get(entrant) for metric in metrics)
            size = r.about["n_parameters"]
            rows.append((dataset_name(place[0]), place[1], name(r), *more(r), size, *cells))
    columns = ("dataset", "variant", *form.columns, "parameters", *(NAMES[m] for m in metrics))
    return Sheet(form.name, form.title, columns, tuple(rows), form.note)


def _facts(results: Iterable[Result]) -> dict[str, Mapping[str, Any]]:
    return {r.run.dataset: r.about for r in results if r.run.change == PLAIN}


def _sizes(results: Sequence[Result], place: Place) -> Cell:
    own = of_place(results, place)
    if not own:
        return None
    train, test = (np.mean(own[0].about[name]) for name in ("n_train", "n_test"))
    return f"{train:,.0f} + {test:,.0f}"


def _by_seed(results: Iterable[Result], method: str) -> dict[int, Mapping[str, float]]:
    return {r.run.seed: r.metrics for r in results if r.run.method == method}


def _mean(found: Mapping[int, Mapping[str, float]], metric: str) -> Cell:
    values = [metrics[metric] for metrics in found.values() if metric in metrics]
    return MeanSE.of(values) if values else None


def _change(
    before: Mapping[int, Mapping[str, float]], after: Mapping[int, Mapping[str, float]], part: str
) -> Cell:
    seeds = [s for s in before if part in before[s] and part in after.get(s, {})]
    return MeanSE.of([after[s][part] - before[s][part] for s in seeds]) if seeds else None


def _t_interval(values: Sequence[float]) -> tuple[float, float]:
    mean, se = MeanSE.of(values)
    reach = se * float(stats.t.ppf(0.975, len(values) - 1))
    return mean - reach, mean + reach


def _n_seeds(results: Iterable[Result]) -> int:
    return len({r.run.seed for r in results})
