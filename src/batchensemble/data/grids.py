"""Regular grids of times: which frequency, where on the grid, and how it goes on.

Many series lie one after the other: series i owns the rows starts[i]:starts[i + 1]. Times are dates
or integers; a frequency is a pandas offset for dates and a step for integers.
"""

import numbers
from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from batchensemble.data.clocks import check_no_day_is_skipped, localized, summer_advice, walls
from batchensemble.data.stamps import rounding_advice
from batchensemble.data.telling import silenced
from batchensemble.data.time_words import freq_word, refuse_written_dates, shown, some, when

Ints = NDArray[np.int64]

YEAR_9999 = 253_402_300_799  # its last second since 1970
LAST = {"s": YEAR_9999, "ms": YEAR_9999 * 10**3, "us": YEAR_9999 * 10**6}
LAST["ns"] = 2**63 - 1 - 10**9 * 86_400  # a day less, for the clocks of other zones


def starts_of(lengths: ArrayLike) -> Ints:
    """(series + 1,), where each series starts and the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def series_of(starts: Ints) -> Ints:
    """(rows,), the number of the series of each row."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def read_freq(freq: Any, times: Any) -> Any:
    """The frequency as the user wrote it -> an offset for dates, an integer for integers."""
    dated = isinstance(times, pd.DatetimeIndex)
    whole = isinstance(freq, numbers.Integral) and not isinstance(freq, bool)
    if whole is dated:
        found, wanted = ("dates", "'D'") if dated else ("whole numbers", "1")
        raise ValueError(
            f"the times are {found}, which the frequency {freq!r} does not fit; pass "
            f"times as in fit, or fit again with a frequency such as freq={wanted}"
        )
    try:
        with silenced():  # of words such as 'H' that pandas will forget
            step: Any = int(freq) if whole else pd.tseries.frequencies.to_offset(freq)
    except (TypeError, ValueError, OverflowError) as error:
        cause = " ".join(str(error).split()).split(". ")[0]
        raise ValueError(
            f"expected freq= such as 'D', 'h' or 'MS', got {freq!r}: {cause}"
        ) from None
    if (step if whole else step.n) < 1:
        raise ValueError(f"expected freq= to go forward in time, got {freq!r}; make it positive")
    try:
        _fixed_step(times, step)
    except (OverflowError, pd.errors.OutOfBoundsTimedelta):
        raise ValueError(
            f"expected freq= such as 'D' or 1, got {freq!r}, too long a step; choose a shorter one"
        ) from None
    return step


