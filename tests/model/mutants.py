#!/usr/bin/env python3
"""The mutants: changes of the sources that break one rule each, and that a model has to reject.

  mutants.py check                    whether every mutant applies; prints how many there are
  mutants.py list                     a line "NAME LABEL..." for each; the labels are those of ctest
  mutants.py apply NAME DIR           put the mutated files below DIR
  mutants.py run NAME PROGRAMS WORK [MODEL_OPTION...]
                                      build one model on the mutated sources, and expect it to fail.
                                      Exit code 0: rejected; 1: survived; 2: the mutant is broken

PROGRAMS has a PROGRAM.objects (paths of unmutated objects, a line each) and a PROGRAM.flags (how
they are compiled) for each program of models. WORK is a directory to build in. CXX is the compiler.

A file ROOM/FILE.mutants has mutants named FILE-NAME, in this form. Lines that begin with # are
comments.

  mutant NAME: what is broken, and what comes of it
    killed by MODEL   program PROGRAM   options OPTION...
    quick
    in PATH DEFINITION
    - what is replaced: one line or more
    + what stands there instead: none or more
    weaken LABEL in PATH DEFINITION to ORDER

program, options, quick and to are optional: a program if the model is part of several; quick if the
mutant belongs to `./x test`. A mutant is any number of changes, each an "in" with its lines or a
"weaken". DEFINITION is the name of a function, a macro, a type or an initialised variable of that
file, or "file" for all of it. What is replaced has to be there exactly once; comments and white
space make no difference. "weaken" replaces the order of the one operation with that label (as in
"U1: pairs L1" or "lock:U1", in a comment on its line or before it) by ORDER, or by relaxed."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("include", "src", "variants", "bench/variants", "apps/voltgate", "tools/volt-run")  # copied, where it exists
IS_MODEL = re.compile(r"^(?:MODEL|MUST_FAIL)\((\w+),", re.M)


class Broken(Exception):
    """The mutant itself is wrong."""


# ---- C, as far as it is needed: tokens and definitions ----

TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<space>(?:\\\n|[^\S\n])+)|(?P<newline>\n)
    |"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\w+
    |->|\+\+|--|<<=|>>=|<<|>>|[-+*/%&|^<>=!]=|&&|\|\||\.\.\.|\#\#|.""",
    re.S | re.X)
ORDERED = re.compile(r"(volt_\w+?)_(acquire|release|acq_rel|seq_cst)")
LABELS = re.compile(r"(?:[a-z_]\w*:)?[A-Z]\d+\b(?:,\s*(?:[a-z_]\w*:)?[A-Z]\d+\b)*")


