"""Where volt stands: what is compared, and who is ahead.

The ratio of an arm is its time over volt's, within each round: above 1 volt is faster. The two are
level if its quartiles lie on both sides of 1.
"""

from collections.abc import Iterator

PEERS = ("fair", "unfair", "spins")  # not volt's own forms, not what nothing can be faster than
FASTER, LEVEL, SLOWER = "faster", "level", "slower"


def arms_of(row: dict) -> list[dict]:
    return [arm for arm in row.get("arms") or [] if isinstance(arm, dict)]


def time_of(arm: dict, by: str) -> dict | None:
    """The summary of what ratios are taken by, if it was measured."""
    if arm.get("skipped"):
        return None
    summary = arm.get(by) or arm.get("ns")
    return summary if isinstance(summary, dict) and (summary.get("median") or 0) > 0 else None


def ratio_of(arm: dict) -> dict | None:
    ratio = arm.get("ratio")
    usable = not arm.get("skipped") and isinstance(ratio, dict) and (ratio.get("median") or 0) > 0
    return ratio if usable else None


def volt_is(arm: dict) -> str | None:
    """What volt is beside this arm; None if the two cannot be compared."""
    ratio = ratio_of(arm)
    if ratio is None:
        return None
    if (ratio.get("quartile_3") or ratio["median"]) < 1:
        return SLOWER
    return FASTER if (ratio.get("quartile_1") or ratio["median"]) > 1 else LEVEL


def ahead_of_volt(row: dict) -> list[dict]:
    """The peers that volt loses to in this row, the fastest first."""
    ahead = [a for a in arms_of(row) if a.get("kind") in PEERS and volt_is(a) == SLOWER]
    return sorted(ahead, key=lambda arm: arm["ratio"]["median"])


def fastest(row: dict, kinds: tuple[str, ...]) -> dict | None:
    """The arm of these kinds with the lowest ratio."""
    found = [arm for arm in arms_of(row)[1:] if arm.get("kind") in kinds and ratio_of(arm)]
    return min(found, key=lambda arm: arm["ratio"]["median"], default=None)


def rows_of(results: dict) -> Iterator[tuple[dict, dict]]:
    """Each row with its section."""
    for section in results.get("sections") or []:
        for row in section.get("rows") or []:
            yield section, row


def tally(results: dict) -> dict[str, dict[str, int]]:
    """How often volt is faster, level, slower, by the kind of peer."""
    counts = {kind: {FASTER: 0, LEVEL: 0, SLOWER: 0} for kind in PEERS}
    for _, row in rows_of(results):
        for arm in arms_of(row)[1:]:
            is_ = volt_is(arm)
            if arm.get("kind") in counts and is_:
                counts[arm["kind"]][is_] += 1
    return counts


def row_id(section: dict, row: dict) -> str:
    """The name of a row on the page."""
    text = f"row-{section.get('key', '')}-{row.get('key', '')}"
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in text)
