import numpy as np
import pytest
from scipy import stats

from batchensemble.plots.sheets import MeanSE, show
from batchensemble.study.published import N_PARAMETERS, SOURCES, UNCERTAINTY
from batchensemble.study.results import Study
from batchensemble.study.sheets import main_sheet, make_sheets
from batchensemble.study.spec import Change, Run
from batchensemble.study.store import Result
from batchensemble.training.methods import METHODS

PLAIN, MATCHED, WRITTEN = Change(), Change(matched=True), Change(bounded=False)
METRICS = ("rmse", "nll", "rmsce", "miscalibration_area", "total", "aleatoric", "epistemic")


def results(dataset="california", methods=METHODS, n_seeds=3, changes=(PLAIN,), sizes=None):
    random = np.random.default_rng(0)
    sizes = sizes or {**N_PARAMETERS["california"], "mc_dropout": 1_410}
    about = {"task": "regression", "n_rows": 20_640, "n_features": 8, "n_inputs": 8}
    about |= {"n_train": [10, 20, 30], "n_test": [4, 5, 6], "n_networks": 1}
    return [
        Result(
            Run(dataset, variant, method, seed, change=change),
            {metric: random.normal() for metric in METRICS}
            | ({"tail_rmse": 0.5, "tail_auroc": 0.7} if variant == "shift" else {}),
            about={**about, "n_parameters": sizes.get(method, 7)},
        )
        for variant in ("id", "shift")
        for change in changes
        for method in methods
        for seed in range(n_seeds)
    ]


def sheet(name, own):
    (found,) = [s for s in make_sheets(Study(own)) if s.name == name]
    return found


def cell(found, column, **where):
    keys = {found.columns.index(name): value for name, value in where.items()}
    (row,) = [r for r in found.rows if all(r[i] == value for i, value in keys.items())]
    return row[found.columns.index(column)]


def of(own, variant, method, metric):
    return [
        r.metrics[metric]
        for r in own
        if (r.run.variant, r.run.method, r.run.change) == (variant, method, PLAIN)
    ]


def test_the_main_table_alone_is_that_among_all():
    assert main_sheet(results()) == sheet("main", results())


def test_every_table_of_the_paper_is_there_and_ours_beside_it():
    names = [s.name for s in make_sheets(Study(results(changes=(PLAIN, MATCHED, WRITTEN))))]
    paper = ["data_overview", "params_size", "unc_id_shift_delta_reg", "paper_vs_ours"]
    mains = ["main", "main-california-id", "main-california-shift"]
    ours = ["tails", "paired", "matched", "as_written", "ablation-bounds"]
    assert names == [*paper, *mains, *ours]


def test_a_table_without_rows_is_left_away():
    names = [s.name for s in make_sheets(Study(results("mine", methods=("single",))))]
    assert not {"matched", "as_written", "paper_vs_ours", "paired", "cost"} & {*names}
    assert make_sheets(Study([])) == []


def test_counts_that_are_as_published_are_called_so_and_others_are_named():
    assert "All 3 published counts" in sheet("params_size", results()).note
    wrong = sheet("params_size", results(sizes={"batch_ensemble": 3_705, "deep_ensemble": 14_100}))
    assert "Not as published: california batch_ensemble, california single" in wrong.note
    assert sheet("params_size", results("mine")).note == ""


def test_the_share_of_parameters_is_batch_ensembles_in_the_deep_ensembles():
    found = sheet("params_size", results())
    share = cell(found, "BatchEnsemble / deep ensemble", dataset="California")
    assert share == pytest.approx(3_704 / 14_100)
    alone = sheet("params_size", results(methods=("batch_ensemble", "single")))
    assert cell(alone, "BatchEnsemble / deep ensemble", dataset="California") is None


def test_training_sizes_stand_before_test_sizes():
    found = sheet("data_overview", results())
    for column in ("training + test", "training + test, shifted"):
        assert cell(found, column, dataset="California") == "20 + 5"


def test_datasets_stand_with_their_source_and_licence_and_ones_own_without():
    found = sheet("data_overview", results("adult"))
    assert cell(found, "licence", dataset="Adult") == "CC BY 4.0"
    assert "UCI" in cell(found, "source", dataset="Adult")
    assert cell(sheet("data_overview", results("mine")), "source", dataset="Mine") == ""
    assert {*SOURCES} == {*N_PARAMETERS}