class Source:
    """A text as tokens. A directive ends in a token "\\n"; comments are kept apart."""

    def __init__(self, text):
        self.text = text
        self.tokens, self.starts, self.ends, self.in_directive = [], [], [], []
        self.comments = []  # (start, end, how many tokens come before it)
        self.by_text = {}
        directive, line_begins = False, True
        for found in TOKEN.finditer(text):
            kind, token = found.lastgroup, found.group()
            if kind == "comment":
                self.comments.append((found.start(), found.end(), len(self.tokens)))
            elif kind == "newline":
                if directive:
                    self.add("\n", found.start(), found.start(), True)
                directive, line_begins = False, True
            elif kind is None:
                directive = directive or (token == "#" and line_begins)
                line_begins = False
                self.add(token, found.start(), found.end(), directive)
        if directive:
            self.add("\n", len(text), len(text), True)

    def add(self, token, start, end, directive):
        self.by_text.setdefault(token, []).append(len(self.tokens))
        self.tokens.append(token)
        self.starts.append(start)
        self.ends.append(end)
        self.in_directive.append(directive)

    def definitions(self):
        """The ranges of tokens, by the name of what they define."""
        if not hasattr(self, "defined"):
            self.defined = {}
            self.find_macros()
            self.find_declarations()
        return self.defined

    def define(self, name, first, last):
        ranges = self.defined.setdefault(name, [])
        if (first, last) not in ranges:
            ranges.append((first, last))

    def find_macros(self):
        for i in self.by_text.get("define", []):
            if self.in_directive[i] and self.tokens[i - 1] == "#":
                self.define(self.tokens[i + 1], i - 1, self.tokens.index("\n", i))

    def find_declarations(self):
        head, first, depth, is_function = [], None, 0, False
        for i, token in enumerate(self.tokens):
            if self.in_directive[i]:
                continue
            if first is None:
                head, first, is_function = [], i, False
            if depth == 0:
                head.append(token)
            if token == "{":
                if depth == 0 and head == ["extern", '"C"', "{"]:
                    first = None  # a scope of the linker's, not of names
                    continue
                is_function = is_function or (depth == 0 and "(" in head and "=" not in head)
                depth += 1
            elif token == "}":
                depth = max(depth - 1, 0)
                if depth == 0 and (is_function or head == ["}"]):
                    if is_function:
                        self.define(function_in(head), first, i)
                    first = None
            elif token == ";" and depth == 0:
                if "{" in head:
                    for name in names_in(head):
                        self.define(name, first, i)
                first = None

    def ranges(self, name):
        if name == "file":
            return [(0, len(self.tokens) - 1)]
        if name not in self.definitions():
            raise Broken(f"there is no {name}")
        return self.definitions()[name]

    def find(self, wanted, name):
        """Where these tokens are in that definition: the indices of their first tokens."""
        found = []
        for first, last in self.ranges(name):
            for i in self.by_text.get(wanted[0], []):
                if (first <= i and i + len(wanted) - 1 <= last
                        and self.tokens[i:i + len(wanted)] == wanted):
                    found.append(i)
        return found

    def ordered_at(self, label, name):
        """The operations with an order that have this label in that definition: indices."""
        found = set()
        for first, last in self.ranges(name):
            for comment in self.comments:
                if first < comment[2] <= last + 1 and label in labels_of(self.text, comment):
                    found.update(i for i in self.near(comment) if first <= i <= last)
        return sorted(found)

    def near(self, comment):
        """The operation a comment is about: on its line, in its statement, or in the next one."""
        start, end, after = comment
        line = self.text.rfind("\n", 0, start) + 1
        here = [i for i in range(max(after - 60, 0), after)
                if self.starts[i] >= line and ORDERED.fullmatch(self.tokens[i])]
        if here or not self.text[line:start].strip():
            return here[-1:] or self.from_here(range(after, len(self.tokens)))
        return (self.from_here(range(after - 1, -1, -1))
                or self.from_here(range(after, len(self.tokens))))

    def from_here(self, indices):
        """The first operation with an order before the next end of a statement or a block."""
        has_begun = False
        for i in indices:
            if ORDERED.fullmatch(self.tokens[i]):
                return [i]
            if self.tokens[i] in ";{}" and has_begun:
                break
            has_begun = has_begun or self.tokens[i] not in ";{}"
        return []


def function_in(head):
    """The name before the last parentheses: those before it are of attributes."""
    depth, name = 0, ""
    for before, token in zip(head, head[1:]):
        if token == "(":
            if depth == 0 and before != "__attribute__":
                name = before
            depth += 1
        elif token == ")":
            depth -= 1
    return name


def names_in(head):
    if "=" in head:
        name = head[:head.index("=")]
        return [(name[:name.index("[")] if "[" in name else name)[-1]]
    at = head.index("{")
    return [name for name in (head[at - 1], head[-2]) if re.fullmatch(r"\w+", name)]


def labels_of(text, comment):
    """The labels that a comment gives, not those it speaks of: those it begins with, and those that
    begin a clause "U1" or "U1: ..." or "U1 pairs ..."; without their area."""
    clauses = re.split(r"[;.]", text[comment[0] + 2:comment[1] - 2])
    labels = set()
    for number, clause in enumerate(clauses):
        clause = clause.strip(" *\n")
        head = LABELS.match(clause)
        if head and (number == 0 or re.match(r":|\s*$|\s*(pairs?\b|<->|<-|->)", clause[head.end():])):
            labels.update(label.split(":")[-1] for label in re.split(r"[,\s]+", head.group()))
    return labels


# ---- the mutants ----


