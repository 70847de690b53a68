"""Section 3 pages (mdoc) of the headers: one for each docstring, with links from its other names,
and one for each header, with links from its types and macros."""

import re
import shutil
from pathlib import Path

from headers import Entry, Header, Library, Unreadable, results

WIDTH = 78
UNRELEASED = "November 22, 2026"  # of the pages of a version without a date in CHANGELOG.md
MONTHS = ("January February March April May June July August September October November "
          "December").split()
TOKEN = re.compile(r"""(?P<open>[("*\[]*)
  (?: (?P<name>[A-Za-z_]\w+)\((?P<arguments>[^()]*)\) | volt/(?P<header>\w+)\.h
    | (?P<constant>VOLT_\w*[A-Z0-9])(?![\w(]) | `(?P<quoted>[^`]+)` ) (?P<close>\S*) | \S+""", re.X)
LITERAL = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}


class Pages:
    def __init__(self, library: Library) -> None:
        self.library, self.where = library, library.where()
        self.by_file = {header.name: header for header in library.headers}
        self.named: set[str] = set()  # pages that the page at work has named

    # ---- text ----

    def flow(self, text: str, own: list[str]) -> list[str]:
        """A paragraph: lines that end where a sentence does, and macros on lines of their own."""
        lines, line = [], ""
        for found in TOKEN.finditer(text):
            macro = self.macro(found, own)
            if line and (macro or len(line) + len(found[0]) + 1 > WIDTH):
                lines.append(guarded(line))
                line = ""
            if macro:
                lines.append(macro)
            else:
                line = f"{line} {found[0]}".lstrip().replace("\\", "\\e")
                if re.search(r"(?<!\be\.g)(?<!\bi\.e)[.?!][)\"']*$", line):
                    lines.append(guarded(line))
                    line = ""
        return lines + [guarded(line)] * bool(line)

    def macro(self, found: re.Match, own: list[str]) -> str:
        name, file = found["name"], f"{found['header']}.h"
        if name in self.where and not found["arguments"] and name not in own:
            core = self.cross(name)
        elif name:
            if name in self.where:
                self.named.add(name)
            core = f"Fn {name} {' '.join(map(quoted, found['arguments'].split(', ')))}".rstrip()
        elif file in self.by_file:
            core = self.cross(self.by_file[file].page)
        elif found["constant"]:
            core = f"Dv {found['constant']}"
        elif found["quoted"]:
            core = f"Ql {quoted(found['quoted'])}"
        else:
            return ""
        before = f"Pf {quoted(found['open'])} " if found["open"] else ""
        closing = re.match(r"[.,:;)\]?!]*", found["close"])[0]
        after = "".join(f" {c}" for c in closing)
        if closing != found["close"]:
            after = f" Ns {quoted(found['close'])}"
        return f".{before}{core}{after}"

    def cross(self, page: str) -> str:
        self.named.add(page)
        return f"Xr {page} 3"

    def blocks(self, blocks: list[tuple], own: list[str]) -> list[str]:
        lines: list[str] = []
        before = ""
        for kind, content in blocks:
            if kind == "argument" and before != "argument":
                lines.append(".Bl -tag -width Ds")
            elif kind != "argument" and before == "argument":
                lines.append(".El")
            if kind == "text":
                lines += [".Pp"] * bool(before) + self.paragraph(content, own)
            elif kind == "argument":
                lines += [f".It Fa {quoted(content[0])}", *self.flow(content[1], own)]
            elif kind == "code":
                lines += literal(content)
            elif kind == "list":
                lines.append(".Bl -bullet")
                for item in content:
                    lines += [".It", *self.flow(item, own)]
                lines.append(".El")
            before = kind
        return lines + [".El"] * (before == "argument")

    def paragraph(self, text: str, own: list[str]) -> list[str]:
        if found := re.match(r"([A-Z][a-z]+(?: [a-z]+){0,2}): ", text):
            return [f".Sy {quoted(found[1])} :", *self.flow(text[found.end():], own)]
        return self.flow(text, own)

    def returned(self, texts: list[str], own: list[str]) -> list[str]:
        """One item for each result, and what else is said of them."""
        listed, said = [], []
        lines: list[str] = []
        for text in texts:
            lead, found, rest = results(text)
            if lead:
                lines += self.flow(lead, own)
            listed += found
            if rest:
                said.append(rest)
        if listed:
            lines.append(".Bl -tag -width VOLT_ETIMEDOUT")
            for code, why in listed:
                why = why or self.library.codes.get(code, "see above")
                lines += [f".It Dv {code}", *self.flow(why.rstrip(".") + ".", own)]
            lines.append(".El")
        for text in said:
            lines += [".Pp"] * bool(lines) + self.flow(text, own)
        return lines

    # ---- pages ----

    def page(self, name: str, names: list[str], summary: str, body: list[str],
             others: list[str]) -> str:
        date = self.library.date.split("-")
        day = f"{MONTHS[int(date[1]) - 1]} {int(date[2])}, {date[0]}" if date[0] else UNRELEASED
        lines = [f".Dd {day}", f".Dt {name.upper()} 3", f'.Os "volt {self.library.version}"',
                 ".Sh NAME", *(f".Nm {n} ," for n in names[:-1]), f".Nm {names[-1]}",
                 f".Nd {described(summary)}", *body]
        see = sorted((self.named | set(others)) - {name, *names}, key=lambda n: (n.lower(), n))
        lines += [".Sh SEE ALSO", *(f".Xr {n} 3 ," for n in see[:-1]), f".Xr {see[-1]} 3"]
        self.named = set()
        return "\n".join(lines) + "\n"

    def synopsis(self, header: Header) -> list[str]:
        library = header.library.removeprefix("volt-")
        return [".Sh LIBRARY", f"volt {library} library (libvolt-{library}, \\-lvolt-{library})",
                ".Sh SYNOPSIS", f".In volt/{header.name}"]

    def of_entry(self, header: Header, entry: Entry) -> str:
        body = self.synopsis(header)
        for function in entry.functions:
            body += [f".Ft {quoted(function.returns)}", f".Fo {function.name}",
                     *(f".Fa {quoted(p)}" for p in function.parameters), ".Fc"]
        own = entry.names
        known = {name for function in entry.functions for name in function.arguments()}
        if entry.body:
            body += [".Sh DESCRIPTION", *self.blocks(entry.body, own)]
        for title, texts in entry.sections.items():
            lines = self.returned(texts, own) if title == "RETURN VALUES" else self.blocks(
                [("text", sentence(text, known)) for text in texts], own)
            body += [f".Sh {title}", *lines]
        others = [e.names[0] for e in header.functions()]
        return self.page(own[0], own, entry.summary(), body, [header.page, "volt", *others])

    def of_header(self, header: Header) -> str:
        page = header.page if header.name != "volt.h" else "volt"
        names = [page, *(n for e in header.entries if e.kind != "function" for n in e.names
                         if n != page)]
        essay = [b for b in header.essay if page != "volt" or b[0] == "text"]  # not its own list
        body = [*self.synopsis(header), ".Sh DESCRIPTION", *self.blocks(essay, names)]
        if page == "volt":
            body += [".Bl -tag -width volt_semaphore"]
            for other in self.library.headers:
                if other is not header:
                    body += [f".It Xr {other.page} 3", *self.flow(other.title, [])]
            body.append(".El")
        for kind, title in (("type", "TYPES"), ("macro", "MACROS")):
            entries = [e for e in header.entries if e.kind == kind]
            body += [f".Sh {title}"] * bool(entries)
            for entry in entries:
                private = kind == "type" and "Members are private" in " ".join(entry.lines)
                source = [f"struct {entry.names[0]};"] if private else entry.source
                body += literal("\n".join(source)) + self.blocks(entry.body, names)
        if header.functions():
            body += [".Sh FUNCTIONS", *self.contents(header)]
        others = [e.names[0] for e in header.functions()]
        if page == "volt":
            others = [h.page for h in self.library.headers if h is not header]
        return self.page(page, names, header.title, body, [*others, "volt"])

    def contents(self, header: Header) -> list[str]:
        lines, part = [], None
        for entry in header.functions():
            if entry.part != part:
                lines += [".El"] * bool(lines)
                part = entry.part
                if part:
                    lines += [f".Ss {part[:1].upper() + part[1:]}"]
                    lines += self.blocks(header.parts[part], [])
                lines.append(".Bl -tag -width Ds")
            marks = [f".It Xr {n} 3" for n in entry.names]
            lines += [*marks, *self.flow(entry.summary(), [])]
        return [*lines, ".El"]


