"""Medians and their spread."""

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
