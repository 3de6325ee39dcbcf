"""The categories that a user lists for some columns."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchensemble.data.columns import Columns
from batchensemble.data.scalars import category_text
from batchensemble.words import one_of

Vocabulary = dict[str, list[str | None]]


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


def texts_of(
    columns: Columns,
    positions: Sequence[int],
    known: Sequence[Sequence[str | None]] | None = None,
) -> NDArray[Any]:
    """(rows, positions) of categories; `known` are the words of each, if they are known already.

    Numbers and truths are the words that mean them: True is "true", 1.0 is "1.0" or "1".
    """
    texts = np.empty((columns.n_rows, len(positions)), dtype=object)
    for i, j in enumerate(positions):
        words = columns[j].as_kind("category").values.tolist()
        if known is not None and columns[j].kind in ("boolean", "number"):
            own = [word for word in known[i] if word is not None]
            spelled = {_meaning(word): word for word in own} | dict(zip(own, own, strict=True))
            words = [word if word is None else spelled.get(word, word) for word in words]
        texts[:, i] = words
    return texts


def _meaning(word: str) -> str | None:
    """How the number or truth that a word stands for is named; any other word is itself."""
    if word.lower() in ("true", "false"):
        return word.capitalize()
    try:
        return category_text(float(word))
    except ValueError:
        return word