def sentence(text: str, known: set[str]) -> str:
    """A sentence of what stood behind a label; a name stays as it is."""
    if re.fullmatch(r"\w+\([^()]*\)\.", text):
        return "By " + text
    is_name = re.match(r"\w*[_(*]", text) or re.match(r"\w*", text)[0] in known
    return text if is_name else text[:1].upper() + text[1:]


def described(summary: str) -> str:
    text = summary.rstrip(".").replace("\\", "\\e") or "not described"
    return text[:1].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text


def quoted(text: str) -> str:
    text = text.replace("\\", "\\e").replace('"', "\\(dq")
    if text[-1:] in (".", ",", ":", ";", "?", "!"):
        text += "\\&"  # no punctuation of the sentence
    return f'"{text}"' if " " in text or text[:1].isupper() else text


def guarded(line: str) -> str:
    return "\\&" + line if line[:1] in ('.', "'") else line


def literal(code: str) -> list[str]:
    lines = [guarded("".join(LITERAL.get(c, c) for c in line)) for line in code.split("\n")]
    return [".Bd -literal -offset indent", *lines, ".Ed"]


def write_pages(library: Library, into: Path) -> None:
    """Write into/man3: a page for each docstring of a function and for each header, and links."""
    pages, written = Pages(library), {}
    directory = into / "man3"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)

    def taken(name: str) -> Path:
        if name in written:
            raise Unreadable(f"{written[name]} and {header.name}: two pages would be {name}(3)")
        written[name] = header.name
        return directory / f"{name}.3"

    def link(name: str, target: str) -> None:
        taken(name).symlink_to(f"{target}.3")

    for header in library.headers:
        page = header.page if header.name != "volt.h" else "volt"
        taken(page).write_text(pages.of_header(header))
        links = [(n, page) for e in header.entries if e.kind != "function" for n in e.names]
        for entry in header.functions():
            taken(entry.names[0]).write_text(pages.of_entry(header, entry))
            links += [(n, entry.names[0]) for n in entry.names[1:]]
        for name, target in links:
            if name != target:
                link(name, target)
