"""The study's tables."""

from collections.abc import Iterable

import numpy as np

from batchensemble.plots.looks import METRICS, NAMES, dataset_name, label
from batchensemble.plots.sheets import Cell, Sheet
from batchensemble.study import published
from batchensemble.study.ablation_sheets import ablation_sheet, diversity
from batchensemble.study.ablations import ABLATIONS
from batchensemble.study.abstract import abstract_sheet
from batchensemble.study.best_sets import paired_gap
from batchensemble.study.change_sheets import as_written, matched
from batchensemble.study.costs_file import cost_sheet
from batchensemble.study.results import CHANGE, ID, SHIFT, Place, Study
from batchensemble.study.spec import VARIANTS
from batchensemble.study.store import Result
from batchensemble.study.variance import variance_sheet

PARTS = ("total", "aleatoric", "epistemic")
BE, DE = "batch_ensemble", "deep_ensemble"
Rows = list[tuple[Cell, ...]]


def make_sheets(study: Study) -> list[Sheet]:
    """Every table for which there is something to show."""
    sheets = [
        abstract_sheet(study),
        data_overview(study),
        params_size(study),
        uncertainty(study, "unc_id_shift_delta_reg", "regression"),
        uncertainty(study, "unc_id_shift_delta_clf", "classification"),
        paper_vs_ours(study),
        error_and_nll(study),
        *(place_sheet(study, place) for place in study.places()),
        tails(study),
        paired(study),
        variance_sheet(study),
        matched(study),
        as_written(study),
        *(ablation_sheet(study, name) for name in ABLATIONS),
        diversity(study),
        cost_sheet([dict(row) for row in study.costs]),
    ]
    return [sheet for sheet in sheets if sheet.rows]


def main_sheet(results: Iterable[Result]) -> Sheet:
    """The study at a glance, from results."""
    return error_and_nll(Study(results, paired=True))


def data_overview(study: Study) -> Sheet:
    facts = ("task", "n_rows", "n_features", "n_inputs")
    rows: Rows = [
        (
            dataset_name(dataset),
            "series" if about["task"] == "forecasting" else "table",
            *(about[name] for name in facts),
            *(_sizes(study, (dataset, variant)) for variant in VARIANTS),
            *published.SOURCES.get(dataset, ("", "")),
        )
        for dataset, about in study.facts().items()
    ]
    columns = ("dataset", "kind", "task", "rows", "features", "inputs")
    return Sheet(
        "data_overview",
        "Datasets",
        (*columns, "training + test", "training + test, shifted", "source", "licence"),
        tuple(rows),
        "Inputs are what the network sees after categories are encoded. The paper counts 6 "
        "features of Phoneme, with the target; there are 5. Training and test are rows, or windows "
        "of a series; of a shifted table, the mean over the seeds.",
    )


def params_size(study: Study) -> Sheet:
    rows: Rows = []
    wrong, n_known = [], 0
    for dataset in study.facts():
        sizes = {m: _size(study, (dataset, ID), m) for m in study.methods((dataset, ID))}
        known = published.N_PARAMETERS.get(dataset, {})
        n_known += len({*known} & {*sizes})
        wrong += [f"{dataset} {m}" for m, size in known.items() if sizes.get(m, size) != size]
        share = sizes[BE] / sizes[DE] if {BE, DE} <= {*sizes} else None
        rows.append((dataset_name(dataset), *(sizes.get(m) for m in study.methods()), share))
    equal = f"All {n_known} published counts of these datasets are met exactly."
    return Sheet(
        "params_size",
        "Parameters",
        ("dataset", *map(label, study.methods()), "BatchEnsemble / deep ensemble"),
        tuple(rows),
        f"Not as published: {', '.join(wrong)}." if wrong else equal if n_known else "",
    )


def uncertainty(study: Study, name: str, task: str) -> Sheet:
    """The decomposition in-distribution and under shift, and the change, seed by seed."""
    rows: Rows = []
    for dataset, about in study.facts().items():
        for method in study.methods() if about["task"] == task else ():
            cells = [
                study.mean((dataset, variant), method, part)
                for variant in (ID, SHIFT, CHANGE)
                for part in PARTS
            ]
            if any(method in study.methods((dataset, variant)) for variant in VARIANTS):
                rows.append((dataset_name(dataset), label(method), *cells))
    unit = "variances of the scaled target" if task == "regression" else "entropies in nats"
    return Sheet(
        name,
        f"Uncertainty and its parts under shift: {task}",
        ("dataset", "method", *(f"{p}, {word}" for word in ("ID", SHIFT, "change") for p in PARTS)),
        tuple(rows),
        f"Means over the test set, {unit}; the change is shift - ID of the same seed.",
    )


