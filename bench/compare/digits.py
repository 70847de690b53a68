"""Numbers for people: three significant digits, and a unit where there is no heading for it."""

import math


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
