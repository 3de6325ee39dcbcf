"""What a fitted estimator keeps in a file, as JSON and arrays."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from batchensemble.estimators.forms import CODEC
from batchensemble.modelfile.codec import Arrays


def stored(parameters: dict[str, Any], learned: dict[str, Any]) -> tuple[dict[str, Any], Arrays]:
    """Parameters and what was learned, as JSON and arrays."""
    if isinstance(parameters["random_state"], np.random.RandomState):
        parameters["random_state"] = None
    if "categories" in parameters:
        parameters["categories"] = plain_lists(parameters["categories"])
    if "device" in parameters:
        parameters["device"] = str(parameters["device"])
    arrays: Arrays = {}
    contents: dict[str, Any] = {}
    for part, values in (("parameters", parameters), ("learned", learned)):
        contents[part] = {name: CODEC.encode(value, name, arrays) for name, value in values.items()}
    return contents, arrays


def plain_lists(categories: Mapping[str, Sequence[Any]] | None) -> dict[str, Any] | None:
    """Lists instead of other libraries' arrays, which no file can keep; sets in one order."""
    if categories is None:
        return None
    given = categories.items()
    for name, words in given:
        if isinstance(words, str | Iterator) or not isinstance(words, Iterable):
            raise ValueError(
                f"expected categories={{{name!r}: [...]}}, a list for each column, got "
                f"{words!r:.80}"
            )
    plain = (list, tuple, np.ndarray)
    lists = {n: words if isinstance(words, plain) else list(words) for n, words in given}
    sets = {n: sorted(words, key=str) for n, words in given if isinstance(words, set | frozenset)}
    return lists | sets
