"""A case by its kind and number, and smaller cases that fail in the same way."""

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from fuzz.outcomes import outcome

KINDS = ("tables", "series", "table_files", "arguments", "model_files", "engines", "routes", "laws")
MOST_TRIES = 60  # to make a case smaller

Plan = dict[str, Any]


def planned(kind: str, seed: int, number: int) -> Plan:
    random = np.random.default_rng([seed, KINDS.index(kind), number])
    plan: Plan = import_module(f"fuzz.{kind}").plan(random)
    return plan


@cache
def prepare(kind: str) -> None:
    """What costs time or memory once, such as compilation, or the libraries of a GPU."""
    getattr(import_module(f"fuzz.{kind}"), "prepare", lambda: None)()


def result_of(kind: str, plan: Plan) -> str:
    prepare(kind)
    return outcome(import_module(f"fuzz.{kind}").run, plan)


def smaller(plan: Any) -> Iterator[Any]:
    """The same without an entry of a list or an optional setting, or with smaller numbers."""
    if isinstance(plan, dict):
        for key, value in plan.items():
            if key == "settings":
                yield from (
                    {**plan, key: {k: v for k, v in value.items() if k != one}} for one in value
                )
            else:
                yield from ({**plan, key: less} for less in smaller(value))
    elif isinstance(plan, list) and len(plan) > 1:
        yield from (plan[:i] + plan[i + 1 :] for i in range(len(plan)))
    elif isinstance(plan, bool) and plan:
        yield False
    elif isinstance(plan, str) and len(plan) > 40:
        yield from (plan[: len(plan) // 2], plan[len(plan) // 2 :])


def minimal(plan: Plan, fails: Callable[[Plan], bool]) -> Plan:
    """The smallest plan found that still fails."""
    tries = 0
    shrinks = True
    while shrinks:
        shrinks = False
        for less in smaller(plan):
            tries += 1
            if tries > MOST_TRIES:
                return plan
            if fails(less):
                plan, shrinks = less, True
                break
    return plan
