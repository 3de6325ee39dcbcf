import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batchensemble.data.frames import read_columns
from batchensemble.data.panels import read_panel
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.data.units import (
    doubt_about_truth,
    doubts_about_series,
    doubts_about_units,
    misfit,
)

N = 300
KEPT = [{"scaling": "robust", "bins": 16}, {"scaling": "minmax"}, {"scaling": "quantile"}]
DRAWS = {
    "normal": lambda random, n: random.normal(50, 10, n),
    "around zero": lambda random, n: random.normal(0, 10, n),
    "lognormal": lambda random, n: random.lognormal(5, 0.7, n),
    "wide": lambda random, n: random.lognormal(0, 3, n),
    "heavy": lambda random, n: 1 + random.pareto(0.7, n),
    "uniform": lambda random, n: random.uniform(1, 100, n),
    "negative": lambda random, n: -random.exponential(10, n) - 1,
    "whole": lambda random, n: random.integers(1, 9, n).astype(float),
    "counts": lambda random, n: random.poisson(2, n).astype(float),
    "codes": lambda random, n: random.choice([100.0, 250.0, 999.0], n),
    "mixture": lambda random, n: random.choice([1.0, 1000.0], n) * random.uniform(1, 5, n),
}


def table(n=N, seed=0):
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "income": random.lognormal(10, 0.5, n),
            "depth": -random.uniform(20, 400, n),
            "share": random.uniform(0, 1, n),
            "town": random.choice(["Ulm", "Bonn"], n),
            "on": pd.date_range("2020-01-01", periods=n),
            "same": 7.0,
        }
    )


def told(fitted, new, *, scaling="robust", bins=None):
    encoder = TableEncoder(scaling, bins=bins).fit(fitted)
    return list(doubts_about_units(read_columns(new), encoder))


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("factor", [1e3, 1e-3, 1e6, 1e-6, 1e2, 1e-2])
@pytest.mark.parametrize("name", ["income", "depth"])
def test_all_numbers_in_another_unit_are_told(kept, factor, name):
    new = table(40, seed=1)
    new[name] /= factor
    new.loc[[0, 5], name] = np.nan
    (doubt,) = told(table(), new, **kept)
    start = f"column {name!r}: all values lie far outside the training range, such as "
    assert doubt.startswith(start)
    assert f"such as {new[name][1]:.6g} instead of about {table()[name].min():.6g} to" in doubt
    word = "larger" if factor > 1 else "smaller"
    times = f"{max(factor, 1 / factor):,.0f} times {word}"
    cure = "use the unit of the training data"
    assert f"and would be in that range if they were {times}; {cure}" in doubt
    assert doubt.endswith("add --decimal . or --decimal , on the command line")


@pytest.mark.parametrize("kept", [*KEPT, {"scaling": "standard"}])
def test_rows_like_those_of_fit_are_beyond_doubt(kept):
    assert told(table(), table(40, seed=1), **kept) == []


def test_three_rows_are_enough_and_two_are_not():
    new = table(40, seed=1).assign(income=lambda frame: frame["income"] / 1000)
    assert len(told(table(), new[:3], bins=16)) == 1
    assert told(table(), new[:2], bins=16) == []
    new["income"] = np.where(np.arange(40) < 38, np.nan, new["income"])
    assert told(table(), new, bins=16) == []


def test_a_number_of_new_rows_may_be_the_smallest_of_all():
    new = np.array([48.113, 38.362, 37.173, 6.575, 33.000])
    assert misfit(new, np.linspace(8582, 101_358, 17)).factor == 1000


def test_one_number_as_at_fit_is_proof_of_the_unit():
    new = table(40, seed=1)
    new["income"] = np.where(np.arange(40) == 39, new["income"], new["income"] / 1000)
    assert told(table(), new, bins=16) == []


@pytest.mark.parametrize(
    "known",
    [
        np.linspace(0, 1e6, 100),
        np.linspace(-5, 1e6, 100),
        np.geomspace(1, 1e7, 100),
        np.full(100, 5.0),
        np.zeros(0),
    ],
)
@pytest.mark.parametrize("factor", [1e3, 1e-3])
def test_numbers_from_which_a_unit_cannot_be_told_prove_nothing(known, factor):
    assert misfit(np.geomspace(1, 1e6, 50) / factor, known) is None


def test_a_counter_that_went_on_has_no_other_unit():
    known = np.arange(1.0, 301.0)
    assert misfit(np.arange(100_000.0, 100_300.0), known) is None
    assert misfit(1000 * known[40:], known) is not None  # a control


def test_one_number_again_and_again_stands_for_something_else():
    assert misfit(np.full(50, 9999.0), np.linspace(5, 12, 100)) is None


