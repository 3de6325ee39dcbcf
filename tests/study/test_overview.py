import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats

from batchensemble.study import overview
from batchensemble.study.claims import Verdict
from batchensemble.study.overview import claim_strengths, nll_gaps
from batchensemble.study.results import Study
from batchensemble.study.spec import Run
from batchensemble.study.statements import Part
from batchensemble.study.store import Result
from batchensemble.training.methods import METHODS


def results(datasets=("adult", "diabetes")):
    random = np.random.default_rng(0)
    return [
        Result(Run(dataset, "id", method, seed), {"nll": random.normal()}, about={})
        for dataset in datasets
        for method in METHODS
        for seed in range(5)
    ]


def axes_of(chart):
    axes = Figure().add_subplot()
    chart.draw(axes)
    return axes


def verdict(name, *words, ignored=()):
    parts = [Part("", word) for word in words] + [Part("", word, {}, False) for word in ignored]
    return Verdict(name, f"text of {name}", "partly", "", tuple(parts))


def test_differences_in_nll_are_drawn_with_students_interval():
    own = results()
    axes = axes_of(nll_gaps(Study(own)))
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["Adult", "Diabetes"]
    values = {
        method: [
            r.metrics["nll"] for r in own if (r.run.dataset, r.run.method) == ("adult", method)
        ]
        for method in METHODS
    }
    gaps = np.subtract(values["deep_ensemble"], values["batch_ensemble"])
    expected = stats.ttest_1samp(gaps, 0).confidence_interval(0.95)
    bars = [line.get_xdata() for line in axes.lines if len(line.get_xdata()) == 2]
    assert any(bar == pytest.approx([expected.low, expected.high]) for bar in bars)


def test_there_is_no_picture_of_nothing():
    assert nll_gaps(Study([])) is None
    assert claim_strengths(Study(results())) is None  # no claim can be judged by these


def test_claims_stand_by_the_share_of_their_parts_that_hold_the_strongest_first(monkeypatch):
    judged = [
        verdict("C1", "holds", "does not hold"),
        verdict("C2", "holds", "holds", "partly", ignored=["does not hold"]),
        verdict("C3", "partly", "holds"),
        Verdict("C4", "", None, "needs runs", ()),
    ]
    monkeypatch.setattr(overview, "judge_claims", lambda study: judged)
    axes = axes_of(claim_strengths(Study([])))
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["C2", "C3", "C1"]
    assert [text.get_text() for text in axes.texts] == ["2 of 3", "1 of 2", "1 of 2"]
    widths = [bar.get_width() for bar in axes.patches if bar.get_width()]
    assert widths == pytest.approx([2 / 3, 1 / 3, 0.5, 0.5, 0.5, 0.5])