class Change:
    """Something replaced in one file."""

    def __init__(self, path, name, label=None, order="relaxed"):
        self.path, self.name, self.label, self.order = path, name, label, order
        self.old, self.new = [], []

    def edit(self, source):
        """(start, end, new text) in this source."""
        try:
            return self.weaken(source) if self.label else self.replace(source)
        except Broken as broken:
            raise Broken(f"{self.path} {self.name}: {broken}") from None

    def weaken(self, source):
        at = source.ordered_at(self.label, self.name)
        if len(at) != 1:
            raise Broken(f"{len(at)} operations with {self.label}")
        operation, order = ORDERED.fullmatch(source.tokens[at[0]]).groups()
        if order == self.order:
            raise Broken(f"{self.label} is {order} already")
        return source.starts[at[0]], source.ends[at[0]], f"{operation}_{self.order}"

    def replace(self, source):
        wanted = Source("\n".join(self.old)).tokens
        if not wanted:
            raise Broken("nothing is replaced")
        if wanted == Source("\n".join(self.new)).tokens:
            raise Broken("nothing changes")
        found = source.find(wanted, self.name)
        if len(found) != 1:
            raise Broken(f"there {len(found)} times: {self.old[0]}")
        first, last = found[0], found[0] + len(wanted) - 1
        end_of_line = " \\\n" if source.in_directive[first] and wanted[-1] != "\n" else "\n"
        return source.starts[first], source.ends[last], end_of_line.join(self.new)


class Mutant:
    def __init__(self, name, title):
        self.name, self.titles = name, [title]
        self.killer, self.program, self.options = None, None, []
        self.is_quick, self.changes = False, []

    def apply(self, sources):
        """The new text of each file that changes. sources: a Sources."""
        edits = {}
        for change in self.changes:
            edits.setdefault(change.path, []).append(change.edit(sources[change.path]))
        return {path: edited(sources[path].text, sorted(some)) for path, some in edits.items()}


def edited(text, edits):
    parts, at = [], 0
    for start, end, new in edits:
        if start < at:
            raise Broken("two changes overlap")
        parts += [text[at:start], new]
        at = end
    return "".join(parts) + text[at:]


class Sources(dict):
    """The files below a directory, read when they are asked for."""

    def __init__(self, root):
        super().__init__()
        self.root = Path(root)

    def __missing__(self, path):
        if not (self.root / path).is_file():
            raise Broken(f"there is no {path}")
        self[path] = Source((self.root / path).read_text())
        return self[path]


KILLED = re.compile(r"killed by (\w+)(?:\s+program (\w+))?(?:\s+options (.+))?")
IN = re.compile(r"in (\S+) (\w+)")
WEAKEN = re.compile(r"weaken (\w+) in (\S+) (\w+)(?: to (relaxed|acquire|release|acq_rel))?")
LINE = re.compile(r"([-+])(?: (.*))?")  # nothing else begins so


def read_line(mutant, line):
    """Whether this line is part of a mutant, and kept there."""
    change = mutant.changes[-1] if mutant.changes else None
    if found := KILLED.fullmatch(line):
        mutant.killer, mutant.program = found.group(1, 2)
        mutant.options = (found.group(3) or "").split()
    elif line == "quick":
        mutant.is_quick = True
    elif found := IN.fullmatch(line):
        mutant.changes.append(Change(*found.groups()))
    elif found := WEAKEN.fullmatch(line):
        label, path, name, order = found.groups()
        mutant.changes.append(Change(path, name, label, order or "relaxed"))
    elif (found := LINE.fullmatch(line)) and change and not change.label:
        if found.group(1) == "-" and change.new:
            return False  # a second change, without an "in"
        (change.old if found.group(1) == "-" else change.new).append(found.group(2) or "")
    elif line.startswith("  ") and not mutant.killer:
        mutant.titles.append(line.strip())  # what is broken, continued
    else:
        return False
    return True


def read_mutants(root, directory="tests/model"):
    """All mutants below a directory, by name, and what is wrong with their files."""
    mutants, wrong = {}, []
    for file in sorted((root / directory).rglob("*.mutants"), key=lambda file: file.name):
        mutant = None
        for number, line in enumerate(file.read_text().splitlines(), 1):
            at = f"{file.name}:{number}"
            if not line.strip() or line.startswith("#"):
                continue
            if found := re.fullmatch(r"mutant ([\w-]+): (.+)", line):
                mutant = Mutant(f"{file.stem}-{found.group(1)}", found.group(2))
                if mutant.name in mutants:
                    wrong.append(f"{at}: there are two mutants {mutant.name}")
                mutants[mutant.name] = mutant
            elif not mutant or not line.startswith("  ") or not read_line(mutant, line[2:]):
                wrong.append(f"{at}: not understood: {line}")
    return mutants, wrong


def read_models(root):
    """The file of every model, by the model's name."""
    models = {}
    for file in sorted((root / "tests/model").rglob("*.cpp")):
        if file.parent.name != "support":
            models.update((name, file) for name in IS_MODEL.findall(file.read_text()))
    return models


# ---- check ----


