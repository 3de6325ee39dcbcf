"""The categories that a user lists for some columns, and those that fit knew, however written."""

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchensemble.data.columns import MOST_EXACT, Column, Columns
from batchensemble.data.scalars import GAPS, category_text
from batchensemble.words import one_of

Vocabulary = dict[str, list[str | None]]
MOST_WORDS = 100  # of a column that is expected to have the same ones again
_MIDNIGHT = re.compile(r"(\d{4}-\d\d-\d\d) 00:00:00")
_TRUTHS = {"True", "False"}
_ALL_TRUTHS = [{"True"}, {"False"}, _TRUTHS]
_TIME = re.compile(r"(\d\d?):(\d\d)(?::(\d\d))?")


def read_vocabulary(categories: Mapping[str, Sequence[Any]], columns: Columns) -> Vocabulary:
    """By column, as texts; the values of a column must all be among its categories."""
    vocabulary: Vocabulary = {}
    for name, words in categories.items():
        one_of(name, columns.names, "a column named in categories")
        texts = [category_text(word) for word in words]
        if not texts or len(set(texts)) < len(texts):
            raise ValueError(
                f"categories of column {name!r} must be at least one and all different, "
                f"got {list(words)}"
            )
        seen = set(columns[columns.names.index(name)].as_kind("category").values)
        unlisted = sorted(seen - {*texts, None})
        if unlisted:
            raise ValueError(
                f"column {name!r} holds {unlisted[:5]}, not in its given categories {texts}; "
                "add what is absent, or leave the column out of `categories`"
            )
        vocabulary[name] = texts
    return vocabulary


class Spelling:
    """The words that fit knew, for others that mean the same.

    Files and programs write a number, a truth or a gap in several ways: for "true", " true" and
    True come as well, for "1.50" also 1.5, for "02139" also 2139, for a day also its midnight; and
    an accent may be a letter of its own.
    """

    def __init__(self, words: Sequence[str | None]) -> None:
        self._known = frozenset(words)
        self._by_meaning = {_meaning(word): word for word in reversed(words)}
        self.like_gaps = (GAPS - {""}).intersection(words)  # which files write for no value
        self.gap = None if None in self._known else self._by_meaning.get(None)  # the word of gaps
        self.knows_truths = not _TRUTHS.isdisjoint(self._by_meaning)

    def __call__(self, word: str | None) -> str | None:
        return word if word in self._known else self._by_meaning.get(_meaning(word), word)

    def __len__(self) -> int:
        return len(self._known)

    def knows(self, word: str | None) -> bool:
        return self(word) in self._known


def without_midnight(word: str) -> str:
    """A day has no hour."""
    return found[1] if (found := _MIDNIGHT.fullmatch(word)) else word


def _meaning(word: str | None) -> str | None:
    """How the number, truth or gap that a word stands for is named; any other word is itself."""
    word = unicodedata.normalize("NFC", (word or "").strip())
    word = without_midnight(word)
    if word in GAPS:
        return None
    if word.capitalize() in _TRUTHS:
        return word.capitalize()
    if time := _TIME.fullmatch(word):
        hours, minutes, seconds = (int(part or 0) for part in time.groups())
        return str(3600 * hours + 60 * minutes + seconds)  # as times of day are read
    try:
        number = float(word)
        is_long = MOST_EXACT <= abs(number) < math.inf
        return word if "_" in word else category_text(Decimal(word) if is_long else number)
    except ValueError:
        return word


def strange_words(column: Column, spelling: Spelling) -> list[str]:
    """Several words of a column of which fit knew none, where it knew few; or nothing."""
    if not 1 < len(spelling) <= MOST_WORDS:
        return []
    words = {*column.as_kind("category").values} - {None}
    return [] if len(words) < 2 or any(map(spelling.knows, words)) else sorted(words)


def spelled(columns: Columns, spellings: Mapping[int, Spelling]) -> Columns:
    """Categories as fit knew them; `spellings` by the column's position."""
    if not spellings:
        return columns
    return Columns(
        tuple(_spelled(c, spellings[j]) if j in spellings else c for j, c in enumerate(columns))
    )


def _spelled(column: Column, spelling: Spelling) -> Column:
    column = column.as_kind("category")
    if not spelling.knows_truths and {*column.values} - {None} in _ALL_TRUTHS:
        raise ValueError(
            f"column {column.name!r}: expected the categories of the training data, got true and "
            "false, which are not among them; write those categories, or fit again with the column "
            "as it is now"
        )
    return column._replace(values=np.array([*map(spelling, column.values)], dtype=object))


def texts_of(columns: Columns, positions: Sequence[int]) -> NDArray[Any]:
    """(rows, positions) of categories."""
    texts = np.empty((columns.n_rows, len(positions)), dtype=object)
    for i, j in enumerate(positions):
        texts[:, i] = columns[j].as_kind("category").values
    return texts
