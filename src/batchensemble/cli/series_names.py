"""Names of series in files, which write them in their own way."""

import re
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.data.vocabulary import Spelling, without_midnight

_WHOLE = re.compile(r"-?\d{1,15}(\.0*)?")


def names_of_fit(words: pd.Series, ids: NDArray[Any]) -> pd.Series:
    """The series that words of a file name: in a spreadsheet 001 is 1, and a day has an hour.

    A new one is called by its number if all series of fit were, and otherwise as the file has it.
    """
    different, known = set(words), {str(i): i for i in ids.tolist()}
    spelling = Spelling(list(known))
    names = {word: known[word] for word in different if word in known}
    meant = {word: str(spelling(word)) for word in different - names.keys() if spelling.knows(word)}
    n_spellings = Counter(meant.values())  # a file may tell 1 from 01
    names |= {
        word: known[name]
        for word, name in meant.items()
        if name not in names and n_spellings[name] == 1
    }
    new = different - names.keys()
    if all(isinstance(i, int | np.integer) for i in ids):
        numbers = {word: int(float(word)) for word in new if _WHOLE.fullmatch(word)}
        n_written, taken = Counter(numbers.values()), {*names.values()}
        names |= {
            word: number
            for word, number in numbers.items()
            if number not in taken and (n_written[number] == 1 or word == str(number))
        }
    names |= {word: without_midnight(word) for word in new - names.keys()}
    return words.map(lambda word: names.get(word, word))
