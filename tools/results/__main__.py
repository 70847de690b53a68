#!/usr/bin/env python3
"""The pages of bench/results, and the sources that each is about.

  results            which pages are of the sources that are checked out
  results stamp PAGE write into a page what its sources are now: the command that writes it does so
  results check      for tests: each page is in bench/results/pages.table, and says what it is about
  results commands   a line "MINUTES COMMAND" for each page

A page says in a line "Sources: ...: HASH" what its figures are about. The hash is of the files' text without comments
and white space. Exit code 0: as it has to be; 1: check has found something; 2: usage."""
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "prove"))
import work  # noqa: E402
from sources import ROOT  # noqa: E402

PAGES = ROOT / "bench/results"
LINE = re.compile(r"^Sources: (.*): ([0-9a-f]{16}|older than this line)\.\n\n", re.M)


class Page:
    def __init__(self, name, minutes, command, sources):
        self.name, self.minutes, self.command, self.sources = name, float(minutes), command, sources

    def digest(self, files):
        mine = [file for file in files if file.suffix != ".md" and str(file.relative_to(ROOT)).startswith(tuple(s + "/" for s in self.sources))]
        return work.digest_of_files(mine)

    def line(self, digest):
        return f"Sources: {', '.join(f'`{source}`' for source in self.sources)}: {digest}.\n\n"

    def stamped(self, text, digest):
        text = LINE.sub("", text)
        title, rest = text.split("\n\n", 1)
        return f"{title}\n\n{self.line(digest)}{rest}"


def pages():
    found = {}
    for line in (PAGES / "pages.table").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, minutes, rest = line.split(None, 2)
            command, sources = re.split(r"\s{2,}", rest, maxsplit=1)
            found[name] = Page(name, minutes, command, sources.split())
    return found


def state_of(page, text, files):
    found = LINE.search(text)
    if not found or found.group(2) == "older than this line":
        return "of older sources"
    return "of these sources" if found.group(2) == page.digest(files) else "its sources have changed since"


def command_list():
    files = work.files()
    for page in pages().values():
        text = (PAGES / page.name).read_text() if (PAGES / page.name).is_file() else ""
        said = re.search(r"commit ([0-9a-f]+)", text)
        date = re.search(r"\d{4}-\d\d-\d\d", text)
        print(f"{page.name:16} {said.group(1) if said else '-':9} {date.group() if date else '-':10}"
              f" {state_of(page, text, files) if text else 'is not there':32} {page.minutes:g} min: {page.command}")
    return 0


def command_stamp(name):
    page = pages().get(Path(name).name)
    if not page:
        print(f"results: {name} is not in bench/results/pages.table", file=sys.stderr)
        return 1
    file = PAGES / page.name
    file.write_text(page.stamped(file.read_text(), page.digest(work.files())))
    return 0


def wrong_of(table, texts):
    """What is wrong with these pages, by name."""
    wrong = [f"{name} is not in pages.table" for name in texts if name not in table]
    for name, page in table.items():
        text = texts.get(name)
        if text is None:
            wrong.append(f"{name} is not there")
        elif not (found := LINE.search(text)) or found.group() != page.line(found.group(2)):
            wrong.append(f"{name} does not say that it is about {' '.join(page.sources)}")
        elif not re.search(r"commit [0-9a-f]{7,}.*\d{4}-\d\d-\d\d", text) and "simulat" not in text:
            wrong.append(f"{name} does not say its commit and date")
        wrong += [f"{name}: there is no {source}" for source in page.sources if not (ROOT / source).is_dir()]
    return wrong


def command_check():
    texts = {file.name: file.read_text() for file in PAGES.glob("*.md")}
    table = pages()
    wrong = wrong_of(table, texts)
    for name in texts:  # that the check sees each kind
        for broken in ({k: v for k, v in texts.items() if k != name}, {**texts, "more.md": "# More\n"},
                       {**texts, name: LINE.sub("", texts[name])}, {**texts, name: texts[name].replace("`src", "`sra")
                                                                    .replace("`bench", "`bunch")}):
            if len(wrong_of(table, broken)) <= len(wrong):
                wrong.append(f"the check does not see what is wrong with {name}")
    print("\n".join(wrong) if wrong else f"{len(texts)} pages say what they are about")
    return 1 if wrong else 0


def command_commands():
    for page in pages().values():
        print(f"{page.minutes:g} {page.command}")
    return 0


COMMANDS = {"": (command_list, 0), "stamp": (command_stamp, 1), "check": (command_check, 0),
            "commands": (command_commands, 0)}


def main(arguments):
    command, count = COMMANDS.get(arguments[0] if arguments else "", (None, 0))
    if not command or len(arguments[1:]) != count:
        print(__doc__, file=sys.stderr)
        return 2
    return command(*arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
