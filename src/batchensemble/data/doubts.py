"""What may make a model worse, or look better, than its user thinks; each as one sentence.

A false alarm is worse than silence: a check speaks where there is hardly another explanation.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from batchensemble.data.columns import Column, Columns
from batchensemble.data.notation import Survey
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.data.units import doubts_about_units
from batchensemble.data.vocabulary import Spelling, strange_words

FEWEST_ROWS, FEWEST_ROWS_OF_CLASSES = 50, 200  # from which on a relation can hardly be chance
SCREENED_ROWS, SUSPICIOUS, LEAK = 200, 0.1, 0.002
FEW_OF_A_CLASS = 10
FEWEST_NEW_ROWS = 10
DIFFERENT, MANY_NUMBERS, WORDS_OF_TEXT = 0.95, 20, 4
MERGED_SHARE = 0.05
MOST_NAMED = 5
_CODE = re.compile(
    r"(.*[ _-])?(zip|zip ?code|post(al)?[ _-]?code|plz|postleitzahl|code[ _-]?postal|npa|code|sku)",
    re.IGNORECASE | re.DOTALL,
)
_ID = re.compile(r"(?i:(.*[ _-])?(id|uuid|guid|key))|.*[a-z]Id|.*ID", re.DOTALL)


def doubts_about(
    columns: Columns,
    target: NDArray[Any],
    encoder: TableEncoder,
    *,
    is_classes: bool,
    is_limit_given: bool = False,
    is_sample: bool = False,
) -> Iterator[str]:
    """Sentences about a table and its target, before training.

    Whoever gave a limit of categories knows that rare ones are merged. A sample of a table does not
    say how many rows a class has.
    """
    if is_classes and not is_sample:
        yield from _few_of_a_class(target)
    if len(target) < FEWEST_ROWS:
        return
    if len(columns) > 1:
        yield from _leaks(columns, target, is_classes=is_classes)
    apart = {column.name: why for column in columns if (why := _is_like_an_id(column))}
    yield from (f"column {name!r} {why}" for name, why in apart.items())
    yield from (_codes(column.name) for column in columns if _is_of_codes(column))
    merged = {} if is_limit_given else _merged(columns, encoder)
    yield from (doubt for name, doubt in merged.items() if name not in apart)
    yield from (f"column {name!r}: {doubt}" for name, doubt in encoder.date_doubts_.items())


def _few_of_a_class(target: NDArray[Any]) -> Iterator[str]:
    codes, classes = pd.factorize(target, sort=True)
    counts = np.bincount(codes)
    few = np.flatnonzero(counts < FEW_OF_A_CLASS)
    if len(few) and len(target) >= FEWEST_ROWS:
        named = ", ".join(f"{classes[i]} ({counts[i]})" for i in few[:MOST_NAMED].tolist())
        more = f" and {len(few) - MOST_NAMED} more" if len(few) > MOST_NAMED else ""
        yield (
            f"classes with fewer than {FEW_OF_A_CLASS} rows: {named}{more}; these are too "
            "few to learn from or to score: collect more, or merge them with other "
            "classes"
        )


def doubts_about_new(columns: Columns, encoder: TableEncoder) -> Iterator[str]:
    """Sentences about rows to predict."""
    yield from doubts_about_units(columns, encoder)
    for j, spelling in encoder.spellings().items():
        if spelling.gap is not None and columns[j].missing.any():
            yield (
                f"column {columns[j].name!r}: missing values are taken for the category "
                f"{spelling.gap!r} of the training data, since files write both alike; if they "
                "differ, rename that category and fit again"
            )
    if columns.n_rows < FEWEST_NEW_ROWS:
        return
    for j, spelling in encoder.spellings().items():
        yield from _strange_words(columns[j], spelling)


def doubts_about_covariates(columns: Columns, encoder: TableEncoder) -> Iterator[str]:
    """Sentences about columns of series, found by their names; there may be others."""
    yield from doubts_about_units(columns, encoder)
    by_name = {column.name: column for column in columns}
    for j, spelling in encoder.spellings().items():
        if encoder.names_[j] in by_name:
            yield from _strange_words(by_name[encoder.names_[j]], spelling)


def _strange_words(column: Column, spelling: Spelling) -> Iterator[str]:
    if words := strange_words(column, spelling):
        yield (
            f"column {column.name!r}: none of its categories, such as {words[0]!r:.40} "
            f"and {words[1]!r:.40}, occurred in training, so the model ignores it; spell them as "
            "in the training data"
        )


# ------------------------------------------------------------------------------------------ leaks


def _leaks(columns: Columns, target: NDArray[Any], *, is_classes: bool) -> Iterator[str]:
    """Columns of which the target is almost a function, be it rising or not."""
    y = pd.factorize(target)[0].astype(np.float64)
    if not y.any():  # all targets are the same
        return
    if is_classes:
        others = len(y) - np.unique(y, return_counts=True)[1].max()
        if len(y) < FEWEST_ROWS_OF_CLASSES or others < FEW_OF_A_CLASS:
            return
    else:
        y = rankdata(target)
    order = np.random.default_rng(0).permutation(len(y))  # ties stand in random order
    some = order[:SCREENED_ROWS]
    numeric = [column for column in columns if column.kind != "category"]
    suspicious = []
    if numeric:
        block = np.column_stack([column.values[some].astype(np.float64) for column in numeric])
        least = _least(y[some], is_classes=is_classes)
        unlike = _unexplained(block, y[some], is_classes=is_classes)
        suspicious = [numeric[j] for j in np.flatnonzero(unlike < SUSPICIOUS + least)]
    least = _least(y, is_classes=is_classes)
    for column in suspicious:
        x = column.values[order].astype(np.float64)[:, None]
        if _unexplained(x, y[order], is_classes=is_classes)[0] < LEAK + least:
            yield _leak(column.name)
    for column in columns:
        if column.kind == "category" and _determines(column.values, y, is_classes=is_classes):
            yield _leak(column.name)


def _leak(name: str) -> str:
    return (
        f"column {name!r} almost determines the target by itself; if it will not be "
        "known when you predict, leave it out (--drop on the command line): with it, "
        "scores are too good"
    )


def _unexplained(
    x: NDArray[np.float64], y: NDArray[np.float64], *, is_classes: bool
) -> NDArray[np.float64]:
    """(rows, columns) -> the share of the target's variation between neighbours in each column.

    0 if the target is a function of the column, 1 if the column says nothing (Chatterjee 2021).
    """
    sorted_y = y[np.argsort(x, axis=0, kind="stable")]
    steps = np.diff(sorted_y, axis=0)
    if is_classes:
        return np.asarray((steps != 0).mean(axis=0) / _changes(y))
    return np.asarray((steps**2).mean(axis=0) / max(2 * y.var(), 1e-12))


def _least(y: NDArray[np.float64], *, is_classes: bool) -> float:
    """What a copy of the target leaves unexplained: steps of one rank, or two steps a class."""
    if is_classes:
        return 2 * (len(np.unique(y)) - 1) / _changes(y) / len(y)
    return 6 / len(y) ** 2


def _changes(y: NDArray[np.float64]) -> float:
    """The share of neighbours with different classes in a random order."""
    shares = np.unique(y, return_counts=True)[1] / len(y)
    return max(float(1 - (shares**2).sum()), 1e-12)


def _determines(words: NDArray[Any], y: NDArray[np.float64], *, is_classes: bool) -> bool:
    """Whether rows with the same word have nearly the same target; words must be few."""
    codes, different = pd.factorize(words, use_na_sentinel=False)
    if not 1 < len(different) <= len(y) / 10:
        return False
    if is_classes:
        n_classes = int(y.max()) + 1
        pairs = np.bincount(codes * n_classes + y.astype(np.int64))
        pairs = np.pad(pairs, (0, -len(pairs) % n_classes)).reshape(-1, n_classes)
        wrong = len(y) - pairs.max(axis=1).sum()
        return bool(wrong < LEAK * (len(y) - pairs.sum(axis=0).max()))
    counts = np.bincount(codes)
    means = np.bincount(codes, y) / counts
    within = ((y - means[codes]) ** 2).sum() / (len(y) - len(different))
    return bool(within < LEAK * y.var())


# ---------------------------------------------------------------------------------- ids and words


def _is_like_an_id(column: Column) -> str:
    """Why nothing can be learned from a column, if so."""
    if column.kind == "number":
        if not _ID.fullmatch(column.name):
            return ""
        numbers = column.values[~np.isnan(column.values)]
        is_id = len(numbers) and (numbers == np.round(numbers)).all()
        if not is_id or len(np.unique(numbers)) < len(numbers):
            return ""
        return "differs in every row, like an ID; leave it out if it means nothing"
    if column.kind != "category":
        return ""
    words = [word for word in column.values.tolist() if word is not None]
    different = len(set(words))
    if len(words) < FEWEST_ROWS or different < MANY_NUMBERS:
        return ""
    survey = Survey.of(words[:SCREENED_ROWS])
    if not survey.others and (survey.decimals or survey.unclear or survey.signs.keys() - {""}):
        return (
            f"holds numbers written as text, such as {words[0]!r:.40}, and is read as words; "
            "convert it to numbers"
        )
    if different < DIFFERENT * len(words):
        return ""
    if are_sentences(words):
        return (
            "is free text, which is read as one word per row; leave it out, or derive "
            "columns from it"
        )
    return "differs in (almost) every row, like an ID; nothing can be learned from it: leave it out"


def says_codes(name: str) -> bool:
    """Whether digits in a column of this name are codes or IDs."""
    return bool(_CODE.fullmatch(name) or _ID.fullmatch(name))


def are_sentences(texts: Sequence[str]) -> bool:
    """Whether texts have several words each, as free text does."""
    return bool(np.mean([len(text.split()) for text in texts[:SCREENED_ROWS]]) >= WORDS_OF_TEXT)


def _is_of_codes(column: Column) -> bool:
    """Whether whole numbers that come again and again are codes by the column's name."""
    if column.kind != "number" or not _CODE.fullmatch(column.name):
        return False
    numbers = column.values[~np.isnan(column.values)]
    return len(numbers) > 2 * len(np.unique(numbers)) > 4 and bool((numbers % 1 == 0).all())


