#!/usr/bin/env python3
"""docs/walkthrough.md says the truth: each step's file is there and has that function, and what a step
says about how it is reached is so in the code. A step is an item of a numbered list:

  4. [`file.c`](path) `function()`: ...               the function of step 3 names it
  4. [`file.c`](path) `function()` (from 2): ...      the function of step 2 names it
  4. [`file.c`](path) `function()` (as `member`): ... that function uses the member, and in one of the
                                                      sources the function stands as a value
  4. [`file.c`](path) `function()` (again): ...       the walk goes back to a step, from a call or a wake
  4. [`file.c`](path) `function()` (begins): ...      another thread, or code of the caller's, begins here

(from 2, as `member`) is both. The functions of a walk have at most LINES lines, which are read in ten minutes. A file is found by its name, with or without a link; if there are several,
the link decides.
Prints what is wrong. Then breaks the page in each way that it can be wrong, and sees that refused."""

import functools
import re
import sys
from collections import namedtuple
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "compile"))
sys.dont_write_bytecode = True

from house import Source  # noqa: E402

PAGE = ROOT / "docs" / "walkthrough.md"
LINES = 400
ITEM = re.compile(r"(\d+)\. ")
STEP = re.compile(r"(\d+)\. (\[)?`([\w.]+)`(?(2)\]\((\S+)\)) `(\w+)\(\)`(?: \(([^)]*)\))?: \S")
MARK = re.compile(r"(?:from (\d+))?(?:, )?(?:as `(\w+)`)?|again|begins")

Step = namedtuple("Step", "line number file path function mark caller member")


class Code:
    """The sources that walks go through."""

    def __init__(self):
        self.files, self.bodies, self.lines = {}, {}, {}
        for place in ("src", "include/volt", "apps/voltgate"):
            for p in sorted((ROOT / place).rglob("*.[ch]")):
                if "tests" in p.relative_to(ROOT).parts:
                    continue
                self.files.setdefault(p.name, []).append(p)

    @functools.lru_cache(None)
    def find(self, file, path):
        there = self.files.get(file, [])
        named = [p for p in there if p == (PAGE.parent / path).resolve()]
        return (named or there)[0] if len(named or there) == 1 else None

    def functions(self, path):
        """{name: the code of its body, or of its bodies, where #if has two}"""
        if path not in self.bodies:
            source, bodies = Source(path, path.read_text()), {}
            for name, _, first, end in source.functions:
                bodies[name] = bodies.get(name, "") + source.bare[first:end].partition("{")[2]
                self.lines[path, name] = self.lines.get((path, name), 0) + source.line(end) - source.line(first) + 1
            self.bodies[path] = bodies
        return self.bodies[path]

    def body(self, step):
        path = self.find(step.file, step.path)
        return self.functions(path).get(step.function, "") if path else ""

    @functools.lru_cache(None)
    def is_value(self, name):
        """It is not called somewhere, but stored or passed."""
        value = re.compile(rf"[=,({{]\s*&?{name}\b(?!\s*\()")
        for p in (p for there in self.files.values() for p in there):
            text = p.read_text()
            if value.search(text) and value.search(Source(p, text).code):  # not in a comment
                return True
        return False


def read_walks(text):
    """({title: its steps}, what is wrong with their form)"""
    walks, wrong, walk = {}, [], None
    for at, line in enumerate(text.splitlines(), 1):
        if line.startswith("## "):
            walk = walks.setdefault(line[3:], [])
        if walk is None or not ITEM.match(line):
            continue
        m = STEP.match(line)
        mark = MARK.fullmatch(m[6] or "") if m else None
        if not mark:
            wrong.append(f"{at}: not a step: {line[:60]}")
            continue
        caller = int(mark[1]) if mark[1] else len(walk)
        step = Step(at, int(m[1]), m[3], m[4] or "", m[5], m[6] or "", caller, mark[2])
        if step.number != len(walk) + 1:
            wrong.append(f"{at}: step {step.number} comes as number {len(walk) + 1}")
        walk.append(step)
    return walks, wrong


