"""Columns -> one finite float32 matrix for a network, however large or small the numbers are.

Blocks of outputs, in this order: a number for every number, boolean and date column; a 0/1
indicator for each of these with gaps in fit; the positions of dates in year, week and day; one-hot
categories; and, for networks with embeddings, positions in bins and numbers of categories.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from batchensemble.data import date_columns
from batchensemble.data.calendars import cycle_waves, days_since_1970
from batchensemble.data.columns import Columns, Kind
from batchensemble.data.date_columns import has_time_of_day
from batchensemble.data.embedded import Bins, Codes
from batchensemble.data.encodings import Numbers, Words, without_gaps
from batchensemble.data.frames import read_columns
from batchensemble.data.powers_of_two import exponents_of, in_units
from batchensemble.data.vocabulary import Spelling, read_vocabulary, spelled, texts_of
from batchensemble.words import one_of

Scaling = Literal["minmax", "standard", "robust", "quantile"]
WITHOUT_EMBEDDINGS: dict[str, Any] = {
    "bins": None,
    "binned_": Bins(np.zeros(0, np.int64), ()),
    "coded_": [],
    "codes_": Codes(()),
    "date_formats_": {},
}
SCALINGS = ("minmax", "standard", "robust", "quantile")


class EncodedColumn(NamedTuple):
    """How one column of the user's table was encoded."""

    name: str
    kind: Kind
    n_outputs: int


