"""A short attack of every kind, and what earlier ones found. `make fuzz` runs the long one."""

import json
import time
from pathlib import Path

import pytest
from fuzz.cases import KINDS, minimal, planned, result_of, smaller
from fuzz.outcomes import ANSWER, REFUSED, Wrong, check_numbers, is_failure, outcome

SECONDS = 60 / len(KINDS)  # of each kind
CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.json"))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_breaks_it_for_some_seconds(kind):
    result_of(kind, planned(kind, 1, 0))  # what is imported or compiled first
    started, number, seen = time.perf_counter(), 0, set()
    while time.perf_counter() - started < SECONDS:
        plan = planned(kind, 1, number)
        result = result_of(kind, plan)
        assert not is_failure(result), f"{result}\n{json.dumps({'kind': kind, 'plan': plan})}"
        seen.add(result)
        number += 1
    assert ANSWER in seen


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_what_once_failed_does_not_fail_again(path):
    case = json.loads(path.read_text())
    result = result_of(case["kind"], case["plan"])
    assert not is_failure(result), f"{result}; once it was {case['result']}"


def raising(error):
    def run(plan):
        raise error

    return run


def test_outcomes_are_told_apart():
    from batchensemble.words import one_of

    assert outcome(lambda plan: None, {}) == ANSWER
    assert outcome(lambda plan: one_of("x", ["a"], "word"), {}) == REFUSED
    for error in (
        ValueError("not from our code"),
        KeyError("key"),
        Wrong("NaN"),
        UserWarning("a leaked warning"),
        MemoryError(),
    ):
        assert is_failure(outcome(raising(error), {}))
    assert is_failure(outcome(lambda plan: check_numbers([float("nan")], 1), {}))
    assert is_failure(outcome(lambda plan: check_numbers([1.0], 2), {}))


def test_a_failing_case_is_made_small():
    plan = {"columns": ["a", "b", "bad", "c"], "settings": {"x": 1, "y": 2}, "flag": True, "n": 5}
    found = minimal(plan, lambda less: "bad" in less["columns"])
    assert found == {"columns": ["bad"], "settings": {}, "flag": False, "n": 5}
    assert plan not in list(smaller(plan))
