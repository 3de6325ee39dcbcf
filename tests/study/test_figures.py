import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import sem

from batchensemble.metrics import COVERAGES
from batchensemble.study.figures import FIGURES, SHOWN, draw_figures
from batchensemble.study.results import Study
from batchensemble.study.spec import Run
from batchensemble.study.store import Result
from batchensemble.training.methods import METHODS

METRICS = ("rmse", "nll", "rmsce", "miscalibration_area", "accuracy", "brier", "ece")


def results(dataset="diabetes", variant="id", n_seeds=3, task="regression", methods=METHODS):
    random = np.random.default_rng(len(variant))
    return [
        Result(
            Run(dataset, variant, method, seed),
            {metric: random.normal() for metric in METRICS},
            {"selective": random.random(15).tolist(), "coverage": random.random(39).tolist()},
            {"task": task},
        )
        for method in methods
        for seed in range(n_seeds)
    ]


def test_only_figures_with_results_are_drawn_each_as_png_and_pdf(tmp_path):
    paths = draw_figures(Study(results()), tmp_path / "new")
    names = {path.stem for path in paths}
    assert names == {"reg_main", "selective_reg", "nom_vs_emp_cov_reg"}
    assert sorted(path.suffix for path in paths) == [".pdf"] * 3 + [".png"] * 3
    assert all(path.stat().st_size > 5_000 for path in paths)
    assert draw_figures(Study([]), tmp_path / "none") == []


def test_processes_that_drew_elsewhere_draw_into_the_folder_that_is_meant(tmp_path, monkeypatch):
    for place in ("first", "second"):
        (tmp_path / place).mkdir()
        monkeypatch.chdir(tmp_path / place)
        draw_figures(Study(results()), Path("figures"), n_jobs=2)
        assert (tmp_path / place / "figures" / "reg_main.png").is_file()


def test_a_panel_shows_means_and_standard_errors_and_the_near_end_of_ours():
    own = results("phoneme", task="classification")
    figure = FIGURES["clf_main"].draw(Study(own), "a note")
    accuracy, nll = figure.axes[:2]
    assert accuracy.get_title() == "Phoneme\naccuracy"
    for axes, metric, sign in ((accuracy, "accuracy", 1), (nll, "nll", -1)):
        for bar, method in zip(axes.containers, METHODS, strict=True):
            values = [r.metrics[metric] for r in own if r.run.method == method]
            assert bar.lines[0].get_xdata()[0] == pytest.approx(np.mean(values))
            ends = bar.lines[2][0].get_segments()[0][:, 0]
            assert np.ptp(ends) / 2 == pytest.approx(np.std(values, ddof=1) / 3**0.5)
        ours = [r.metrics[metric] for r in own if r.run.method == "batch_ensemble"]
        limit = np.mean(ours) + sign * np.std(ours, ddof=1) / 3**0.5
        assert axes.lines[0].get_xdata()[0] == pytest.approx(limit)
    title, note = figure.get_suptitle().splitlines()
    assert title.startswith("Classification, in-distribution")
    assert note == "a note"
    assert (accuracy.get_xlabel(), nll.get_xlabel()) == ("better →", "← better")


def test_a_curve_is_the_mean_over_seeds():
    own = results("electric", task="forecasting")
    (axes,) = FIGURES["selective_ts"].draw(Study(own)).axes
    for line, method in zip(axes.lines, METHODS, strict=True):
        curves = [r.curves["selective"] for r in own if r.run.method == method]
        np.testing.assert_allclose(line.get_ydata(), np.mean(curves, axis=0))


def test_the_band_of_a_curve_is_one_standard_error_of_the_mean_to_each_side():
    own = results("electric", task="forecasting", n_seeds=5)
    (axes,) = FIGURES["selective_ts"].draw(Study(own)).axes
    for band, method in zip(axes.collections, METHODS, strict=True):
        curves = [r.curves["selective"] for r in own if r.run.method == method]
        mean, se = np.mean(curves, axis=0), sem(curves, axis=0)
        corners = band.get_paths()[0].vertices
        for x, low, high in zip(COVERAGES, mean - se, mean + se, strict=True):
            heights = corners[np.isclose(corners[:, 0], x), 1]
            assert (heights.min(), heights.max()) == pytest.approx((low, high))