class TableEncoder(BaseEstimator):  # type: ignore[misc]
    """Turn a table into a finite float32 matrix; every rule is learned from the rows of `fit`.

    >>> encoder = TableEncoder().fit([[1.0, "red"], [3.0, "blue"], [None, "red"]])
    >>> encoder.get_feature_names_out().tolist()
    ['x0', 'x0_missing', 'x1_blue', 'x1_red']
    >>> encoder.transform([[2.0, "green"]]).tolist()
    [[0.0, 0.0, 0.0, 0.0]]

    numbers     gaps filled with the median, then scaled; columns of only 0 and 1 stay 0 and 1
    booleans    0 and 1, gaps filled with the median
    dates       days since 1970 as a number; sine and cosine of the position in the year and week,
                and in the day if any time in fit is not midnight; (0, 0) when missing
    categories  one-hot, missing being a category of its own if it occurs in fit; unknown ones are
                all zeros, or infrequent if there is such a column
    A number, boolean or date output that does not vary in fit is always 0, and so is a column
    without any value in fit.

    Parameters
    ----------
    scaling : "minmax", "standard", "robust" or "quantile"
        To [0, 1]; to mean 0 and variance 1; to median 0 and the quartiles of a normal
        distribution, outliers being drawn in smoothly; or to a normal distribution through the
        quantiles. The first two extrapolate beyond the rows of `fit`; the others saturate, at 4
        and at about 5.2.
    max_categories : int or None
        At most this many outputs for a category column: the rarer ones share one. None: no limit.
    bins : int or None
        Number and date columns get a second output: their position among at most so many bins,
        which are quantiles of the rows of `fit`. It is for embeddings, and so is the one output of
        a column with more than `max_categories` categories, the number of its category: 0 for rare
        and unknown ones. None: no such outputs.
    categories : mapping from column names to their categories, optional
        Columns named here are categories, whatever they look like, with exactly these outputs in
        this order (`max_categories` does not apply). None may be among them, for missing.
    clip : float
        Numbers are finally cut to +-clip, so that float32 cannot overflow inside a network.
    random_state : int or None
        For the rows that the quantiles are estimated from, when there are more than 10,000.
    """

    def __init__(
        self,
        scaling: Scaling = "standard",
        *,
        max_categories: int | None = 64,
        bins: int | None = None,
        categories: Mapping[str, Sequence[Any]] | None = None,
        clip: float = 1e6,
        random_state: int | None = 0,
    ) -> None:
        self.scaling = scaling
        self.max_categories = max_categories
        self.bins = bins
        self.categories = categories
        self.clip = clip
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        self._check_parameters()
        columns = read_columns(X)
        vocabulary = read_vocabulary(self.categories or {}, columns)
        self.names_ = columns.names
        self.date_formats_, self.date_doubts_ = date_columns.recognise_dates(columns, vocabulary)
        columns = self.with_dates(columns)
        self.n_features_in_ = len(columns)
        self.kinds_: list[Kind] = [
            "category" if column.name in vocabulary else column.kind for column in columns
        ]
        self.empty_ = np.array([c.name not in vocabulary and c.missing.all() for c in columns])
        self.zoned_ = [column.is_zoned for column in columns]
        self.spans_ = [column.is_span for column in columns]
        self.clocks_ = np.array([c.kind == "date" and has_time_of_day(c) for c in columns])
        words = self._of_kind("category")
        self.learned_ = [j for j in words if self.names_[j] not in vocabulary]
        self.given_ = [j for j in words if self.names_[j] in vocabulary]

        numbers = self._numbers(columns)
        self.flags_ = np.all(np.isnan(numbers) | (numbers == 0) | (numbers == 1), axis=0)
        self.exponents_ = np.where(self.flags_, 0, exponents_of(numbers))
        units = in_units(numbers, self.exponents_)
        self.numbers_ = Numbers.learn(
            units, np.flatnonzero(~self.flags_), self.scaling, self.random_state
        )
        dense = self._dense(columns, units)
        self.constant_ = dense.min(axis=0) == dense.max(axis=0)

        self._learn_embedded(columns, units)
        self.words_ = Words.learn(texts_of(columns, self.learned_), None, self.max_categories)
        known = [vocabulary[self.names_[j]] for j in self.given_]
        self.given_words_ = Words.learn(texts_of(columns, self.given_), known, None)

        n_outputs = Counter(j for _, j in self._outputs())
        self.n_features_out_ = n_outputs.total()
        self.columns_ = [
            EncodedColumn(name, kind, n_outputs[j])
            for j, (name, kind) in enumerate(zip(self.names_, self.kinds_, strict=True))
        ]
        return self

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[np.float32]:
        columns = read_columns(X)
        return self.fit(columns)._encode(self.as_at_fit(columns))

    def transform(self, X: Any) -> NDArray[np.float32]:
        """(rows, columns) -> (rows, n_features_out_); columns are matched by position."""
        if "n_features_out_" not in vars(self):
            check_is_fitted(self)
        columns = read_columns(X)
        if len(columns) != self.n_features_in_:
            raise ValueError(
                f"X has {len(columns)} features, but TableEncoder is expecting "
                f"{self.n_features_in_} features as input: {[c.name for c in self.columns_]}"
            )
        columns = self.as_at_fit(columns)
        date_columns.check_zones(columns, getattr(self, "zoned_", ()))  # files of 0.2 do not say
        date_columns.check_spans(columns, getattr(self, "spans_", ()))  # nor did older ones
        return self._encode(columns)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """One name per output; `input_features` is ignored, the names are those seen in fit."""
        check_is_fitted(self)
        return np.array([name for name, _ in self._outputs()], dtype=object)

    def with_dates(self, columns: Columns) -> Columns:
        """Texts as dates, where fit took them for dates."""
        return date_columns.with_dates(columns, self.names_, self.date_formats_)

    def as_at_fit(self, columns: Columns) -> Columns:
        """The same, also where fit had no texts, and categories in the words that fit knew."""
        known = self.names_, self.kinds_, self.date_formats_
        columns = date_columns.with_written_dates(self.with_dates(columns), *known)
        return spelled(columns, self.spellings())

    def spellings(self) -> dict[int, Spelling]:
        """Of the columns of categories, by position."""
        at = [*self.learned_, *self.given_, *self.coded_]
        of = self.words_.spellings + self.given_words_.spellings + self.codes_.spellings
        return dict(zip(at, of, strict=True))

    def __getattr__(self, name: str) -> Any:
        # What encoders lack that were saved before there were embeddings: they have none.
        if name in WITHOUT_EMBEDDINGS:
            return WITHOUT_EMBEDDINGS[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _learn_embedded(self, columns: Columns, units: NDArray[np.float64]) -> None:
        """Columns with positions, and those with numbers of categories instead of outputs."""
        for name in ("coded_", "codes_", "binned_"):
            setattr(self, name, WITHOUT_EMBEDDINGS[name])
        if self.bins is None:
            return
        filled = without_gaps(units, self.numbers_.fill)
        self.binned_ = Bins.learn(filled, [*self.numbers_.scaled], self.bins, self.random_state)
        most = np.inf if self.max_categories is None else self.max_categories
        n_words = {j: len({*columns[j].as_kind("category").values}) for j in self.learned_}
        self.coded_ = [j for j, n in n_words.items() if n > most]
        self.learned_ = [j for j in self.learned_ if j not in self.coded_]
        self.codes_ = Codes.learn(texts_of(columns, self.coded_))

    def _check_parameters(self) -> None:
        one_of(self.scaling, SCALINGS, "scaling")
        for name in ("max_categories", "bins"):
            most = getattr(self, name)
            if most is not None and (not isinstance(most, (int, np.integer)) or most < 1):
                raise ValueError(f"{name} must be None or an integer of at least 1, got {most!r}")
        if not isinstance(self.clip, Real) or not 0 < self.clip <= 1e30:
            raise ValueError(f"clip must be a number in (0, 1e30], got {self.clip!r}")

    @property
    def embedding(self) -> dict[str, Any]:
        """What the network has to know of the outputs for embeddings."""
        return {
            "n_positions": len(self.binned_.edges),
            "counts": self.codes_.counts,
            "n_bins": self.binned_.n_bins,
        }

    def beyond(self, columns: Columns) -> NDArray[np.float64]:
        """(rows,), how far a number lies outside those of fit, in their range; 0 without bins."""
        numbers = self._numbers(self.with_dates(columns))
        units = without_gaps(in_units(numbers, self.exponents_), self.numbers_.fill)
        flags = self.flags_ & ~self.constant_[: len(self.flags_)] & (self.bins is not None)
        return self.binned_.beyond(units, flags)

    def bins_beyond(self, x: NDArray[np.float32]) -> NDArray[np.float64]:
        """(rows, n_features_out_) -> (rows,), how many bins outside the numbers of fit a row is."""
        stop = x.shape[1] - len(self.coded_)
        return self.binned_.bins_beyond(x[:, stop - len(self.binned_.edges) : stop])

    def _encode(self, columns: Columns) -> NDArray[np.float32]:
        units = in_units(self._numbers(columns), self.exponents_)
        dense = np.where(self.constant_, 0.0, self._dense(columns, units))
        blocks = [np.minimum(np.maximum(dense, -self.clip), self.clip).astype(np.float32)]
        blocks += [words.apply(texts_of(columns, at)) for words, at in self._words() if at]
        if self.binned_.edges:
            blocks.append(self.binned_.apply(without_gaps(units, self.numbers_.fill)))
        if self.coded_:
            blocks.append(self.codes_.apply(texts_of(columns, self.coded_)))
        return np.ascontiguousarray(np.concatenate(blocks, axis=1))

    def _dense(self, columns: Columns, units: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers, indicators and dates, before constants are removed and the rest is clipped."""
        numbers = self.numbers_.apply(units)
        waves = [
            cycle_waves(columns[j].as_kind("date").values, self._cycles(j), exact=True)
            for j in self._of_kind("date")
        ]
        # of each cycle the sine, then the cosine
        blocks = [each.swapaxes(0, 1).reshape(-1, columns.n_rows).T for each in waves]
        return np.concatenate([numbers, *blocks], axis=1) if blocks else numbers

    def _numbers(self, columns: Columns) -> NDArray[np.float64]:
        """(rows, numbers, booleans and dates): what the imputer and the scaler see."""
        numeric = self._numeric()
        numbers = np.zeros((columns.n_rows, len(numeric)))
        for i, j in enumerate(numeric):
            if not self.empty_[j]:
                column = columns[j].as_kind(self.kinds_[j])
                is_date = column.kind == "date"
                numbers[:, i] = days_since_1970(column.values) if is_date else column.values
        return numbers

    def _of_kind(self, kind: Kind) -> list[int]:
        return [j for j, known in enumerate(self.kinds_) if known == kind and not self.empty_[j]]

    def _numeric(self) -> list[int]:
        return [j for j, kind in enumerate(self.kinds_) if kind != "category" or self.empty_[j]]

    def _cycles(self, j: int) -> list[str]:
        return ["year", "week", "day"] if self.clocks_[j] else ["year", "week"]

    def _words(self) -> list[tuple[Words, list[int]]]:
        return [(self.words_, self.learned_), (self.given_words_, self.given_)]

    def _outputs(self) -> list[tuple[str, int]]:
        """The name of every output and the position of the column it comes from."""
        numeric, dates = self._numeric(), self._of_kind("date")
        outputs = [(self.names_[j] + ("_days" if j in dates else ""), j) for j in numeric]
        gaps = [numeric[i] for i in self.numbers_.gaps]
        outputs += [(f"{self.names_[j]}_missing", j) for j in gaps]
        for j in dates:
            for cycle in self._cycles(j):
                outputs += [(f"{self.names_[j]}_{cycle}_{wave}", j) for wave in ("sin", "cos")]
        for words, positions in self._words():
            names = words.names([self.names_[j] for j in positions])
            outputs += [
                (name, j) for j, each in zip(positions, names, strict=True) for name in each
            ]
        outputs += [
            (f"{self.names_[numeric[i]]}_position", numeric[i]) for i in self.binned_.columns
        ]
        return outputs + [(f"{self.names_[j]}_number", j) for j in self.coded_]
