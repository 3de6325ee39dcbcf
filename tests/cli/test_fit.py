import json
from typing import get_args

import numpy as np
import pandas as pd
from sample_files import QUICK, houses, sales

from batchensemble.cli import fit
from batchensemble.estimators.presets import PRESETS, SERIES_PRESETS
from batchensemble.estimators.target_kinds import KINDS
from batchensemble.training.methods import METHODS


def plain(text):
    return " ".join(text.split())


def test_the_same_words_give_the_same_model(shell):
    answers = []
    for name in ("a.be", "b.be"):
        shell("fit", "houses.csv", "-t", "price", "-o", name, *QUICK)
        answers.append(shell("predict", name, "new.csv").stdout)
    assert answers[0] == answers[1]
    shell("fit", "houses.csv", "-t", "price", "-o", "c.be", *QUICK, "--seed", "1")
    assert shell("predict", "c.be", "new.csv").stdout != answers[0]


def test_gaps_next_to_what_is_held_back_are_filled(shell):
    sales(40).drop([34, 35, 75]).to_csv("gappy.csv", index=False)
    words = ("-t", "sales", "--time", "month", "--series", "store", "--horizon", 4)
    for more in ((), ("--calibrate",)):
        shell("fit", "gappy.csv", *words, "--fill", "ffill", *more, *QUICK)
        assert "2021-05-01" in shell("predict", "gappy.be").stdout


def test_too_few_past_forecasts_are_said_to_be(shell):
    sales(24).query("store == 'north'").to_csv("short.csv", index=False)
    words = ("-t", "sales", "--time", "month", "--horizon", 2, "--calibrate", "--holdout", 0.45)
    said = plain(shell("fit", "short.csv", *words, *QUICK).stdout)
    assert "Calibrated, but with too few later forecasts to say what that changed" in said
    assert "nan" not in said
    sales(40).query("store == 'north'").to_csv("test.csv", index=False)
    scores = json.loads(shell("evaluate", "short.be", "test.csv", "--json").stdout)["scores"]
    assert "coverage_80" in scores
    assert "coverage_95" not in scores


def test_the_words_of_choices_are_those_of_the_library():
    assert list(get_args(fit.Method)) == list(METHODS)
    assert get_args(fit.TargetKind) == KINDS
    assert set(get_args(fit.Preset)) == PRESETS.keys() | SERIES_PRESETS.keys()


def test_a_preset_of_series_is_refused_for_tables(shell):
    said = shell("fit", "houses.csv", "-t", "price", "--preset", "recurrent", code=2).stderr
    assert "--preset recurrent is for series" in plain(said)


def test_the_kind_of_a_target_is_said_and_can_be_chosen(shell):
    random = np.random.default_rng(0)
    x = random.normal(size=120)
    frame = pd.DataFrame({"x": x, "visits": random.poisson(np.exp(2 + 0.8 * x))})
    frame.to_csv("shop.csv", index=False)
    said = plain(shell("fit", "shop.csv", "-t", "visits", *QUICK).stdout)
    assert "Target: count: never below 0; recognised, --target-kind chooses another" in said
    shown = plain(shell("inspect", "shop.be").stdout)
    assert "count: never below 0" in shown
    shell("predict", "shop.be", "shop.csv", "-o", "answers.csv")
    assert shell.read("answers.csv").lower.min() >= 0
    found = json.loads(shell("fit", "shop.csv", "-t", "visits", "--json", *QUICK).stdout)
    assert found["target_kind"] == "count"
    said = plain(shell("fit", "shop.csv", "-t", "visits", "--target-kind", "real", *QUICK).stdout)
    assert "Target: real: any number Scores" in said
    for words in (("--task", "classification"), ("--time", "x")):
        refused = shell("fit", "shop.csv", "-t", "visits", "--target-kind", "real", *words, code=2)
        assert "--target-kind is for a regression" in plain(refused.stderr)


def test_rows_of_a_group_or_the_last_rows_are_held_out_together(shell):
    shell("fit", "houses.csv", "-t", "price", "--groups", "town", "--holdout", 0.3, *QUICK)
    found = json.loads(shell("inspect", "houses.be", "--json").stdout)["origin"]
    assert found["judged_on"].endswith("held-out rows of other groups")
    sizes = houses().dropna(subset=["price"]).town.value_counts()
    assert {found["n_judged"], found["n_judged"] - 1} & {*sizes}  # a town, and a row without one
    shell("fit", "houses.csv", "-t", "price", "--in-time", "sold", *QUICK)
    found = json.loads(shell("inspect", "houses.be", "--json").stdout)["origin"]
    assert (found["judged_on"], found["n_judged"]) == ("the 24 last rows", 24)
    for words, said in (
        (("--groups", "twon"), "did you mean 'town'"),
        (("--in-time", "town"), "expected dates or numbers without gaps in the --in-time column"),
    ):
        refused = shell("fit", "houses.csv", "-t", "price", *words, code=1)
        assert said in plain(refused.stderr)
    shell("fit", "houses.csv", "-t", "price", "--groups", "town", "--in-time", "sold", code=2)