def wrong_step(code, walk, step):
    """What is wrong with it, or None."""
    path = code.find(step.file, step.path)
    if not path:
        return f"there is no {step.file}, or several"
    if step.function not in code.functions(path):
        return f"{step.file} has no function {step.function}()"
    before = walk[:step.number - 1]
    if step.mark == "begins":
        return None
    if step.mark == "again":
        is_there = any((s.file, s.function) == (step.file, step.function) for s in before)
        return None if is_there else f"{step.function}() is no step before"
    if not 1 <= step.caller < step.number:
        return "the first step has to say (begins)" if not before else f"there is no step {step.caller} before"
    caller = walk[step.caller - 1]
    body = code.body(caller)
    names = step.member or step.function
    if not re.search(rf"\b{names}\b", body):
        return f"{caller.function}(), step {step.caller}, does not name {names}"
    if step.member and not code.is_value(step.function):
        return f"{step.function}() is stored nowhere, so no {step.member} is it"
    return None


def lines_of(code, walk):
    there = {(code.find(step.file, step.path), step.function) for step in walk}
    return sum(code.lines.get(key, 0) for key in there)


def all_wrong(code, text, most=LINES):
    walks, wrong = read_walks(text)
    steps = [(walk, step) for walk in walks.values() for step in walk]
    for walk, step in steps if not wrong else []:
        what = wrong_step(code, walk, step)
        if what:
            wrong.append(f"{step.line}: step {step.number}: {what}")
    for title, walk in walks.items():
        if walk and (count := lines_of(code, walk)) > most:
            wrong.append(f"{walk[0].line}: {title}: {count} lines of functions, at most {most}")
    return wrong, steps


def broken(text, steps):
    """(what was done to the page, a page that must be refused)"""
    lines = text.splitlines(keepends=True)

    def page(step, old, new):
        its = lines[step.line - 1]
        assert old in its, (old, its)
        return "".join(lines[:step.line - 1] + [its.replace(old, new, 1)] + lines[step.line:])

    for walk, step in steps:
        name = f"`{step.function}()`"
        mark = f" ({step.mark})" if step.mark else ""
        yield f"{step.line}: another function", page(step, name, f"`{step.function}x()`")
        yield f"{step.line}: another file", page(step, f"`{step.file}`", f"`x{step.file}`")
        yield f"{step.line}: another number", page(step, f"{step.number}. ", f"{step.number + 1}. ")
        yield f"{step.line}: no such mark", page(step, f"{name}{mark}", f"{name} (somehow)")
        if step.number == 1:
            yield f"{step.line}: nothing begins", page(step, f"{name}{mark}", name)
        if step.member:
            yield f"{step.line}: another member", page(step, f"`{step.member}`", "`x_member`")
        if step.mark == "begins" and step.number > 1:  # such a step is not called by one before
            yield f"{step.line}: called by the one before", page(step, f"{name}{mark}", name)
        if step.mark not in ("again", "begins"):
            if not any(s.function == step.function for s in walk[:step.number - 1]):
                yield (f"{step.line}: nothing to go back to",
                       page(step, f"{name}{mark}", f"{name} (again)"))
            yield f"{step.line}: called by itself", page(step, f"{name}{mark}",
                                                         f"{name} (from {step.number})")


def main():
    code, text = Code(), PAGE.read_text()
    wrong, steps = all_wrong(code, text)
    for line in wrong:
        print(f"docs/walkthrough.md:{line}", file=sys.stderr)
    if wrong or not steps:
        return 1
    longest = max(lines_of(code, walk) for walk, _ in steps)
    if not all_wrong(code, text, longest - 1)[0]:
        print("docs/walkthrough.md: a walk that is too long is not refused", file=sys.stderr)
        return 1
    pages = 0
    for what, page in broken(text, steps):
        pages += 1
        if not all_wrong(code, page)[0]:
            print(f"docs/walkthrough.md:{what} is not refused", file=sys.stderr)
            return 1
    print(f"{len(steps)} steps are as the code is; {pages} pages that lie are refused; {longest} lines at most")
    return 0


sys.exit(main())