def infer_freq(times: Any, starts: Ints, ids: NDArray[Any]) -> Any:
    """The frequency of all series together: the coarsest guess whose grid holds every time."""
    lengths = np.diff(starts)
    if not isinstance(times, pd.DatetimeIndex):
        refuse_written_dates(np.unique(ticks(times)))
        steps = np.diff(ticks(times))[np.diff(series_of(starts)) == 0]
        sizes, counts = np.unique(steps, return_counts=True)
        return int(sizes[counts.argmax()]) if steps.size else 1
    long = np.flatnonzero(lengths >= 3)
    if not long.size:
        raise ValueError(
            f"expected freq=, or a series of at least 3 times to infer it from, got at most "
            f"{lengths.max()}, in series {shown(ids, int(lengths.argmax()))}; add rows, or pass "
            "freq='D' for days, for example"
        )
    looked_at = long[np.unique(np.linspace(0, len(long) - 1, 10).astype(int))]
    guesses = Counter[Any]()
    for i in looked_at:
        guesses.update(_guesses(times[starts[i] : starts[i + 1]], 60 // len(looked_at)))
    fitting = {}
    for guess, _ in guesses.most_common(8):
        at = positions(times, starts, guess)
        if (at >= 0).all():
            fitting[guess] = at[starts[1:] - 1].sum()
    if fitting:
        return min(fitting, key=lambda guess: fitting[guess])
    if guesses:
        return guesses.most_common(1)[0][0]
    i = long[0]
    alone = times[starts[i] : starts[i + 1]]
    advice = rounding_advice(alone) or "resample it, or pass freq="
    raise ValueError(
        f"expected times at a regular frequency, found none in series {shown(ids, i)}, which "
        f"has {some(alone)}; {advice}"
    )


def _guesses(times: Any, n: int) -> Iterator[Any]:
    """What pandas infers from the whole and from up to 3 n windows, since a gap spoils the whole.

    Short ones fit between gaps; only longer ones tell business days from days.
    """
    for length in {len(times), *(min(size, len(times)) for size in (3, 6, 12))}:
        for start in np.unique(np.linspace(0, len(times) - length, n).astype(int)):
            guess = guess_freq(times[start : start + length])
            if guess is not None:
                yield guess


def guess_freq(times: Any) -> Any:
    """What pandas infers from one series without gaps, None if it finds nothing."""
    with silenced():  # pandas 3.1 announces that 4 will answer with an offset
        return pd.tseries.frequencies.to_offset(pd.infer_freq(times))


def positions(times: Any, starts: Ints, freq: Any) -> Ints:
    """(rows,): steps of the grid since the first time of each series; -1 is off the grid."""
    series = series_of(starts)
    step = _fixed_step(times, freq)
    if step is not None:
        now = ticks(times)
        since = now - now[starts[:-1]][series]
        return np.where(since % step, -1, since // step)
    at = np.full(len(times), -1, dtype=np.int64)
    shown_at = first_walls(times, starts)
    for anchor, rows, base in _phases(times[starts[:-1]], shown_at, starts, freq):
        on_calendar = _calendar(anchor, freq, times[rows].max()).get_indexer(times[rows])
        is_off = (on_calendar < 0) | (on_calendar < base)
        at[rows] = np.where(is_off, -1, on_calendar - base)
    return at


def first_walls(times: Any, starts: Ints) -> Any:
    """(series,): what clocks show at the first time of each series."""
    return walls(times, starts[:-1], np.minimum(starts[:-1] + 1, starts[1:] - 1))


def grid(firsts: Any, counts: Ints, freq: Any, shown_at: Any = None) -> Any:
    """(sum of counts,): for each series, `counts` times of the grid from its first time on.

    `shown_at` is what clocks show then, or should show had they skipped nothing.
    """
    starts = starts_of(counts)
    series = series_of(starts)
    since = np.arange(starts[-1]) - starts[series]
    step = _fixed_step(firsts, freq)
    if step is not None:
        _check_end(firsts, counts, step, freq)
        return _as_times(ticks(firsts)[series] + since * step, firsts)
    out = np.empty(starts[-1], dtype=np.int64)
    shown_at = firsts.tz_localize(None) if shown_at is None else shown_at
    for anchor, rows, base in _phases(firsts, shown_at, starts, freq):
        steps = base + since[rows]
        out[rows] = _calendar(anchor, freq, int(steps.max()) + 1, firsts.tz).asi8[steps]
        for last in np.flatnonzero(out[rows] > LAST[firsts.unit])[:1]:
            raise _too_late(anchor, int(steps[last]), freq)
    times = _as_times(out, firsts)
    check_no_day_is_skipped(times, since > 0)
    return times


def _check_end(firsts: Any, counts: Ints, step: int, freq: Any) -> None:
    """Each grid ends before the last moment that its type can hold."""
    unit = firsts.unit if isinstance(firsts, pd.DatetimeIndex) else ""
    last = LAST.get(unit, 2**63 - 1)
    ends = ticks(firsts).astype(object) + (counts - 1).astype(object) * step  # cannot overflow
    for i in np.flatnonzero(ends > last)[:1]:
        raise _too_late(firsts[i], int(counts[i]) - 1, freq)


def _too_late(first: Any, n_steps: int, freq: Any) -> ValueError:
    cure = "or use smaller numbers as times"
    if isinstance(first, pd.Timestamp):
        cure = "or correct the times"
        if first.unit == "ns":
            cure += '; microseconds reach the year 9999: .dt.as_unit("us")'
    return ValueError(
        f"{n_steps:,} steps of the frequency {freq_word(freq)} after {when(first)} are beyond the "
        f"last time that their type can hold; ask for fewer steps, {cure}"
    )


def _phases(
    firsts: Any, shown_at: Any, starts: Ints, freq: Any
) -> Iterator[tuple[Any, Ints, Ints]]:
    """For each calendar grid: its first time, the rows of its series, and where these series start.

    One grid for all series is the rule; but every second week, say, has two. -1 starts nowhere.
    """
    todo = np.arange(len(firsts))
    while todo.size:
        left = firsts[todo]
        anchor = shown_at[todo[left.argmin()]]
        base = _calendar(anchor, freq, left.max()).get_indexer(left)
        here = (base >= 0) | (left == left.min())
        which = todo[here]
        rows = np.concatenate([np.arange(starts[i], starts[i + 1]) for i in which])
        yield anchor, rows, np.repeat(base[here], np.diff(starts)[which])
        todo = todo[~here]


def _calendar(first: Any, freq: Any, until: Any, zone: Any = None) -> Any:
    """Until a moment, or so many: days are steps of the clock on the wall, also of 23 hours."""
    unit: Literal["us", "ns"] = first.unit
    periods = until if isinstance(until, int) else None
    zone, last = (zone, None) if periods else (until.tz, until.tz_localize(None))
    try:
        dates = pd.date_range(first, last, periods=periods, freq=freq, unit=unit)
        return dates if zone is None else localized(dates, zone)
    except (NotImplementedError, OverflowError, ValueError):  # the first for years past 9999
        raise _too_late(first, (periods or 2) - 1, freq) from None


def _fixed_step(times: Any, freq: Any) -> int | None:
    """The step in ticks of the times, None where steps are of different lengths."""
    if not isinstance(times, pd.DatetimeIndex):
        return int(np.int64(freq))  # refuses longer ones
    if isinstance(freq, pd.offsets.Day):  # a fixed offset in pandas 2, a calendar one in 3
        span = pd.Timedelta(days=freq.n) if times.tz is None else None
    else:
        span = pd.Timedelta(freq) if isinstance(freq, pd.offsets.Tick) else None
    if span is None:
        return None
    tick = pd.Timedelta(1, unit=times.unit)
    if span % tick:  # pandas would round it, to the same time again and again if it is short
        raise ValueError(
            f"expected freq= in whole steps of the times, which are in {times.unit}, got "
            f"{freq_word(freq)}; convert the times to a finer unit "
            '(.dt.as_unit("ns")), or choose a coarser freq'
        )
    return int(span // tick)


def check_grid(
    times: Any, starts: Ints, ids: NDArray[Any], freq: Any, at: Ints, *, inferred: bool
) -> None:
    """Every time on its grid, and no series on a much finer grid than its own."""
    series, lengths = series_of(starts), np.diff(starts)
    for row in np.flatnonzero(at < 0)[:1]:
        i = series[row]
        first, label = times[starts[i]], f"series {shown(ids, i)}"
        if advice := rounding_advice(times[starts[i] : starts[i + 1]]):
            seen = f"{when(first)}, {when(times[starts[i] + 1])}, ..."
            raise ValueError(f"{label}: expected times at equal steps, got {seen}; {advice}")
        looks = _looks_like(times, starts, ids, freq, at, i)
        raise off_grid(label, times[row], freq, first, looks)
    sparse = np.flatnonzero((at[starts[1:] - 1] >= lengths) & (lengths > 2))
    for i in sparse.tolist() if inferred else []:
        step = np.quantile(np.diff(at[starts[i] : starts[i + 1]]), 0.5, method="lower")
        if step > 1:
            looks = _looks_like(times, starts, ids, freq, at, i)
            raise ValueError(
                f"series {shown(ids, i)}: expected the frequency {freq_word(freq)}, got times that "
                f"are {step} steps apart; frequencies may be mixed{looks}; resample to one "
                "frequency, or say which (freq)"
            )


def off_grid(series: str, time: Any, freq: Any, first: Any, looks: str = "") -> ValueError:
    cure = "resample to one frequency, or fit with another (freq)"
    advice = summer_advice(time, first, freq) or f"frequencies may be mixed{looks}; {cure}"
    start = f" from {when(first)} on" if time != first else ""
    return ValueError(
        f"{series}: expected times of the frequency {freq_word(freq)}{start}, got {when(time)}; "
        f"{advice}"
    )


def _looks_like(times: Any, starts: Ints, ids: NDArray[Any], freq: Any, at: Ints, i: int) -> str:
    """What series i looks like by itself, and one that has the frequency of all."""
    alone = times[starts[i] : starts[i + 1]]
    try:
        alone_freq = infer_freq(alone, starts_of([len(alone)]), ids[[i]])
    except ValueError:
        return ""
    if alone_freq == freq:
        return ""
    steady = np.diff(at, prepend=0) == 1
    steady[starts[:-1]] = True
    regular = (np.add.reduceat(~steady, starts[:-1]) == 0) & (np.diff(starts) > 1)
    seen = f", and series {shown(ids, regular.argmax())} like {freq_word(freq)}"
    return f" (it looks like {freq_word(alone_freq)}{seen if regular.any() else ''})"


def ticks(times: Any) -> Ints:
    """Dates in their unit since 1970; integers as they are."""
    return np.asarray(times.asi8 if isinstance(times, pd.DatetimeIndex) else times, dtype=np.int64)


def _as_times(values: Ints, like: Any) -> Any:
    if not isinstance(like, pd.DatetimeIndex):
        return pd.Index(values)
    times = pd.DatetimeIndex(values.view(f"M8[{like.unit}]"))
    return times if like.tz is None else times.tz_localize("UTC").tz_convert(like.tz)
