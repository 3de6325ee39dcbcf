"""Names of series in files, which write them in their own way."""

from collections import Counter
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from batchensemble.data.vocabulary import Spelling


def names_of_fit(names: pd.Series, ids: NDArray[Any]) -> pd.Series:
    """Names of series as fit had them: a spreadsheet makes 1 of 001, and a file texts of dates."""
    different = set(names)
    known: dict[str | None, Any] = {word: i for i in ids.tolist() for word in _written(i)}
    spelling = Spelling(list(known))
    spelled = {name: known.get(spelling(name), name) for name in different - {*ids}}
    n_spellings = Counter(spelled.values())  # a file may tell 1 from 01
    changed = {name: i for name, i in spelled.items() if i not in different and n_spellings[i] == 1}
    return names.map(lambda name: changed.get(name, name)) if changed else names


def _written(name: Any) -> list[str]:
    """How a file may have the name of a series; that of a day with its hour or without."""
    words = str(name)
    return [words] if isinstance(name, str) else [words, words.removesuffix(" 00:00:00")]