def check(root):
    """The mutants, and what is wrong with them."""
    mutants, wrong = read_mutants(root)
    models, sources = read_models(root), Sources(root)
    for mutant in mutants.values():
        if mutant.killer not in models:
            wrong.append(f"{mutant.name}: there is no model {mutant.killer}")
        try:
            if not mutant.apply(sources):
                raise Broken("changes nothing")
        except Broken as broken:
            wrong.append(f"{mutant.name}: {broken}")
    return mutants, wrong


SOUND = """mutant A: nothing is said
  killed by one   program p   options --o 1
  in src/a.c f
  - g(1); h();
  + h();
mutant B: the order is not kept
  killed by two
  weaken U1 in src/a.c f to release
mutant C: the macro, and g(1) in another function
  killed by one
  in src/a.c M
  - 1
  + 2
  in src/a.c k
  - g(1);
"""
SOUND_SOURCE = """#define M(x) \\
  ((x) + 1)
static void f(int *p) {
  g(1); /* not
         * now */ h();
  /* area:U1: pairs area:L1 */
  x = volt_exchange_acq_rel(p,
                            1);
  volt_store_release(p, 2); /* L1, U2: pairs U1 */
  if (volt_load_acquire(p)) /* T1: pairs U2; U1 has said it before */
    volt_load_acquire(p); /* T1 */
}
static void k(void) { g(1); g(2); /* g(1); */ }
"""
UNSOUND = {  # what is wrong: what is broken in SOUND, by what
    "what is replaced is nowhere": ("- g(1); h();", "- g(3);"),
    "what is replaced is in a comment only": ("- g(1); h();", "- now"),
    "what is replaced is there twice": ("- g(1);\n", "- g\n"),
    "nothing is replaced": ("- g(1);\n", ""),
    "nothing changes": ("+ 2", "+ 1"),
    "there is no such function": ("in src/a.c k", "in src/a.c kk"),
    "there is no such file": ("in src/a.c k", "in src/b.c k"),
    "there is no such label": ("weaken U1", "weaken U9"),
    "two operations have the label": ("weaken U1", "weaken T1"),
    "the label is elsewhere": ("U1 in src/a.c f", "U1 in src/a.c k"),
    "the order is that already": ("weaken U1 in src/a.c f", "weaken U2 in src/a.c f"),
    "the model is unknown": ("killed by two", "killed by three"),
    "the model is not said": ("  killed by two\n", ""),
    "a name is there twice": ("mutant B", "mutant A"),
    "a line says nothing": ("weaken U1", "weakens U1"),
    "two changes overlap": ("in src/a.c M\n  - 1", "in src/a.c k\n  - g(1); g(2);"),
}


