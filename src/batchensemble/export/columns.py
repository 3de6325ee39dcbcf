"""The encoder of a table as nodes, in float64 as there: columns -> a float32 matrix."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from batchensemble.data.embedded import Bins
from batchensemble.data.encodings import EDGE, SATURATION, Numbers, ends
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.export.graph import Value, ints
from batchensemble.export.interface import GAP, NOT_A_TIME
from batchensemble.export.normal import normal_quantile

DAY = 86_400e6  # in microseconds
UNTIL_1970 = 719_528  # days since the first of January of the year 0
MEAN_YEAR = 365.2425  # in days
FAR_OUT = 1e100  # where "robust" numbers are saturated, and can still be squared


def encoded(columns: Sequence[Value], encoder: TableEncoder) -> Value:
    """One (rows, 1) for each column of the table -> (rows, n_features_out_) in float32."""
    graph = columns[0].graph
    days = {j: _days(columns[j]) for j in encoder._of_kind("date")}
    blocks = []
    if numeric := encoder._numeric():
        kept = [_zeros(columns[j]) if encoder.empty_[j] else columns[j] for j in numeric]
        numbers = graph.concat([days.get(j, x) for j, x in zip(numeric, kept, strict=True)], 1)
        units = _units(numbers, encoder.exponents_)
        dense = _numbers(units, encoder.numbers_)
        dense += [_cycles(x, with_time=encoder.clocks_[j]) for j, x in days.items()]
        varying = graph.concat(dense, 1).but(0.0, where=encoder.constant_)
        blocks.append(varying.clip(-encoder.clip, encoder.clip).cast(np.float32))
    for words, positions in encoder._words():
        by_column = zip(positions, words.categories, words.rare, strict=True)
        blocks += [_one_hot(columns[j], own, rare) for j, own, rare in by_column]
    if encoder.binned_.edges:
        blocks += _positions(
            units.but(encoder.numbers_.fill, where=units.is_nan()), encoder.binned_
        )
    for j, known in zip(encoder.coded_, encoder.codes_.words, strict=True):
        blocks.append(_places(columns[j], known, 0, first=1).cast(np.float32))
    return graph.concat(blocks, 1)


def bins_beyond(x: Value, encoder: TableEncoder) -> Value:
    """What `encoded` gave -> (rows,), how many bins outside the numbers of fit a row is."""
    lasts = np.array([len(edges) - 1 for edges in encoder.binned_.edges], np.float32)
    stop = encoder.n_features_out_ - len(encoder.coded_)
    positions = x.slice(stop - len(lasts), stop, axis=1)
    outside = (-positions).apply("Max", positions - lasts).apply("Max", 0.0)
    return (outside * outside).sum(1).apply("Sqrt")


def _zeros(x: Value) -> Value:
    """For a column that fit knows nothing of, whatever it holds."""
    return x.graph.node("ConstantOfShape", x.shape(), dtype=np.float32).cast(np.float64)


def _units(x: Value, exponents: NDArray[np.int64]) -> Value:
    """x / 2**exponents, in two halves: the whole may be more than a float64 can hold."""
    half = exponents // 2
    for part in (half, exponents - half):
        x = x * np.ldexp(1.0, -part)
    return x.but(0.0, where=x.apply("Abs") < 2.0**-500).clip(-(2.0**500), 2.0**500)


def _numbers(x: Value, learned: Numbers) -> list[Value]:
    """(rows, columns), filled and scaled; and the indicators of gaps, if there are any."""
    is_gap = x.is_nan()
    filled = x.but(learned.fill, where=is_gap)
    if len(learned.scaled):
        others = np.setdiff1d(np.arange(len(learned.fill)), learned.scaled)
        scaled = _scaled(filled.gather(learned.scaled, axis=1), learned)
        both = x.graph.concat([scaled, filled.gather(others, axis=1)], 1)
        filled = both.gather(np.argsort([*learned.scaled, *others]), axis=1)
    indicators = [is_gap.gather(learned.gaps, axis=1).cast(np.float64)] * bool(len(learned.gaps))
    return [filled, *indicators]


def _scaled(x: Value, learned: Numbers) -> Value:
    if len(learned.quantiles):
        return _through_quantiles(x, learned.quantiles)
    scaled = (x - learned.center) / learned.spread
    if not learned.saturates:
        return scaled
    scaled = scaled.clip(-FAR_OUT, FAR_OUT)
    part = scaled / SATURATION
    return scaled / (part * part + 1).apply("Sqrt")


def _through_quantiles(x: Value, quantiles: NDArray[np.float64]) -> Value:
    """To a normal distribution; a value that many rows have goes to the middle of its levels."""
    from_below = _share_below(x, quantiles)
    from_above = 1 - _share_below(-x, -quantiles[::-1])
    probability = (from_below + from_above) * 0.5
    first, last = np.array([ends(column) for column in quantiles.T]).T
    probability = probability.but(1.0, where=-x <= -last)
    probability = probability.but(0.0, where=x <= first)
    edge = EDGE - np.spacing(1)
    return normal_quantile(probability.clip(edge, 1 - edge))


def _share_below(x: Value, quantiles: NDArray[np.float64]) -> Value:
    """`np.interp(x, quantiles, np.linspace(0, 1, levels))`, column by column; not below the first.

    It finds the last quantile that is not above x, by halving.
    """
    n = len(quantiles)
    step = 1 << (n - 1).bit_length()
    beyond = np.full((step + 1 - n, quantiles.shape[1]), np.inf)
    ladder = x.graph.constant(np.concatenate([quantiles, beyond]))
    place = (x * 0.0).cast(np.int64)
    while step := step // 2:
        reached = ladder.apply("GatherElements", place + step, axis=0) <= x
        place = place + reached.cast(np.int64) * step
    low, high = (ladder.apply("GatherElements", place + i, axis=0) for i in (0, 1))
    return (place.cast(np.float64) + (x - low) / (high - low)) / max(n - 1, 1)


def _positions(x: Value, bins: Bins) -> list[Value]:
    """Of each column with bins: how many bins are below, and how far it is into its own."""
    positions = []
    for column, edges in zip(bins.columns, bins.edges, strict=True):
        number = x.gather(ints(int(column)), axis=1)
        into = within_bins((number - edges[:-1]) / np.diff(edges), len(edges) - 1, bins.reach)
        positions.append(into.sum(1).reshape(-1, 1).cast(np.float32))
    return positions


def within_bins(into: Value, n_bins: int, reach: float) -> Value:
    """How far into each bin, (..., bins): 0 to 1, and in the outermost by `reach` more."""
    lowest, highest = np.zeros(n_bins, into.dtype), np.ones(n_bins, into.dtype)
    lowest[0] -= reach
    highest[-1] += reach
    return into.apply("Max", lowest).apply("Min", highest)


def _days(x: Value) -> Value:
    """Microseconds since 1970 -> days, NaN for a gap."""
    is_gap = x.graph.node("Equal", x, NOT_A_TIME, dtype=np.bool_)
    return (x.cast(np.float64) / DAY).but(np.nan, where=is_gap)


def _cycles(days: Value, *, with_time: bool) -> Value:
    """Sine and cosine of the position in the year, the week (from Monday) and, maybe, the day."""
    since_0 = days + UNTIL_1970
    # The mean year leads to the year itself or to one beside it.
    guess = (since_0 / MEAN_YEAR).apply("Floor")
    is_later = _new_year(guess + 1) <= since_0
    is_earlier = since_0 < _new_year(guess)
    year = guess + is_later.cast(np.float64) - is_earlier.cast(np.float64)
    start, end = _new_year(year), _new_year(year + 1)
    turns = [(since_0 - start) / (end - start), (days + 3) / 7]  # 1970 began on a Thursday
    turns += [days] if with_time else []
    turn = days.graph.concat(turns, 1).insert(2)
    turn = turn - turn.apply("Floor") + np.array([0.0, 0.25])  # a cosine is a quarter ahead
    waves = (turn * (2 * np.pi)).apply("Sin")
    return waves.but(0.0, where=waves.is_nan()).reshape(0, -1)


def _new_year(year: Value) -> Value:
    """Days from the beginning of the year 0, a leap year, to that of another."""
    days = year * 365
    for sign, cycle in ((1, 4), (-1, 100), (1, 400)):
        days = days + ((year + (cycle - 1)) / cycle).apply("Floor") * sign
    return days


def _one_hot(x: Value, own: Sequence[str | None], rare: Sequence[str | None]) -> Value:
    """Words outside `own` have the place behind them: the rare ones' output, or none."""
    _check_words(x, rare)
    places = _places(x, own or rare[:1], len(own)).reshape(-1)
    width = ints(len(own) + bool(rare))
    return x.graph.node("OneHot", places, width, np.array([0, 1], np.float32), dtype=np.float32)


def _places(x: Value, words: Sequence[str | None], unknown: int, *, first: int = 0) -> Value:
    """The number of each word, (rows, 1)."""
    _check_words(x, words)
    if not words:
        return _zeros(x).cast(np.int64)
    return x.graph.node(
        "LabelEncoder",
        x.reshape(-1),
        dtype=np.int64,
        domain="ai.onnx.ml",
        keys_strings=[GAP if word is None else word for word in words],
        values_int64s=list(range(first, first + len(words))),
        default_int64=unknown,
    ).reshape(-1, 1)


def _check_words(x: Value, words: Sequence[str | None]) -> None:
    if GAP in words:
        raise ValueError(
            f"column {x.name!r}: the word {GAP!r} stands for a gap in an exported model; rename "
            "that category and fit again"
        )