def _codes(name: str) -> str:
    return (
        f"column {name!r} is read as numbers, but its name suggests codes; if their "
        f"order means nothing, read it as words: X[{name!r}].astype(str), or "
        "--category on the command line"
    )


def _merged(columns: Columns, encoder: TableEncoder) -> dict[str, str]:
    """Columns of which many categories become one, by name."""
    merged = {}
    for j, rare in zip(encoder.learned_, encoder.words_.rare, strict=True):
        if rare:
            few, every = len(rare), len(encoder.words_.categories) and _n_words(columns[j])
            merged[columns[j].name] = (
                f"the {few:,} rarest of the {every:,} categories of column {columns[j].name!r} are "
                "merged into one; raise max_categories to tell them apart"
            )
    for j, known in zip(encoder.coded_, encoder.codes_.words, strict=True):
        counts = Counter(columns[j].values.tolist())
        rows = sum(counts.values()) - sum(counts[word] for word in known)
        if rows >= MERGED_SHARE * columns.n_rows:
            merged[columns[j].name] = (
                f"{len(counts) - len(known):,} of the {len(counts):,} categories of column "
                f"{columns[j].name!r} are in one or two rows each and merged into one "
                f"({rows / columns.n_rows:.0%} of the rows); coarser categories may predict better"
            )
    return merged


def _n_words(column: Column) -> int:
    return len(set(column.values.tolist()))
