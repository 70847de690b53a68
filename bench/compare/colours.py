"""One colour for a library, the same in every plot and table. volt's is the strongest.

Plots are drawn in the light colours; the page replaces them by variables, which are lighter where
the page is dark. Nothing is told by colour alone: bars have names, lines have points and dashes.
"""

import re

INK, STRONG, MUTED, RULE = "#000000", "#000001", "#5f6673", "#dcdfe5"
_OF_THE_PAGE = {
    INK: "currentColor",
    STRONG: "var(--strong)",
    MUTED: "var(--muted)",
    RULE: "var(--rule)",
}

# family: its name for people, its colour, what its labels match
_FAMILIES: dict[str, tuple[str, str, str]] = {
    "volt": ("volt", "#3412c4", r"volt"),
    "tokio": ("Tokio", "#dd6b2d", r"tokio"),
    "async": ("async-lock, async-channel", "#c49a06", r"async"),
    "go": ("Go", "#27a3cf", r"go\b|golang"),
    "boost": ("Boost.Fiber", "#2c8a55", r"boost"),
    "flume": ("flume", "#98683c", r"flume"),
    "crossbeam": ("crossbeam", "#b5479b", r"crossbeam"),
    "parking_lot": ("parking_lot", "#7b8c05", r"parking_lot"),
    "std": ("Rust std", "#b0605a", r"rust std|std\b"),
    "glibc": ("glibc", "#5d6a78", r"glibc|pthread|sem_t"),
    "nsync": ("nsync", "#00877a", r"nsync"),
    "abseil": ("abseil", "#dd86a6", r"abseil|absl"),
    "tbb": ("oneTBB", "#5f93ee", r"onetbb|tbb"),
    "moodycamel": ("moodycamel", "#69a04c", r"moodycamel|concurrentqueue"),
    "ck": ("Concurrency Kit", "#4b4b4b", r"ck\b"),
    "limit": ("limits", "#979da6", r"\(no lock\)|two bare|spinlock"),
    "variant": ("variants", "#8f82cf", r"variant"),
    "other": ("others", "#8a8a8a", r"(?!)"),
}
_LIGHTER = {"volt": "#a996ff"}  # the others are mixed with white


def family(label: str, kind: str = "") -> str:
    """The library that a label names."""
    if kind in ("limit", "variant", "volt"):
        return kind
    matches = (name for name, (_, _, labels) in _FAMILIES.items() if re.match(labels, label, re.I))
    return next(matches, "other")


def name(family: str) -> str:
    return _FAMILIES[family][0]


def colour(family: str) -> str:
    return _FAMILIES[family][1]


def in_order(families: set[str]) -> list[str]:
    return [name for name in _FAMILIES if name in families]


def _mixed_with_white(colour: str, part: float = 0.3) -> str:
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(p + (255 - p) * part):02x}" for p in parts)


def variables(dark: bool) -> str:
    """The declarations of the page's variables."""
    lines = []
    for key, (_, light, _) in _FAMILIES.items():
        value = (_LIGHTER.get(key) or _mixed_with_white(light)) if dark else light
        lines.append(f"--{key}: {value};")
    return " ".join(lines)


def as_variables(svg: str) -> str:
    """The same drawing in the page's colours."""
    known = _OF_THE_PAGE | {c: f"var(--{key})" for key, (_, c, _) in _FAMILIES.items()}

    def replaced(match: re.Match[str]) -> str:
        code = "#" + "".join(f"{int(part):02x}" for part in match.groups())
        return known.get(code, code)

    svg = re.sub(r"rgb\(\s*(\d+),\s*(\d+),\s*(\d+)\)", replaced, svg)
    return re.sub(r"""(["'])black\1""", r"\1currentColor\1", svg)