def test_the_table_of_the_tails_has_the_numbers_of_the_tails_alone():
    own = results()
    found = sheet("tails", own)
    assert found.columns == ("dataset", "method", "RMSE", "AUROC of epistemic uncertainty")
    assert len(found.rows) == 4
    for method in ("BatchEnsemble", "Deep ensemble", "MC dropout", "Single"):
        auroc = cell(found, "AUROC of epistemic uncertainty", method=method)
        assert cell(found, "RMSE", method=method) == (0.5, 0)
        assert auroc.mean == pytest.approx(0.7)


def test_a_change_under_shift_is_taken_seed_by_seed():
    own = results()
    found = sheet("unc_id_shift_delta_reg", own)
    before = np.array(of(own, "id", "mc_dropout", "epistemic"))
    after = np.array(of(own, "shift", "mc_dropout", "epistemic"))
    change = cell(found, "epistemic, change", method="MC dropout")
    assert change.mean == pytest.approx(np.mean(after - before))
    assert change.se == pytest.approx(stats.sem(after - before))
    assert cell(found, "epistemic, ID", method="MC dropout").mean == pytest.approx(before.mean())


def test_a_published_number_stands_beside_ours_with_the_difference():
    own = results()
    found = sheet("paper_vs_ours", own)
    key = {"variant": "shift", "method": "Deep ensemble", "quantity": "epistemic"}
    ours = np.mean(of(own, "shift", "deep_ensemble", "epistemic"))
    theirs = UNCERTAINTY["california", "shift"]["deep_ensemble"].epistemic
    assert cell(found, "published", **key) == theirs
    assert cell(found, "difference", **key) == pytest.approx(ours - theirs)
    assert len(found.rows) == 2 * 4 * 4


def test_differences_to_batch_ensemble_have_students_interval():
    own = results()
    found = sheet("paired", own)
    gaps = np.subtract(of(own, "id", "single", "nll"), of(own, "id", "batch_ensemble", "nll"))
    expected = stats.ttest_1samp(gaps, 0).confidence_interval(0.95)
    key = {"variant": "id", "method": "Single", "metric": "NLL"}
    assert cell(found, "mean difference", **key) == pytest.approx(gaps.mean())
    assert cell(found, "low", **key) == pytest.approx(expected.low)
    assert cell(found, "high", **key) == pytest.approx(expected.high)


def test_lost_runs_are_counted_and_do_not_spoil_the_means_of_the_others():
    own = results(changes=(PLAIN, WRITTEN))
    lost = [
        Result(r.run, {"diverged": 1.0}, about=r.about)
        if (r.run.change, r.run.variant, r.run.method) == (WRITTEN, "id", "single")
        and r.run.seed < 2
        else r
        for r in own
    ]
    found = sheet("as_written", lost)
    key = {"variant": "id", "method": "Single", "objective": "as written"}
    assert cell(found, "diverged runs", **key) == 2
    (left,) = [r for r in lost if r.run.entrant == "single bounded=False"
               and r.run.variant == "id" and r.run.seed == 2]  # fmt: skip
    assert cell(found, "RMSE", **key) == MeanSE(left.metrics["rmse"], 0.0)
    key["objective"] = "stabilised"
    assert cell(found, "diverged runs", **key) == 0


def test_rivals_of_equal_size_stand_beside_batch_ensemble_alone():
    own = results(methods=("batch_ensemble", "single")) + results(
        methods=("single",), changes=[MATCHED]
    )
    own += results(methods=("deep_ensemble",), changes=(MATCHED, Change(budget="batch_ensemble")))
    own += results(methods=("batch_ensemble",), changes=[Change(budget="deep_ensemble")])
    found = sheet("matched", own)
    assert {row[found.columns.index("entrant")] for row in found.rows} == {
        "BatchEnsemble",
        "BatchEnsemble, wider",
        "Deep ensemble, narrower",
        "Deep ensemble, as many networks as fit",
        "Single, wider",
    }


def test_a_method_and_a_dataset_of_ones_own_are_in_the_tables():
    own = results("mine", methods=("mine", "batch_ensemble"))
    found = sheet("main-mine-id", own)
    assert [row[0] for row in found.rows] == ["BatchEnsemble", "mine"]
    known = sheet("paper_vs_ours", results(methods=("mine", "batch_ensemble")))
    assert {row[2] for row in known.rows} == {"BatchEnsemble"}


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (None, ""),
        ("word", "word"),
        (14_100, "14,100"),
        (0.26269, "0.263"),
        (7.1e30, "7.1 × 10^30"),
        (MeanSE(-0.5, 0.0123), "-0.500 ± 0.012"),
    ],
)
def test_a_cell_is_written_as_people_read_it(shown, text):
    assert show(shown) == text