def check_the_check():
    """It accepts what is sound, and refuses each of its broken forms."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        (root / "src").mkdir()
        (root / "src/a.c").write_text(SOUND_SOURCE)
        text = root / "tests/model/room/m.mutants"
        text.parent.mkdir(parents=True)
        (root / "tests/model/room/a_model.cpp").write_text("MODEL(one, 2)\nMUST_FAIL(two, 2)\n")
        text.write_text(SOUND)
        mutants, wrong = check(root)
        if wrong or len(mutants) != 3:
            sys.exit(f"the check refuses what is sound: {wrong}")
        for what, (old, new) in UNSOUND.items():
            assert SOUND.count(old) == 1, what
            text.write_text(SOUND.replace(old, new))
            if not check(root)[1]:
                sys.exit(f"the check misses: {what}")
    return len(UNSOUND)


def command_check():
    seen = check_the_check()
    mutants, wrong = check(ROOT)
    if not mutants:
        wrong.append("there are no mutants")
    for line in wrong:
        print(line, file=sys.stderr)
    changes = [change for mutant in mutants.values() for change in mutant.changes]
    print(f"{len(mutants)} mutants, {sum(bool(c.label) for c in changes)} of one order, in"
          f" {len({c.path for c in changes})} sources: {len(wrong)} things wrong"
          f" (and {seen} of {seen} broken forms are refused)")
    return 1 if wrong else 0


def command_list():
    mutants, wrong = read_mutants(ROOT)
    for mutant in mutants.values():
        print(mutant.name, "model", *["model-quick"] * mutant.is_quick)
    return 1 if wrong else 0


def mutant_of(name):
    mutants, _ = read_mutants(ROOT)
    if name not in mutants:
        raise Broken("there is no such mutant")
    return mutants[name]


def command_apply(name, directory):
    for path, text in mutant_of(name).apply(Sources(ROOT)).items():
        target = Path(directory) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return 0


# ---- run ----


def objects_of(mutant, model, programs):
    """The list of objects of the program that the mutant is built into."""
    if mutant.program:
        candidates = [programs / f"{mutant.program}.objects"]
    else:  # the first that has the model and no variant
        candidates = [file for file in sorted(programs.glob("*.objects"))
                      if f"/{model.name}." in file.read_text() and "/variants/" not in file.read_text()]
    if not candidates or not candidates[0].is_file():
        raise Broken(f"there is no program of {model.name}")
    return candidates[0]


def changed_names(work, paths):
    """The names of all files that have changed or include one that has."""
    includes = {}
    for file in work.rglob("*.[ch]"):
        names = re.findall(r'#include ["<](?:[^">]*/)?([^/">]+)[">]', file.read_text())
        includes.setdefault(file.name, set()).update(names)
    changed, more = set(), {Path(path).name for path in paths}
    while more:
        changed |= more
        more = {name for name, names in includes.items() if names & changed} - changed
    return changed


def compiler():
    return os.environ.get("CXX") or "c++"


def compile_one(source, target, flags):
    command = [compiler(), *flags, "-w", "-x", "c++", "-c", source, "-o", target]
    if subprocess.run(command).returncode != 0:
        raise Broken(f"{source} does not compile")


def build(mutant, model, programs, work):
    """Build the runner, the library and the one model; again what may see the change."""
    objects = objects_of(mutant, model, programs)
    flags = objects.with_suffix(".flags").read_text().split()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    for tree in SOURCES:
        if (ROOT / tree).is_dir():
            shutil.copytree(ROOT / tree, work / tree, ignore=shutil.ignore_patterns("tests"))
            flags = [re.sub(f"^-I{re.escape(str(ROOT / tree))}(?=/|$)", f"-I{work / tree}", flag)
                     for flag in flags]
    command_apply(mutant.name, work)
    changed = changed_names(work, [change.path for change in mutant.changes])
    is_header = any(change.path.endswith(".h") for change in mutant.changes)
    copies = [str(file.relative_to(work)) for file in work.rglob("*.c")]
    link = []
    for target in objects.read_text().split():
        unit = Path(target).stem  # its source's name
        copy = next((path for path in copies if target.endswith(f"/{path}.o")), None)
        if unit.endswith("_model.cpp") and unit != model.name:
            continue
        support = ROOT / "tests/model/support" / unit
        if support.is_file() and any(Path(change.path).name in support.read_text()
                                     for change in mutant.changes):
            target = work / f"{unit}.o"
            compile_one(support, target, flags)
        elif (unit == model.name and is_header) or (copy and unit in changed):
            source = work / copy if copy else model
            target = work / f"{unit}.o"
            compile_one(source, target, flags)
        link.append(target)
    command = [compiler(), *link, "-o", work / "models"]
    if subprocess.run(command).returncode != 0:
        raise Broken("does not link")


def command_run(name, programs, work, *options):
    mutant, work = mutant_of(name), Path(work).resolve()
    if mutant.killer not in (models := read_models(ROOT)):
        raise Broken(f"there is no model {mutant.killer}")
    build(mutant, models[mutant.killer], Path(programs), work)
    command = [work / "models", *options, *mutant.options, mutant.killer]
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    (work / "output").write_text(ran.stdout)
    verdict = re.search(rf"^{mutant.killer} .*", ran.stdout, re.M)
    if not verdict or "the checker itself" in ran.stdout:
        raise Broken(f"the model did not run: {ran.stdout}")
    if re.match(rf"{mutant.killer} +FAILED", verdict.group()):
        print(f"rejected: {name}, by {' '.join(verdict.group().split())}")
        return 0
    print(f"SURVIVED: {name}\n{ran.stdout}", end="")
    return 1


COMMANDS = {  # and how many arguments each takes at least, at most
    "check": (command_check, 0, 0), "list": (command_list, 0, 0),
    "apply": (command_apply, 2, 2), "run": (command_run, 3, 99)}


def main(arguments):
    command, least, most = COMMANDS.get(arguments[0] if arguments else "", (None, 0, 0))
    if not command or not least <= len(arguments) - 1 <= most:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        return command(*arguments[1:])
    except Broken as broken:
        print(f"mutant {arguments[1]}: {broken}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