MAIN = [name for name in FIGURES if name.startswith(("reg", "clf", "ts", "selective", "nom"))]
TASKS = {"reg": "regression", "clf": "classification", "ts": "forecasting"}


@pytest.mark.parametrize("name", MAIN)
def test_only_a_figure_of_the_tails_shows_the_shifted_variant(name):
    (task,) = [TASKS[word] for word in name.split("_") if word in TASKS]
    own = results(variant="id", task=task) + results(variant="shift", task=task)
    variant = "shift" if name.endswith("tails") else "id"
    mine = [r for r in own if (r.run.variant, r.run.method) == (variant, "batch_ensemble")]
    axes = FIGURES[name].draw(Study(own)).axes[0]
    if axes.containers:
        shown = [float(x) for x in axes.containers[0].lines[0].get_xdata()]
        expected = [np.mean([r.metrics[SHOWN[task][0]] for r in mine])]
    else:
        (line,) = [one for one in axes.lines if one.get_label() == "BatchEnsemble"]
        shown = line.get_ydata()
        word = "coverage" if "cov" in name else "selective"
        expected = np.mean([r.curves[word] for r in mine], axis=0)
    np.testing.assert_allclose(shown, expected)


def test_a_method_and_a_dataset_of_ones_own_are_drawn_beside_the_papers(tmp_path):
    own = results("mine", methods=("single", "mine", "batch_ensemble"))
    figure = FIGURES["reg_main"].draw(Study(own))
    assert figure.axes[0].get_title() == "Mine\nRMSE"
    names = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert names == ["BatchEnsemble", "Single", "mine"]
    (legend,) = FIGURES["selective_reg"].draw(Study(own)).legends
    assert [text.get_text() for text in legend.texts] == names
    assert draw_figures(Study(results(methods=("mine",))), tmp_path)


def test_a_dollar_in_the_name_of_a_dataset_is_no_formula(tmp_path):
    paths = draw_figures(Study(results("rent_$_and_cost_$", methods=("single",))), tmp_path)
    assert all(path.is_file() for path in paths)
    assert paths


def test_a_number_that_would_hide_the_others_is_written_beside_its_panel():
    own = results()
    far = [r for r in own if r.run.method == "single"]
    for result in far:
        result.metrics["nll"] = 1e3 + result.run.seed
    rmse, nll = FIGURES["reg_main"].draw(Study(own)).axes[:2]
    assert nll.get_xlim()[1] < 100
    assert [text.get_text() for text in nll.texts] == ["→ 1001.000 ± 0.577"]
    assert not rmse.texts


def test_a_method_some_of_whose_runs_diverged_says_how_many():
    own = results()
    own[-1] = Result(own[-1].run, {"diverged": 1.0}, about=own[-1].about)
    axes = FIGURES["reg_main"].draw(Study(own)).axes[0]
    names = [tick.get_text() for tick in axes.get_yticklabels()]
    assert names == ["BatchEnsemble", "Deep ensemble", "MC dropout", "Single\n1 of 3 diverged"]


def test_one_seed_is_drawn_without_a_band(tmp_path):
    assert draw_figures(Study(results(n_seeds=1)), tmp_path)


def test_pyplot_is_left_alone():
    FIGURES["reg_main"].draw(Study(results()))
    plt = sys.modules.get("matplotlib.pyplot")
    assert plt is None or not plt.get_fignums()


def test_a_run_that_diverged_is_left_out_of_every_figure(tmp_path):
    own = results()
    lost = [
        Result(r.run, {"diverged": 1.0}, about=r.about) if r.run.method == "single" else r
        for r in own
    ]
    assert draw_figures(Study(lost), tmp_path)
    (legend,) = FIGURES["selective_reg"].draw(Study(lost)).legends
    assert "Single" not in [text.get_text() for text in legend.texts]