def paper_vs_ours(study: Study) -> Sheet:
    rows: Rows = []
    for place in study.places():
        for method in study.methods():
            theirs: dict[str, float] = {}
            if method in published.RMSE.get(place, {}):
                theirs["rmse"] = published.RMSE[place][method]
            if method in published.UNCERTAINTY.get(place, {}):
                theirs |= published.UNCERTAINTY[place][method]._asdict()
            for metric, number in theirs.items():
                ours = study.mean(place, method, metric)
                difference = None if ours is None else ours.mean - number
                rows.append(
                    (*_names(place), label(method), NAMES[metric], number, ours, difference)
                )
    return Sheet(
        "paper_vs_ours",
        "Published numbers and ours",
        ("dataset", "variant", "method", "quantity", "published", "ours", "difference"),
        tuple(rows),
        "All numbers that are printed in the paper; the rest is in its figures. Its RMSEs are "
        "printed as approximate.",
    )


def error_and_nll(study: Study) -> Sheet:
    """The study at a glance: size, error and NLL of every method everywhere."""
    words = study.methods()
    rows: Rows = []
    for place in study.places():
        if place.variant == ID:
            sizes = {m: _size(study, place, m) for m in study.methods(place)}
            rows.append((*_names(place), "parameters", *(sizes.get(m) for m in words)))
        for metric in study.metrics(place, ("rmse", "accuracy", "nll")):
            cells = (study.mean(place, method, metric) for method in words)
            rows.append((*_names(place), NAMES[metric], *cells))
    return Sheet(
        "main",
        "Error and NLL",
        ("dataset", "variant", "", *map(label, words)),
        tuple(rows),
        "Mean ± standard error over the seeds, in units of the scaled target.",
    )


def place_sheet(study: Study, place: Place) -> Sheet:
    metrics = study.metrics(place, METRICS)
    rows: Rows = [
        (label(m), _size(study, place, m), *(study.mean(place, m, metric) for metric in metrics))
        for m in study.methods(place)
    ]
    words = {ID: "in-distribution", SHIFT: "shifted"}
    return Sheet(
        f"main-{place.dataset}-{place.variant}",
        f"{dataset_name(place.dataset)}, {words[place.variant]}",
        ("method", "parameters", *(NAMES[metric] for metric in metrics)),
        tuple(rows),
        f"Mean ± standard error of {study.n_seeds(place)} seeds.",
    )


def tails(study: Study) -> Sheet:
    """The rows of the shifted test sets that lie outside the training range, alone."""
    places = [place for place in study.places() if place.variant == SHIFT]
    known = [m for m in METRICS if any(study.means(place, f"tail_{m}") for place in places)]
    rows: Rows = [
        (
            dataset_name(place.dataset),
            label(method),
            *(study.mean(place, method, f"tail_{m}") for m in (*known, "auroc")),
        )
        for place in places
        for method in study.methods(place)
    ]
    return Sheet(
        "tails",
        "Tail rows alone",
        ("dataset", "method", *(NAMES[m] for m in known), "AUROC of epistemic uncertainty"),
        tuple(rows),
        "The AUROC says how well epistemic uncertainty tells tail rows from the rest of the "
        "shifted test set: 0.5 is chance.",
    )


def paired(study: Study) -> Sheet:
    """Differences to BatchEnsemble on the same seed, with a 95 % interval of their mean."""
    rows: Rows = []
    for place in study.places():
        metrics = [m for m in study.metrics(place, METRICS) if m not in PARTS]
        for method in study.methods(place):
            for metric in metrics if method != BE else ():
                ours, theirs = (study.values(place, who, metric) for who in (BE, method))
                gap = paired_gap(ours, theirs)
                if gap is not None:
                    rows.append((*_names(place), label(method), NAMES[metric], *gap))
    return Sheet(
        "paired",
        "Differences to BatchEnsemble, seed by seed",
        ("dataset", "variant", "method", "metric", "mean difference", "low", "high"),
        tuple(rows),
        "Method - BatchEnsemble on the same split; low to high is Student's 95 % interval.",
    )


def _names(place: Place) -> tuple[str, str]:
    return dataset_name(place.dataset), place.variant


def _size(study: Study, place: tuple[str, str], entrant: str) -> int:
    size: int = study.about(place, entrant)["n_parameters"]
    return size


def _sizes(study: Study, place: tuple[str, str]) -> Cell:
    if not study.methods(place):
        return None
    about = study.about(place)
    train, test = (np.mean(about[name]) for name in ("n_train", "n_test"))
    return f"{train:,.0f} + {test:,.0f}"
