#!/usr/bin/env python3
"""usage: belongs.py [--root DIRECTORY] NAME | --check

What ./x try NAME has to build and run. A test, a file of models or a file of mutants belongs to NAME if it is
called NAME, or NAME_ and more; to a room, a directory of src/, belongs what stands in the rooms of that name, and
what belongs to one of its sources; to a program of apps/ belong the tests of its parts, apps/NAME/tests;
tools/x/try.table says what else does. Of the mutants: those that say "quick"; the first two of a file in which
none does. Prints lines of these kinds:

  options OPTION...              of cmake
  packages PACKAGE...            what those need, beside a compiler and cmocka
  tests REGEX                    of ctest's names, without those of the variants
  targets REGEX                  of what is built for them
  models PROGRAM MODEL...        models, and their program
  programs PROGRAM...            those in which mutants are
  mutants MUTANT...

With a wrong NAME, or none, it prints the names there are, and exits with 2. --check: whether each public header
has a unit test, and each word of the table something that belongs to it."""
import importlib.util
import re
import sys
import textwrap
from pathlib import Path

LOOPS = "libuv1-dev libglib2.0-dev libevent-dev libev-dev"
OF_CLUSTER = re.compile(r'^#include [<"](volt/ensemble[.]|(volt/)?cluster[_a-z]*[./])', re.M)
OF_TLS = re.compile(r'^#include ([<]volt/tls[.]|"tls_scene[.]h)', re.M)
LOOP = "(uv|glib|event|ev|epoll)"
UNIT, STRESS = "tests/unit/*/*_test.c*", "tests/stress/*/*_stress.c"
MODELS, MUTANTS = "tests/model/*/*_model.cpp", "tests/model/*/*.mutants"


def stem(path):
    return re.sub(r"_(test|stress|model)$", "", path.stem)


class Tree:
    def __init__(self, root):
        self.root = root
        self.table = dict(line.split(maxsplit=1) for line in (root / "tools/x/try.table").read_text().splitlines()
                          if not line.startswith("#"))

    def words(self, name):
        """The words whose tests belong to a name."""
        sources = [path.stem for path in (self.root / "src" / name).rglob("*.c")]
        return sorted({name, *sources, *self.table.get(name, "").split()})

    def all(self, pattern):
        """But for the models of what others have published, which are of nothing here."""
        return sorted(path for path in self.root.glob(pattern) if path.parent.name != "published")

    def files(self, name, pattern):
        words = tuple(self.words(name))
        return [path for path in self.all(pattern)
                if path.parent.name == name or stem(path) in words or stem(path).startswith(tuple(word + "_" for word in words))]

    def names(self):
        """All of them, by where they come from."""
        kinds = {
            "rooms of src/": {path.name for path in self.root.glob("src/*") if path.is_dir()},
            "programs": {path.relative_to(self.root).parts[1] for path in self.root.glob("apps/*/tests/**/*_test.c")},
            "headers": {path.stem for path in self.root.glob("include/volt/*.h")} - {"volt"},
            "others": {stem(path) for path in self.root.glob(UNIT)} | set(self.table)}
        seen = set()
        for kind, names in kinds.items():
            kinds[kind] = names - seen
            seen |= names
        return kinds

    def is_name(self, name):
        return name in set().union(*self.names().values())

    def parts(self, name):
        """The tests of the parts of a program."""
        return sorted(self.root.glob(f"apps/{name}/tests/**/*_test.c"))

    def model_files(self):
        """The programs, but those of variants, that each file of models is in."""
        found = {}
        for path in self.all(MODELS):
            lines = re.findall(r"^// PROGRAM: (\w+)(.*)", path.read_text(), re.M)
            found[path] = sorted({program for program, words in lines if "ENGINE " not in words})
        return found


def mutants_of(tree):
    """tests/model/mutants.py, which reads them."""
    spec = importlib.util.spec_from_file_location("mutants", tree.root / "tests/model/mutants.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def packages(files, of_program, models):
    needed = ["relacy-dev"] if models else []
    needed += ["+libssl-dev", "+libinih-dev", "+liburing-dev"] if of_program else []
    for path in files:
        text = path.read_text()
        if re.search("BACK ENDS:|LOOPS:", "\n".join(text.splitlines()[:15])):
            needed += ["liburing-dev"] if "BACK ENDS:" in text else LOOPS.split()
        if OF_CLUSTER.search(text):
            needed += ["liburing-dev", "libzookeeper-st-dev"]
        if OF_TLS.search(text):
            needed += ["liburing-dev", "libssl-dev"]
    return sorted(set(needed))


def print_models(tree, name):
    files, models = mutants_of(tree), tree.files(name, MODELS)
    programs_of = tree.model_files()
    for path in models:
        for program in programs_of[path][:1]:
            print("models", program, *files.IS_MODEL.findall(path.read_text()))
    mutants, _ = files.read_mutants(tree.root)
    killers = files.read_models(tree.root)
    chosen = []
    for path in tree.files(name, MUTANTS):
        own = [mutant for mutant in mutants.values() if mutant.name.startswith(path.stem + "-")]
        chosen += [mutant for mutant in own if mutant.is_quick] or own[:2]
    programs = {mutant.program or programs_of[killers[mutant.killer]][0] for mutant in chosen}
    print("programs", *sorted(programs))
    print("mutants", *(mutant.name for mutant in chosen))
    return bool(models or chosen)


def say(tree, name):
    files, parts = [*tree.files(name, UNIT), *tree.files(name, STRESS)], tree.parts(name)
    named = rf"(unit|stress)[.]({'|'.join(sorted(set(map(stem, files)))) or '-'})"
    of_parts = "|".join(map(stem, parts)) or "-"
    print(rf"targets ^({named}([.]{LOOP})?|{name}_({of_parts})_test)$")
    print(rf"tests ^({named}([.]({LOOP}|epoll|uring|inspected))*|app[.]{name}[.]({of_parts}))$")
    print("options", *["-DVOLT_BUILD_APPS=ON"] * bool(parts))
    print("packages", *packages(files, bool(parts), print_models(tree, name)))


def check(tree):
    wrong = [f"{path}: ./x try {path.stem} has no unit test" for path in sorted(tree.root.glob("include/volt/*.h"))
             if path.stem != "volt" and not tree.files(path.stem, UNIT)]
    for name, words in tree.table.items():
        for word in words.split():
            if not any(tree.files(word, pattern) for pattern in (UNIT, STRESS, MODELS, MUTANTS)):
                wrong.append(f"tools/x/try.table: {name}: nothing belongs to {word}")
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


def say_names(tree, wrong):
    if wrong:
        print(f"x: there is no {wrong} to try", file=sys.stderr)
    kinds = tree.names()
    whole = set().union(*kinds.values())
    for kind, names in kinds.items():
        shown = [name for name in sorted(names)  # what begins as another does, is a part of that
                 if kind != "others" or not any(name.startswith(other + "_") for other in whole)]
        print(textwrap.fill(f"{kind}: " + " ".join(shown), 100, subsequent_indent="  "), file=sys.stderr)


def main(arguments):
    root = Path(__file__).resolve().parents[2]
    if arguments[:1] == ["--root"]:
        root, arguments = Path(arguments[1]), arguments[2:]
    tree = Tree(root)
    name = arguments[0] if arguments else ""
    if name == "--check":
        return check(tree)
    if not tree.is_name(name):
        say_names(tree, name)
        return 2
    say(tree, name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