@settings(max_examples=400)
@given(
    draw=st.sampled_from(sorted(DRAWS)),
    n=st.integers(20, 400),
    n_new=st.integers(3, 60),
    shift=st.floats(1 / 3, 3),
    bins=st.sampled_from([None, 16]),
    seed=st.integers(0, 2**32 - 1),
)
def test_rows_that_drift_by_up_to_three_times_are_no_alarm(draw, n, n_new, shift, bins, seed):
    random = np.random.default_rng(seed)
    known, new = DRAWS[draw](random, n), shift * DRAWS[draw](random, n_new)
    kept = {"bins": bins, "scaling": "robust" if bins else "minmax"}
    assert told(pd.DataFrame({"a": known}), pd.DataFrame({"a": new}), **kept) == []


# ----------------------------------------------------------------------------------------- series


def series(n=60):
    random = np.random.default_rng(0)
    times = pd.date_range("2020-01-01", periods=n)
    return pd.concat(
        pd.DataFrame({"unique_id": i, "ds": times, "y": level + random.normal(0, level / 10, n)})
        for i, level in (("a", 5000), ("b", 80), ("c", 0))
    )


def test_series_that_go_on_in_another_unit_are_told_once():
    df = series()
    known, new = read_panel(df), df.groupby("unique_id").tail(5)
    (doubt,) = doubts_about_series(known, new["unique_id"].to_numpy(), new["y"].to_numpy() / 1000)
    start = "series 'a' and 1 more: all values lie far outside its known range, such"
    assert doubt.startswith(start)
    assert "would be in that range if they were 1,000 times larger" in doubt
    other = np.where(new["unique_id"] == "b", new["y"] / 1000, new["y"])
    (doubt,) = doubts_about_series(known, new["unique_id"].to_numpy(), other)
    assert doubt.startswith("series 'b': all values lie")


@pytest.mark.parametrize("factor", [1.0, 0.1, 0.01, 10.0])
def test_a_series_may_fall_or_rise_a_hundredfold(factor):
    df = series()
    known, new = read_panel(df), df.groupby("unique_id").tail(5)
    assert not list(
        doubts_about_series(known, new["unique_id"].to_numpy(), factor * new["y"].to_numpy())
    )


def test_series_that_are_not_known_are_not_compared():
    known, new = read_panel(series()), series().assign(unique_id="z")
    values = new["y"].to_numpy() / 1000
    assert not list(doubts_about_series(known, new["unique_id"].to_numpy(), values))


# ------------------------------------------------------------------------------------------ truth


def predicted(n=100, noise=0.2, seed=0):
    """Truth, mean and interval."""
    random = np.random.default_rng(seed)
    mean = random.lognormal(10, 0.8, n)
    truth = mean * np.exp(random.normal(0, noise, n))
    return truth, mean, mean * np.exp(-1.6 * noise), mean * np.exp(1.6 * noise)


@pytest.mark.parametrize("factor", [1e3, 1e-3, 1e6, 1e-6, 1e2, 1e-2])
@pytest.mark.parametrize("sign", [1, -1])
def test_truth_in_another_unit_is_told(factor, sign):
    truth, mean, lower, upper = predicted()
    ends = (lower, upper) if sign > 0 else (-upper, -lower)
    (doubt,) = doubt_about_truth("price", sign * truth / factor, sign * mean, *ends)
    times = f"{max(factor, 1 / factor):,.0f} times {'larger' if factor > 1 else 'smaller'}"
    assert doubt.startswith("column 'price': its values lie far from the predictions, such as ")
    assert f"and would be like them if they were {times}; use the unit of" in doubt


@pytest.mark.parametrize("shift", [1, 1 / 30, 1 / 10, 1 / 3, 3, 10, 30])
@pytest.mark.parametrize("noise", [0.05, 0.2, 1.0])
def test_truth_that_drifts_is_no_alarm(shift, noise):
    truth, *others = predicted(noise=noise)
    assert not list(doubt_about_truth("price", shift * truth, *others))


def test_a_model_that_knows_nothing_is_no_alarm():
    random = np.random.default_rng(0)
    truth, mean = random.normal(size=100), random.normal(0, 0.01, 100)
    assert not list(doubt_about_truth("price", truth, mean, mean - 1.6, mean + 1.6))
    assert not list(doubt_about_truth("price", 50 * truth, mean, mean - 1.6, mean + 1.6))


def test_numbers_of_fit_that_fall_have_no_unit():
    numbers = np.array([1e5, 2e5, 3e5])
    for known in ([3.0, 2.0, -1.0], [-1.0, -2.0, -3.0], [2.0, -2.0]):
        assert misfit(numbers, np.array(known)) is None
        assert misfit(-numbers, np.array(known)) is None
