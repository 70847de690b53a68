"""Medians and their spread; and how numbers are said."""

import math
import statistics
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Summary:
    median: float
    quartile_1: float
    quartile_3: float
    least: float
    most: float


def summarize(values: list[float]) -> Summary | None:
    """None if there are none."""
    if not values:
        return None
    if len(values) == 1:
        return Summary(*[values[0]] * 5)
    first, median, third = statistics.quantiles(values, n=4, method="inclusive")
    return Summary(median, first, third, min(values), max(values))


def as_dict(summary: Summary | None) -> dict[str, float] | None:
    return asdict(summary) if summary else None


# ---- as text ----


def digits(value: float | None) -> str:
    """93.14 is 93.1, 1234.5 is 1,230; a dash if there is none."""
    if not isinstance(value, int | float) or not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    places = 2 - math.floor(math.log10(abs(value)))
    rounded = round(value, places)
    places = max(2 - math.floor(math.log10(abs(rounded))), 0)  # 99.96 is 100 now
    return f"{rounded:,.{min(places, 12)}f}"


def span(low: float | None, high: float | None) -> str:
    return f"{digits(low)} – {digits(high)}"


def count(value: object) -> str:
    """A whole number, all of it."""
    if isinstance(value, int | float) and math.isfinite(value) and value == int(value):
        return f"{int(value):,}"
    return digits(value)  # type: ignore[arg-type]


def _short(value: float) -> str:
    return f"{value:,.10g}"


def duration(ns: float) -> str:
    """A round number of nanoseconds, as on an axis: 1 µs."""
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= size:
            return f"{_short(ns / size)} {unit}"
    return f"{_short(ns)} ns" if ns else "0"


def scaled(value: float) -> str:
    """A round number on an axis: 10k, 2M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{_short(value / size)}{unit}"
    return _short(value)
