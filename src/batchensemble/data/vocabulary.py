"""The categories that a user lists for some columns."""

from collections.abc import Mapping, Sequence
from typing import Any

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
