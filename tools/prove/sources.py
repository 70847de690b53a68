"""What the verdict of a model depends on: the text of the sources that are linked into it as the
preprocessor hands them to the compiler, the flags, and the checker. Comments, lines that only move, and
sources that the model does not reach count for nothing.

CMake writes for each program of models PROGRAM.linked: the program, and the objects it is made of. Which
of them a model reaches is told by their symbols; how each was compiled, by compile_commands.json."""
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MARKER = re.compile(rb'# \d+ "((?:[^"\\]|\\.)*)"')
NEUTRAL = ["-Wno-builtin-macro-redefined", "-D__LINE__=0", '-D__FILE__="file"']
IS_MODEL = re.compile(r"^(?:MODEL|MUST_FAIL)\((\w+),", re.M)


class CannotSay(Exception):
    """The sources cannot be read as the compiler does."""


def digest_of(*parts):
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part if isinstance(part, bytes) else str(part).encode())
        whole.update(b"\0")
    return whole.hexdigest()[:16]


def own_text(preprocessed, top):
    """The lines that come from files of this project, each without white space at its ends."""
    own, of_marker, is_own = [], {}, False
    for line in preprocessed.splitlines():
        if line.startswith(b"# ") and (found := MARKER.match(line)):
            name = found.group(1)
            if name not in of_marker:
                of_marker[name] = os.path.normpath(os.path.join(top, name)).startswith(top + b"/")
            is_own = of_marker[name]
        elif is_own and (line := line.strip()):
            own.append(line)
    return b"\n".join(own)


def preprocess(compiled):
    """The digest of a source: of its text, and of the flags that change what is made of it."""
    command, source = compiled
    words = shlex.split(command)
    if "-include" in words:  # what is precompiled, every source has
        at = words.index("-include")
        del words[at:at + 2]
    places = [word for word in words if word.startswith("-I")]
    optimised = [at for at, word in enumerate(words) if word.startswith("-O")][:-1]  # the last one counts
    flags = [word for at, word in enumerate(words) if word.startswith(("-D", "-std=", "-O")) and at not in optimised]
    ran = subprocess.run([compiler(), *places, *flags, *NEUTRAL, "-w", "-E", "-x", "c++", source], cwd=ROOT,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if ran.returncode != 0:
        raise CannotSay(f"{source}: {ran.stderr.decode(errors='replace')}")
    return digest_of(*flags, own_text(ran.stdout, os.fsencode(ROOT)))


def compiler():
    return os.environ.get("CXX") or "c++"


def checker():
    """Of the files of the model checker."""
    for directory in (os.environ.get("RELACY_INCLUDE"), "/usr/include", "/usr/local/include"):
        files = sorted(Path(directory or "/nowhere", "relacy").rglob("*.hpp"))
        if files:
            return digest_of(*(part for file in files for part in (file.name, file.read_bytes())))
    raise CannotSay("there is no relacy (relacy-dev)")


def symbols(objects):
    """Of each object: the symbols that it defines for all, those it shares with others, those it wants."""
    known = {path: (set(), set(), set()) for path in objects}
    listed = subprocess.run(["nm", "-A", "-P", *objects], stdout=subprocess.PIPE, text=True)
    if listed.returncode != 0:
        raise CannotSay("nm does not list the objects of the models")
    for line in listed.stdout.splitlines():
        path, name, kind = line.split()[:3]
        strong, shared, wanted = known[path.rstrip(":")]
        (wanted if kind in "Uwv" else shared if kind in "WVu" else strong).add(name)
    return known


def reached(known, objects, first):
    """Of these objects, those that the first ones lead to."""
    strong, shared = {}, {}
    for path in objects:
        strong.update((name, path) for name in known[path][0])
        for name in known[path][1]:
            shared.setdefault(name, path)
    found, more = set(first), list(first)
    while more:
        _, own, wanted = known[more.pop()]
        others = {strong.get(name) for name in own} | {strong.get(name, shared.get(name)) for name in wanted}
        for other in others - found - {None}:
            found.add(other)
            more.append(other)
    return found


class Programs:
    """The programs of models of a build directory, and the digest of each model."""

    def __init__(self, build):
        self.build = Path(build).resolve()
        self.binaries, self.linked, self.models = {}, {}, {}
        for file in sorted((self.build / "tests/model/programs").glob("*.linked")):
            binary, *objects = map(os.path.normpath, file.read_text().split())
            self.binaries[file.stem], self.linked[file.stem] = Path(binary), objects
        if not self.linked:
            raise CannotSay(f"{self.build} has no models")
        self.compiled = {} # by object: the flags, and the source
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            command, _, rest = entry["command"].partition(" -o ")
            self.compiled[os.path.normpath(self.build / rest.split()[0])] = command, entry["file"]
        self.digests = {}
        self.checker = checker()

    def file_of(self, path):
        return Path(self.compiled[path][1]).resolve()

    def name_of(self, path):
        return os.path.relpath(self.file_of(path), ROOT)

    def read(self):
        """Digests of all objects, and what each file of models reaches."""
        every = sorted({path for objects in self.linked.values() for path in objects})
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            alike = {}
            for path in every:
                alike.setdefault(self.compiled[path], []).append(path)
            for paths, digest in zip(alike.values(), pool.map(preprocess, alike)):
                self.digests.update(dict.fromkeys(paths, digest))
        known = symbols(every)
        for program, objects in self.linked.items():
            runner = [path for path in objects if self.file_of(path).name == "model.cpp"]
            for path in objects:
                text = self.file_of(path)
                if not text.name.endswith("_model.cpp"):
                    continue
                reach = reached(known, objects, [path, *runner])
                digest = digest_of(self.checker, *sorted(self.digests[other] for other in reach))
                names = IS_MODEL.findall(text.read_text())
                self.models.setdefault(program, {}).update(dict.fromkeys(names, digest))
        return self
