"""The headers of C++ as data: each with its essay, and an outline of each class and function: its
comments and declarations, without bodies, and without what is private.

It reads what clang-format has written: a body opens at the end of a line and is closed by a brace
at the same depth.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from headers import comment_lines, text_blocks

SCOPE = re.compile(r"(?:^|[\s>])(namespace|class|struct|enum)\b[^()=;]*\{$")
LABEL = re.compile(r"^ *(public|private|protected):$")


@dataclass
class Outline:
    """A class or function of namespace volt."""
    name: str
    doc: list[tuple]  # what its comment says
    source: list[str]


@dataclass
class CppHeader:
    name: str  # cpp/mutex.hpp
    page: str
    title: str = ""
    essay: list[tuple] = field(default_factory=list)
    outlines: list[Outline] = field(default_factory=list)


def name_of(code: str) -> str:
    """What a declaration declares."""
    code = re.sub(r"\[\[.*?\]\]|^template <.*?> *(?=\w|\[)|VOLT_\w+ ", "", code).strip()
    if found := re.match(r"(?:class|struct|enum) (?:\[\[\w+\]\] )?(\w+)", code):
        return found[1]
    found = re.search(r"(\w+)\(", code) or re.search(r"(\w+) *(?:=|;|\{|->)", code)
    return found[1] if found else ""


def joined(lines: list[str]) -> list[tuple[int, str]]:
    """(depth, statement or comment), the statements each on one line, with ';' for a body."""
    found: list[tuple[int, str]] = []
    depth, pending, skipped, comment = 0, "", None, None
    for line in lines:
        text = line.strip()
        if comment is not None or (text.startswith("/*") and not pending):
            comment = text if comment is None else f"{comment}\n{text}"
            if text.endswith("*/"):
                if skipped is None:
                    found.append((depth, comment))
                comment = None
            continue
        text = re.sub(r"/\*.*?\*/", "", text).strip()
        if not text or text.startswith("#") or re.fullmatch(r"VOLT_\w+_", text):
            continue
        if LABEL.match(text):
            if skipped is None:
                found.append((depth, text))
            continue
        pending = f"{pending} {text}".strip() if skipped is None else ""
        opened, closed = text.count("{"), text.count("}")
        if skipped is None and opened > closed and text.endswith("{"):
            if SCOPE.search(pending):
                found.append((depth, pending))
            else:
                found.append((depth, declared(pending)))
                skipped = depth
            pending = ""
        elif skipped is None and (text.endswith((";", "}")) or opened < closed):
            found.append((depth, pending if opened < closed else declared(pending)))
            pending = ""
        depth += opened - closed
        if skipped is not None and depth <= skipped:
            skipped = None
    return found


def declared(code: str) -> str:
    """A definition as a declaration."""
    code = re.sub(r"\)( const)?( noexcept(?:\([^{]*?\)\)?)?)? : \w.*$", r")\1\2", code)
    return re.sub(r" *\{.*$", "", code).rstrip(";") + ";"


def outlines(lines: list[str]) -> list[Outline]:
    found: list[Outline] = []
    doc: str | None = None
    hidden: int | None = None  # the depth of what is not shown
    inside: Outline | None = None
    base = 0  # the depth in namespace volt or as_std, which a macro may open
    for depth, text in joined(lines):
        if hidden is not None and depth > hidden and not (
                depth == hidden + 1 and (LABEL.match(text) or text.startswith("}"))):
            continue
        hidden = None
        if text in ("namespace volt {", "namespace volt::as_std {"):
            base = depth + 1
            continue
        if text.startswith("namespace"):
            hidden = depth
            continue
        if text.startswith("}") and depth == base:
            base, inside = depth - 1, None
            continue
        if LABEL.match(text):
            hidden = depth - 1 if text != "public:" else None
            continue
        if text.startswith("}") and depth > base + 1 and inside:
            inside.source.append("  " * (depth - base - 1) + text)
            continue
        if depth < base or text.startswith("}"):
            inside = None
            continue
        if text.startswith("/*"):
            if inside and depth > base:
                inside.source += ["  " * (depth - base) + line for line in text.split("\n")]
            else:
                inside, doc = None, text
            continue
        if inside is None or depth == base:
            inside = Outline(name_of(text), [], [])
            if doc:
                inside.doc = text_blocks(comment_lines(doc))
            doc = None
            found.append(inside)
        if not re.search(r"(?<!\w)\w+_;$|^friend |= delete;$", text):
            inside.source.append("  " * (depth - base) + text)
    shown = [o for o in found if o.doc and o.name and not o.name.endswith("_")
             and not o.name.startswith("_") and "Private" not in str(o.doc)]
    for outline in shown:
        if outline.source and outline.source[0].endswith("{"):
            outline.source.append("};")
    return shown


def read_cpp(root: Path) -> list[CppHeader]:
    found = []
    base = root / "include" / "volt"
    for path in [*sorted(base.glob("*.hpp")), *sorted(base.glob("cpp/*.hpp"))]:
        text = path.read_text()
        name = path.relative_to(base).as_posix()
        essay = re.match(r"/\*.*?\*/", text, re.S)
        if not essay or re.search(r"Private\.|Not an interface", essay[0]):
            continue
        lines = comment_lines(essay[0])
        header = CppHeader(name, name.replace("/", "-").removesuffix(".hpp") + "-hpp")
        blocks = text_blocks(lines)
        title = blocks[0][1] if blocks else name
        header.title = title.split(": ", 1)[-1]
        header.essay = blocks[1:]
        header.outlines = outlines(text[essay.end():].split("\n"))
        found.append(header)
    return found
