#!/usr/bin/env python3
"""usage: ./x cases [--tests BUILD] [--against LIST | DIRECTORY | COMMIT]

Every test of the tree, read from its sources, a line each and sorted:

  case PROGRAM NAME    a test within a program: unit.mutex, stress.task, app.voltgate.gate, cluster.fence
  input NAME HASH      a line of what a test reads: corpora of fuzzers, tables
  model PROGRAM NAME   of tests/model
  mutant FILE NAME
  program PROGRAM      that has cases, or is one itself
  test NAME LABEL...   with --tests: what ctest knows in that build directory

--against another list, the tree in a directory, or a commit: prints what is gone, what is new, and which case is
in another program of its kind now. Exits with 1 if something is gone or new. Of a directory or a commit the
sources alone are read. Where a file stands makes no difference: what a program is called does."""
import ast
import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("tests", "apps", "tools")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
TABLE = re.compile(r"\bCMUnitTest \w+\[\] = \{(.*?)\};", re.S)
MAIN = re.compile(r"^int main\(.*?^}", re.S | re.M)
FUNCTION = re.compile(r"^[a-zA-Z][^\n;=#]*?\b(\w+)\([^;{]*\)\s*\{", re.M)


def program_of(path):
    """What a file of tests is called, wherever it stands: unit.mutex of tests/unit/.../mutex_test.c."""
    name, parts = re.sub(r"_(test|stress|fuzz)$", "", path.stem), path.parts
    if path.stem.endswith("_fuzz"):
        return f"fuzz.{name}"
    if parts[0] == "tests" and parts[1] not in ("apps", "top"):
        return f"{parts[1]}.{name}"
    if parts[0] == "tools" and parts[1] != "volt-top":
        return f"{parts[1]}.{name}"
    program = "top" if parts[1] in ("top", "volt-top") else re.match("[a-z]+", parts[parts.index("apps") + 1])[0]
    part = re.sub(f"^{program}_", "", name)
    return f"app.{program}" if part == program else f"app.{program}.{part}"


def entries(table):
    """What stands between the commas of a table: the first argument, where that is a call."""
    depth, begin = 0, 0
    for at, letter in enumerate(table + ","):
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            entry = table[begin:at].strip()
            begin = at + 1
            called = re.match(r"\w+\(\s*(\w+)", entry)
            if entry:
                yield called[1] if called else " ".join(entry.split())


def cases_of_c(text):
    text = COMMENT.sub(" ", text)
    tables = TABLE.findall(re.sub(r"^ *#.*", "", text, flags=re.M))
    found = [entry for table in tables for entry in entries(table)]
    found += re.findall(r"^TEST\((\w+)\)", text, re.M)  # unit.hpp
    if found:
        return found
    rows = re.findall(r"^ +\{\"([^\"\n]+)\",", text, re.M) if "CMUnitTest" in text else []  # a table of its own
    own, begin = set(FUNCTION.findall(text)), MAIN.search(text)
    called = re.findall(r"\b(\w+)\b", begin[0]) if begin else []
    return rows + [name for name in dict.fromkeys(called) if name in own - {"main"}]


def cases_of_python(text):
    tree = ast.parse(text)
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    found = {name for name in functions if name.startswith("test_")}
    for node in tree.body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name == "main":
            found |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in functions}
    return sorted(found - {"main"})


def cases_of(path):
    text = path.read_text()
    if path.suffix == ".py":
        return cases_of_python(text)
    if path.suffix == ".sh":
        return re.findall(r"^(test_\w+)\(\)", text, re.M)
    return cases_of_c(text)


def files(root, ending):
    """The files of tests whose name ends so, and their paths from the top."""
    for path in sorted(path for place in PLACES for path in (root / place).rglob("*")):
        inside = path.relative_to(root)
        if re.search(ending, path.name) and path.is_file() and "tests" in inside.parts:
            yield path, inside


