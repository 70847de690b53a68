"""The public headers as data: what they declare, and what their comments say of it.

A header begins with its essay. A docstring stands directly above what it describes: one
declaration, or several that no blank line parts. CONTRIBUTING.md has the form. What breaks it is a
problem, with file and line.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

LABELS = {  # what a paragraph of a docstring may begin with, and the section that it becomes
    "Returns": "RETURN VALUES", "Wakes": "WAKING", "Cancel": "CANCELLATION", "Threads": "THREADS",
    "Order": "MEMORY ORDER", "Progress": "PROGRESS", "Signals": "SIGNALS", "Cost": "COST",
    "Costs": "COST",
}
CODE = r"(?:VOLT_[A-Z][A-Z0-9_]*[A-Z0-9]|true|false|NULL|[A-Z0-9]+_MAX|0)(?![\w(])"
QUALIFIERS = re.compile(
    r"\b(VOLT_(API|INLINE|NODISCARD|NORETURN|UNUSED_OK_)|static|inline|extern)\b ?")
STOP = re.compile(rf"; (?=(?:or )?{CODE})|, (?=or {CODE})|\.(?= |$)|$")  # of what a code means
SECTION = re.compile(r"---- (.*?) ----$")


class Unreadable(Exception):
    """A file that is not what it should be from beginning to end."""


@dataclass
class Function:
    name: str
    returns: str
    parameters: list[str]  # as they are declared
    source: str

    def arguments(self) -> list[str]:
        return [found[-1] for p in self.parameters
                if (found := re.findall(r"\(\*(\w+)\)", p) or re.findall(r"\w+", p))]


@dataclass
class Entry:
    """What one docstring describes."""
    kind: str  # function, type or macro
    file: str
    line: int
    lines: list[str]  # the docstring; [] if there is none
    part: str  # the title of the part of the header
    names: list[str] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    source: list[str] = field(default_factory=list)  # of types and macros
    body: list[tuple] = field(default_factory=list)  # what it does: ("text", t), ("code", t), ...
    sections: dict[str, list[str]] = field(default_factory=dict)

    def summary(self) -> str:
        text = next((text for kind, text in self.body if kind == "text"), "")
        return re.split(r"(?<=[.?!])\s+(?=[A-Z(*])", text)[0]


@dataclass
class Header:
    name: str  # semaphore.h
    page: str  # volt_semaphore; volt_counts.h, if it declares volt_counts()
    title: str
    essay: list[tuple]
    entries: list[Entry]
    parts: dict[str, list[tuple]]  # what the comment of a part says beside its title
    problems: list[str] = field(default_factory=list)
    library: str = "volt-sync"

    def functions(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.kind == "function"]


# ---- the C of a header ----

def is_public(name: str) -> bool:
    return re.match(r"(?i)volt_", name) is not None and not name.endswith("_")


def pieces(file: str, text: str):
    """(kind, line, text) of each comment, define, declaration and blank line, but for what only a
    C++ compiler sees."""
    lines, at, hidden = text.split("\n"), 0, []
    while at < len(lines):
        first, line = at, lines[at]
        at += 1
        if line.startswith("#"):
            while line.endswith("\\"):
                line, at = line[:-1].rstrip() + "\n" + lines[at], at + 1
            if re.match(r"#\s*if", line):
                hidden.append("__cplusplus" in line and "!" not in line and "ndef" not in line)
            elif re.match(r"#\s*(else|elif)", line):
                hidden[-1] = False
            elif re.match(r"#\s*endif", line):
                hidden.pop()
            elif re.match(r"#\s*define", line) and not any(hidden):
                yield "define", first + 1, line
        elif any(hidden):
            pass
        elif not line.strip() or line.strip() in ("VOLT_BEGIN_DECLS", "VOLT_END_DECLS"):
            yield "blank", first + 1, ""
        elif line.startswith("/*"):
            while "*/" not in line:
                if at == len(lines):
                    raise Unreadable(f"{file}:{first + 1}: a comment that does not end")
                line, at = line + "\n" + lines[at], at + 1
            yield "comment", first + 1, line
        else:
            while not ends(line):
                if at == len(lines):
                    raise Unreadable(f"{file}:{first + 1}: a declaration that does not end")
                line, at = line + "\n" + lines[at], at + 1
            yield "declaration", first + 1, line


def ends(declaration: str) -> bool:
    code = re.sub(r'/\*.*?\*/|"(\\.|[^"\\])*"', "", declaration, flags=re.S).rstrip()
    return all(code.count(a) == code.count(b) for a, b in ("{}", "()")) and code[-1:] in (";", "}")


def comment_lines(text: str) -> list[str]:
    text = re.sub(r"\s*\*/$", "", text.strip())[2:]
    return [re.sub(r"^ ?\* ?", "", line).rstrip() if n else line.strip()
            for n, line in enumerate(text.split("\n"))]


def function_of(code: str) -> Function | None:
    head = QUALIFIERS.sub("", re.sub(r"/\*.*?\*/", "", code, flags=re.S).split("{")[0])
    head = re.sub(r"\s+", " ", head).strip(" ;")
    found = re.fullmatch(r"(\w[\w ]*?[ *]+)(volt_\w+)\((.*)\)", head)
    if not found or head.startswith("typedef"):
        return None
    parameters, depth = [""], 0
    for c in found[3]:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parameters.append("")
        else:
            parameters[-1] += c
    return Function(found[2], found[1].strip(), [p.strip() for p in parameters], head + ";")


def type_names(code: str) -> list[str]:
    flat = re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", code, flags=re.S)).strip(" ;")
    if re.fullmatch(r"(typedef )?(struct|enum|union) \w+( \w+)?", flat):
        return []  # says no more than that it exists
    if found := re.fullmatch(r"enum ?(\w*) ?\{(.*)\}", flat):
        return [found[1]] * bool(found[1]) + re.findall(
            r"\b[A-Z]\w+(?=\s*(?:=|,|$))", re.sub(r"= *[^,]*", "=", found[2]))
    for form in (r"typedef .*\} ?(\w+)", r"typedef .*\(\*(\w+)\)\(.*\)", r"typedef .*?(\w+)\(.*\)",
                 r"typedef .* \*?(\w+)", r"(?:struct|union) (\w+) ?\{.*\}"):
        if found := re.fullmatch(form, flat):
            return [found[1]]
    return []


def read_header(path: Path, root: Path) -> Header:
    """Read a header. What breaks the form is in its problems."""
    file = str(path.relative_to(root))
    rest = list(pieces(file, path.read_text()))
    if not rest or rest[0][0] != "comment":
        raise Unreadable(f"{file}:1: a header begins with its essay")
    essay = comment_lines(rest[0][2])
    found = re.match(r"(\w+\.h): (.*)", essay[0])
    if not found or found[1] != path.name:
        raise Unreadable(f"{file}:1: the essay begins with '{path.name}: ', not '{essay[0][:40]}'")
    blocks = text_blocks([found[2], *essay[1:]])
    header = Header(path.name, "volt_" + path.stem, blocks[0][1], blocks[1:], [], {})
    doc: list[str] = []
    entry: Entry | None = None
    part, documented_at = "", 0
    for kind, line, text in rest[1:]:
        if kind == "blank":
            doc, entry = [], None
        elif kind == "comment":
            doc, entry, documented_at = comment_lines(text), None, line
            if title := SECTION.match(doc[0]):
                part = title[1]
                header.parts[part] = text_blocks(doc[1:])
                doc = []
        else:
            entry = declare(header, entry, doc, documented_at, part, file, line, kind, text)
    named = " ".join(essay)
    header.entries = [e for e in header.entries
                      if e.kind != "macro" or e.lines or any(n in named for n in e.names)]
    for entry in header.entries:
        for line, why in understand(entry):
            header.problems.append(f"{file}:{line}: {why}")
    same_as(header.functions())
    if any(header.page in entry.names for entry in header.functions()):
        header.page += ".h"  # volt_counts(3) is the function
    return header


def same_as(entries: list[Entry]) -> None:
    """Say of "The same" as what: as the function just above whose name this one's goes on with,
    else as the last one whose docstring does not begin so."""
    last: list[str] = []
    for n, entry in enumerate(entries):
        text = entry.summary()
        if not re.match(r"The same\b(?! as volt_)", text):
            last = entry.names if text else last
            continue
        close = [e.names for e in entries[max(0, n - 4):n] if entry.names[0].startswith(e.names[0])]
        of = " and ".join(f"{name}()" for name in (close[-1] if close else last)[:2])
        entry.body[0] = ("text", entry.body[0][1].replace("The same", f"The same as {of}", 1))


def declare(header: Header, entry: Entry | None, doc: list[str], documented_at: int, part: str,
            file: str, line: int, kind: str, text: str) -> Entry | None:
    """Add a declaration to the entry that it continues, or to a new one."""
    function = function_of(text) if kind == "declaration" else None
    if function:
        kind, names = "function", [function.name]
    elif kind == "define":
        kind, names = "macro", re.findall(r"#\s*define (\w+)", text)[:1]
    else:
        kind, names = "type", type_names(text)
    names = [n for n in names if is_public(n) and not re.fullmatch(r"VOLT_\w+_H", n)]
    if not names or {n for e in header.entries for n in e.names} & set(names):
        return entry  # private; or the body of what was declared before
    if entry is None or entry.kind != kind:
        entry = Entry(kind, file, documented_at if doc else line, doc, part)
        header.entries.append(entry)
    entry.names += names
    if function:
        entry.functions.append(function)
    elif kind == "macro":
        entry.source.append(re.match(r"#\s*define (\w+(\([^)]*\))?)", text)[1])
    else:
        entry.source.append(text)
    return entry


# ---- the words ----

def text_blocks(lines: list[str]) -> list[tuple]:
    """("text", paragraph), ("code", lines) and ("list", items) of a comment. Indented lines are
    code behind an empty line, or behind one that ends with a colon; else they go on with what
    precedes."""
    blocks: list[tuple] = []
    before = ""
    for line in lines:
        bullet = re.match(r"\s*- (.*)", line)
        if blocks and blocks[-1][0] == "code" and (line.startswith(" ") or not line):
            blocks[-1][1].append(line)
        elif not line:
            pass
        elif bullet:
            if not (blocks and blocks[-1][0] == "list" and before):
                blocks.append(("list", []))
            blocks[-1][1].append(bullet[1])
        elif line.startswith(" ") and (not before or before.endswith(":")):
            blocks.append(("code", [line]))
        elif before and blocks[-1][0] == "list" and line.startswith(" "):
            blocks[-1][1][-1] += " " + line.strip()
        elif before and blocks[-1][0] == "text" and not line.startswith(" "):
            blocks[-1] = ("text", blocks[-1][1] + " " + line.strip())
        else:
            blocks.append(("text", line.strip()))
        before = line
    return [tidy(kind, content) for kind, content in blocks]


def tidy(kind: str, content) -> tuple:
    if kind != "code":
        return kind, content
    while not content[-1]:
        content.pop()
    margin = min(len(line) - len(line.lstrip()) for line in content if line)
    return kind, "\n".join(line[margin:] for line in content)


def understand(entry: Entry):
    """Fill in body and sections. Yields (line, what is wrong there)."""
    if entry.kind != "function":
        entry.body = text_blocks(entry.lines)
        return
    if not entry.lines:
        yield entry.line, f"{entry.names[0]}() has no docstring directly above it"
        return
    label = label_of({name for f in entry.functions for name in f.arguments()})
    if label.match(entry.lines[0]):
        yield entry.line, f"the docstring of {entry.names[0]}() begins without what it does"
    for n, line in enumerate(entry.lines):
        odd = re.match(r"(\*?[A-Za-z]\w*)(\([\w, ]*\))?: ", line)
        fresh = n > 0 and entry.lines[n - 1][-1:] in (".", ")", ":")
        if odd and fresh and not label.match(line):
            yield entry.line + n, (f"'{odd[1]}:' is neither a parameter nor one of "
                                   f"{', '.join(LABELS)}")
    for kind, text in paragraphs(entry.lines, label):
        if kind == "code":
            entry.body.append(tidy(kind, text.split("\n")))
        else:
            sort_out(entry, text, label)


def label_of(parameters: set[str]) -> re.Pattern:
    """What something new begins with: a label, other labels behind it; or a parameter."""
    names = "|".join(map(re.escape, sorted(parameters))) or "(?!)"
    return re.compile(rf"(?:({'|'.join(LABELS)})((?:, [a-z]+)*)(?::|(?<=Returns)\b)"
                      rf"|\*?({names})(?:\([\w, ]*\))?:) ?")


def paragraphs(lines: list[str], label: re.Pattern) -> list[tuple[str, str]]:
    """("text", t) or ("code", t): a line goes on with the one before, but for what follows an empty
    line, a line with a label, and a new sentence at the margin behind what a label says."""
    found: list[list[str]] = []
    before = ""
    for line in lines:
        kind, text = found[-1] if found else ("", "")
        if kind == "code" and (line.startswith(" ") or not line):
            found[-1][1] += "\n" + line
        elif line.startswith(" ") and found and not before:
            found.append(["code", line])
        elif not line:
            pass
        elif kind != "text" or not before or label.match(line) or (
                label.match(text) and before[-1] in ".):" and not line.startswith(" ")):
            found.append(["text", line.strip()])
        else:
            found[-1][1] += " " + line.strip()
        before = line
    return [(kind, text) for kind, text in found]


def sort_out(entry: Entry, text: str, label: re.Pattern) -> None:
    """What a paragraph says: a sentence that begins with a label begins something new."""
    at = [0] + [m.end() for m in re.finditer(r"[.;)] (?=\S)", text) if label.match(text, m.end())]
    for start, end in zip(at, [*at[1:], len(text)], strict=True):
        piece = text[start:end].strip()
        found = label.match(piece)
        if not found:
            entry.body.append(("text", piece))
        elif found[3]:
            entry.body.append(("argument", (found[0].strip(" :"), piece[found.end():])))
        else:
            for name in [found[1], *re.findall(r"[a-z]+", found[2])]:
                title = LABELS.get(name.capitalize(), LABELS[found[1]])
                entry.sections.setdefault(title, []).append(piece[found.end():])


def results(text: str) -> tuple[str, list[tuple[str, str]], str]:
    """What a text says of results: what leads to a list of them, the list, each with what it means,
    and what follows the list."""
    found, rest = listed_results(text)
    if found:
        return "", found, rest
    for lead in re.finditer(rf"(?:[Pp]olls as|or:|;) (?={CODE})", text):
        found, rest = listed_results(text[lead.end():])
        if found:
            before = f"Returns {text[:lead.end()].rstrip(' :;')}"
            return before + (", or:" if lead[0][0] == ";" else ":"), found, rest
    return "", [], "Returns " + text


def listed_results(text: str) -> tuple[list[tuple[str, str]], str]:
    listed, at = [], 0
    if found := re.match(r"(true|false): ", text):
        parts = re.split(r"; (?=(?:true|false): )", text)
        return [tuple(part.rstrip(".").split(": ", 1)) for part in parts], ""
    while found := re.compile(CODE).match(text, at):
        code, at, why = found[0], found.end(), ""
        if text.startswith(" (", at):
            end = closing(text, at + 1)
            why, at = text[at + 2:end], end + 1
        if text.startswith((" ", ":"), at) and not re.match(" (or|and) VOLT_", text[at:]):
            end = STOP.search(text, at).start()
            why, at = (why + text[at:end]).strip(" :"), end
        elif also := re.match(r", (?:also|if|which|unless)\b[^;,.]*", text[at:]):
            why, at = also[0].strip(", "), at + also.end()
        listed.append((code, why))
        separator = re.compile(rf"[,;]? ?(?:or |and |else )?(?={CODE})").match(text, at)
        if not separator or separator.end() == at:
            break
        at = separator.end()
    rest = text[at:].lstrip(".;, ")
    if rest[:1].islower() or any(why.count("(") != why.count(")") for _, why in listed):
        return [], text
    return listed, rest


def closing(text: str, at: int) -> int:
    depth = 0
    for n in range(at, len(text)):
        depth += (text[n] == "(") - (text[n] == ")")
        if depth == 0:
            return n
    return len(text)


# ---- all of them ----

@dataclass
class Library:
    version: str
    date: str  # of CHANGELOG.md, or ""
    headers: list[Header]
    codes: dict[str, str]  # result codes, with what they mean
    exported: dict[str, str]  # functions, with the library that has them
    problems: list[str] = field(default_factory=list)

    def where(self) -> dict[str, tuple[Header, Entry]]:
        """Each name, and what describes it."""
        return {name: (h, e) for h in self.headers for e in h.entries for name in e.names}


def read_library(root: Path) -> Library:
    base = (root / "include/volt/base.h").read_text()
    numbers = re.findall(r"#define VOLT_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", base)
    codes = re.findall(r'^  X\((VOLT_\w+), (-?\d+), "(.*?)"\)', base, flags=re.M)
    if not codes or len(numbers) != 3:
        raise Unreadable("include/volt/base.h:1: no VOLT_RESULTS, or no version")
    changes = (root / "CHANGELOG.md").read_text()
    date = re.search(rf"^## {re.escape('.'.join(numbers))} - (\d{{4}}-\d\d-\d\d)", changes, re.M)
    exported = {name: path.stem for path in sorted((root / "src").rglob("*.map"))
                for name in re.findall(r"^ *(volt_\w*[^\W_]);", path.read_text(), flags=re.M)}
    if not exported:
        raise Unreadable("src: there is no symbol map, or it exports nothing")
    headers = [read_header(path, root) for path in sorted((root / "include/volt").glob("*.h"))]
    for entry in (e for h in headers for e in h.entries if e.names == ["volt_result"]):
        entry.names += [name for name, _, _ in codes]
        lines = [f"  {name} = {value}, /* {text} */" for name, value, text in codes]
        entry.source = ["\n".join(["enum volt_result {", *lines, "};"])]
    library = Library(".".join(numbers), date[1] if date else "", headers,
                      {name: text for name, _, text in codes}, exported)
    library.problems = [p for h in headers for p in h.problems] + disagreements(library)
    return library


def undeclared(text: str, where: dict) -> list[str]:
    """The functions that a text calls and no public header declares; volt_x_... stands for any."""
    return [n for n in re.findall(r"\b(volt_\w*[^\W_])\(", text)
            if n not in where and not n.startswith("volt_x_")]


def disagreements(library: Library) -> list[str]:
    where, found = library.where(), []
    for header in library.headers:
        owners = {library.exported[n] for e in header.functions() for n in e.names
                  if n in library.exported}
        header.library = owners.pop() if len(owners) == 1 else header.library
        said = [("include/volt/" + header.name, 1, str(header.essay) + str(header.parts))]
        said += [(e.file, e.line, " ".join(e.lines)) for e in header.entries]
        for file, line, text in said:
            found += [f"{file}:{line}: {n}() is nowhere declared" for n in undeclared(text, where)]
    found += [f"{library.exported[n]}.map: {n} is exported, and no public header declares it"
              for n in library.exported if n not in where]
    return found