def lines_of(root):
    programs = set()
    for path, inside in files(root, r"_(test|stress|fuzz)\.(c|cpp|py|sh)$"):
        programs.add(f"program {program_of(inside)}")
        for name in cases_of(path):
            yield f"case {program_of(inside)} {name}"
    yield from programs
    for path, _ in files(root, r"\.(h|hpp)$"):  # what is tried in many ways
        for name in re.findall(r"^(?:PLAIN_)?SCENE\((\w+),", path.read_text(), re.M):
            yield f"case unit.{path.stem} {name}"
    for path, _ in files(root, r"\.(corpus|table|hex)$"):
        for line in path.read_text().splitlines():
            if line.strip() and not line.startswith("#"):
                yield f"input {path.stem} {hashlib.sha256(line.encode()).hexdigest()[:12]}"
    for path, _ in files(root, r"_model\.cpp$"):
        text = path.read_text()
        for program in set(re.findall(r"^// PROGRAM: (\w+)", text, re.M)):
            for name in re.findall(r"^(?:MODEL|MUST_FAIL)\((\w+),", text, re.M):
                yield f"model {program} {name}"
    for path, _ in files(root, r"\.mutants$"):
        for name in re.findall(r"^mutant ([\w-]+):", path.read_text(), re.M):
            yield f"mutant {path.stem} {name}"


def tests_of(build):
    """What ctest knows, and the labels."""
    listed = json.loads(subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True,
                                       capture_output=True, text=True).stdout)
    for test in listed["tests"]:
        labels = next((p["value"] for p in test.get("properties", []) if p["name"] == "LABELS"), [])
        yield " ".join(["test", test["name"], *labels])


def list_of(what):
    """The lines of a list, a directory or a commit."""
    if Path(what).is_file():
        return Path(what).read_text().splitlines()
    if Path(what).is_dir():
        return sorted(lines_of(Path(what)))
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryFile() as archive:
        made = subprocess.run(["git", "-C", ROOT, "archive", what, *PLACES], stdout=archive, stderr=subprocess.DEVNULL)
        if made.returncode != 0:
            sys.exit(f"x: there is no list, no directory and no commit {what}")
        archive.seek(0)
        with tarfile.open(fileobj=archive) as tar:
            tar.extractall(directory)
        return sorted(lines_of(Path(directory)))


def kind_and_name(line):
    """Of a case: without its program, but with the program's kind."""
    kind, program, name = line.split(" ", 2)
    return kind, program.split(".")[0], name


def compare(before, now):
    """What to say, and whether nothing is gone or new."""
    gone, new, moved = Counter(before) - Counter(now), Counter(now) - Counter(before), []
    for line in sorted(gone.elements()):
        other = next((o for o in new.elements() if line.startswith("case ") and o.startswith("case ")
                      and kind_and_name(o) == kind_and_name(line)), None)
        if other:
            gone, new = gone - Counter([line]), new - Counter([other])
            moved.append(f"moved: {line}, to {other.split()[1]}")
    said = [f"gone: {line}" for line in sorted(gone.elements())] + [f"new: {line}" for line in sorted(new.elements())]
    return moved + said, not said


def main(arguments):
    options = dict(zip(arguments[::2], arguments[1::2]))
    if len(arguments) % 2 or set(options) - {"--tests", "--against"} or len(options) * 2 != len(arguments):
        print(__doc__, file=sys.stderr)
        return 2
    now = sorted([*lines_of(ROOT), *(tests_of(options["--tests"]) if "--tests" in options else [])])
    if "--against" not in options:
        print("\n".join(now))
        return 0
    before = list_of(options["--against"])
    if not Path(options["--against"]).is_file():  # which has no tests of ctest's
        now = [line for line in now if not line.startswith("test ")]
    said, is_right = compare(before, now)
    print("\n".join([*said, f"{len(before)} before, {len(now)} now"]))
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
