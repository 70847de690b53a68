#!/usr/bin/env python3
"""house.py [rooms|names|labels|words|shape [root]]: what keeps the tree in order, beside the compiler.

rooms   Includes and calls point down: cluster, tls > io > rt > async > sync, bcs > core, so rooms form no circle;
        sight, which looks at all below it, is above rt.
        A public header includes public headers only. A header in src/ declares what one source defines, or
        at most four of one noun. No function over 60 lines.
        Rooms have sub-rooms, and WITHIN says which of them each may include; in core, what waits (wait,
        future, park) knows of what counts and shows (hooks, inspect) the headers in DOORS alone.
        A function's name tells its room: the first FIRST_LINES lines of each README.md say what the
        (sub-)rooms are, and how the functions of each begin: the longest such beginning counts, and
        no two rooms have the same. What these pages quote as a file, or by its name, is there.
names   A name means one thing: types, functions (of src/ and voltgate static ones, too), headers, sources; but
        x.h beside x.c is the inside of the public x.h. One form of include guard. No identifier, and no
        name of a file, has an old word (tests/compile/banned-names).
labels  Each operation that orders memory carries, in a comment on its line or directly above,
          /* fifo:U1 -> fifo:L1, permits:A1: the next holder sees what this one did */
        its label, its partners and the reason: -> at a release, <- at an acquire, <-> at both. Each
        partner stands on an operation and names the label back. An area is the name of the file,
        or what a line `Labels: <area>` in the first comment of the file says. Races and invariants
        (R1, I1) are defined once in an area; elsewhere they are `fifo.c R1`.
        A relaxed operation that may take over what another thread has set (a compare-and-swap, an
        exchange, an and, an or) says which operation gives the order, or that none is needed:
          /* relaxed, by slots:T1: the load has acquired the same value */
          /* relaxed, no data: only the value itself counts */
words   No banned word (tests/compile/banned-words) in a comment or a document.
shape   How large it is: files; of the sources (src, include, apps, tools, programs in docs) their lines, the median,
        how many have less than 120, the longest; of the tests, wherever they stand, their lines, and those to a
        line of source. Refuses nothing.

Of the rooms, too: a program in apps/ includes no file of another one, but those of apps/common; and voltgate's
        rooms include and call those that ROOMS_OF_GATE gives them. What programs share with the library is
        included by apps/common alone. Tests of a program, in a folder tests of its own, may include anything.

Prints what it has counted. Exits with 1, and names file:line, if something is not in order.
house_test.py breaks each rule and sees the refusal."""
import functools
import os
import re
import sys
from pathlib import Path

BELOW = {"core": set(), "sync": {"core"}, "bcs": {"core"}, "async": {"sync", "bcs", "core"}}
BELOW["rt"] = {"async", "sync", "bcs", "core"}
BELOW["sight"] = {"rt"} | BELOW["rt"]
BELOW["io"] = {"rt"} | BELOW["rt"]
BELOW["cluster"] = {"io"} | BELOW["io"]
BELOW["tls"] = {"io"} | BELOW["io"]
# Sub-rooms that name each other are one layer: in core the protocol, and what observes it.
WITHIN = {
    "core": {"os": "", "wait": "os park future", "future": "os wait park", "park": "os wait future",
             "hooks": "os park future inspect", "inspect": "os wait park future hooks"},
    "rt": {"sched": "fiber host memory", "fiber": "sched host", "host": "sched fiber memory blocking inspect",
           "memory": "sched host", "blocking": "sched host", "inspect": "sched fiber host"},
    "io": {"op": "sys", "sys": "", "backend": "op sys", "net": "op sys", "permit": "", "process": "sys", "sim": "op sys"},
    "cluster": {"host": "recipe", "recipe": "host", "zookeeper": "", "ensemble": ""},
    "tls": {"context": "", "stream": "context"},
    "sight": {"watch": "answer dump graph", "answer": "dump graph watch", "dump": "graph watch", "graph": "dump"},
}
DOORS = {"counters.h", "holding.h", "wait_times.h", "describe.h"}
# locals.c makes all that is kept for a process anew in the child of a fork(); a future that is about to wait
# tells the order of locks
BESIDE_DOORS = {"src/core/park/locals.c": {"numbers.h", "sleepers.h", "lock_order.h", "holders.h"},
                "src/core/future/future.c": {"holders.h"}}
FUNCTION_LINES = 60
SOURCES_OF_A_HEADER = 4  # its own, or those of one noun
OF_THE_MODEL = "model_atomic.hpp"  # atomic.h includes it where only the model checker sees it


# ---- the scanner of C ----

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.)*", re.M | re.S)


def blank(text):
    return re.sub(r"[^\n]", " ", text)


class Source:
    """One file, in layers that all have the offsets of its text:
    code (no comments, strings empty), bare (no directives either), prose (comments alone)."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.stem = os.path.splitext(os.path.basename(path))[0]
        self.code = TOKEN.sub(lambda m: blank(m[0]) if m[0][0] == "/" else
                              m[0][0] + blank(m[0][1:-1]) + m[0][0], text)
        self.bare = DIRECTIVE.sub(lambda m: blank(m[0]), self.code)
        self.starts = [m.start() for m in re.finditer(r"^", text, re.M)]
        self.comments = [m.span() for m in TOKEN.finditer(text) if m[0][0] == "/"]
        prose = list(blank(text))
        for begin, end in self.comments:
            comment = re.sub(r"^/[/*]+|\*/$", lambda m: blank(m[0]), text[begin:end])
            prose[begin:end] = re.sub(r"^[ \t]*\*", lambda m: blank(m[0]), comment, flags=re.M)
        self.prose = "".join(prose)

    def line(self, at):
        return self.text.count("\n", 0, at) + 1

    def at(self, at):
        return f"{self.path}:{self.line(at)}"

    @functools.cached_property
    def includes(self):
        """(offset, name as it is written, with " or <)"""
        return [(m.start(), self.text[m.end() - 1:self.text.index("\n", m.end())])
                for m in re.finditer(r"^[ \t]*#[ \t]*include[ \t]*[\"<]", self.code, re.M)]

    @functools.cached_property
    def blocks(self):
        """(offset of what stands before a block outside of all others, its {, its })"""
        found, depth, start = [], 0, 0
        for m in re.finditer(r"[{};]", self.bare):
            depth += {"{": 1, "}": -1, ";": 0}[m[0]]
            if depth == 1 and m[0] == "{":
                brace = m.start()
            elif depth == 0:
                if m[0] == "}":
                    found.append((start, brace, m.start()))
                start = m.end()
        if depth != 0:
            sys.exit(f"{self.path}: braces that do not match: house.py cannot read it")
        return found

    @functools.cached_property
    def functions(self):
        """(name, is static, offset of its first line, of its last)"""
        found = []
        for start, brace, end in self.blocks:
            head = re.sub(r"VOLT_(BEGIN|END)_DECLS", lambda m: blank(m[0]), self.bare[start:brace])
            first = start + len(head) - len(head.lstrip())
            flat, more = head, 1
            while more:
                flat, more = re.subn(r"\([^()]*\)", "@", flat)
            names = [n for n in re.findall(r"(\w+)\s*@", flat) if re.search("[a-z]", n)
                     and n != "__attribute__"]
            if flat.rstrip().endswith("@") and "=" not in flat and names:
                found.append((names[-1], bool(re.search(r"\bstatic\b", flat)), first, end))
        return found

    @functools.cached_property
    def types(self):
        """(name, what it is, has a body here, offset)"""
        found = [(m[2], f"{m[1]} {m[2]}", True, m.start())
                 for m in re.finditer(r"\b(struct|union|enum)\s+(\w+)\s*\{", self.bare)]
        for m in re.finditer(r"\btypedef\b", self.bare):
            flat, more = self.bare[m.end():], 1
            while more and "{" in flat[:flat.index(";")]:
                flat, more = re.subn(r"\{[^{}]*\}", "@", flat, count=1)
            flat = " ".join(flat[:flat.index(";")].split())
            name = re.search(r"\(\s*\*\s*(\w+)|(\w+)\s*(?:[(\[]|$)", flat)
            name = name[1] or name[2]
            own = re.match(r"(struct|union|enum) ?(\w*)", flat)
            if own and own[2] in ("", name):
                found.append((name, f"{own[1]} {name}", own[2] == "" and "@" in flat, m.start()))
            else:
                found.append((name, flat.replace("@", ""), False, m.start()))
        return found


scan = functools.lru_cache(None)(Source)


class Tree:
    def __init__(self, root):
        self.root, self.wrong = Path(root), []
        self.library = self.sources("include/volt", "src")
        self.variants = self.sources("bench/variants")
        self.cpp = self.sources("include/volt", ends=(".hpp",))
        self.all = {**self.library, **self.variants}
        self.gate = {p: s for p, s in self.sources(GATE).items() if room_of_gate(p)}

    def files(self, *places, ends):
        for place in places:
            path = self.root / place
            inside = sorted(path.rglob("*")) if path.is_dir() else [path]
            yield from (p for p in inside if p.is_file() and p.suffix in ends)

    def sources(self, *places, ends=(".c", ".h")):
        found = ((str(p.relative_to(self.root)), p) for p in self.files(*places, ends=ends))
        return {path: scan(path, p.read_text()) for path, p in found}

    def refuse(self, where, what):
        self.wrong.append(f"{where}: {what}")


# ---- rooms ----

def room_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) in (3, 4) else None


class Rooms:
    """Which room a file is in, and what it includes of the library: (offset, path)."""

    def __init__(self, library):
        self.library = library
        self.home = {s.stem: room_of(path) for path, s in library.items() if room_of(path)}
        self.edges = {path: [(at, self.target(path, name)) for at, name in source.includes]
                      for path, source in library.items()}

    def of(self, path):  # a public header is in the room of the source that has its name
        return room_of(path) or self.home.get(self.library[path].stem)

    @staticmethod
    def target(path, name):
        if name[0] == "<":
            return "include/" + name[1:].split(">")[0] if name.startswith("<volt/") else None
        return os.path.normpath(os.path.join(os.path.dirname(path), name[1:].split('"')[0]))

    def reached(self, path):  # a header that no source belongs to is where its includes are
        found, seen, left = set(), set(), [path]
        while left:
            path = left.pop()
            if self.of(path):
                found.add(self.of(path))
            elif path not in seen:
                seen.add(path)
                left += [to for _, to in self.edges[path] if to in self.library]
        return found


def includes_point_down(tree, room):
    for path, source in tree.library.items():
        mine = room.of(path)
        for at, to in room.edges[path]:
            if to is None or os.path.basename(to) == OF_THE_MODEL:
                continue
            if to not in tree.library:
                tree.refuse(source.at(at), f"includes {to}, which is no file of src/ or include/")
            elif path.startswith("include/") and to.startswith("src/"):
                tree.refuse(source.at(at), f"a public header includes {to}")
            elif mine in BELOW:
                for up in room.reached(to) - BELOW[mine] - {mine}:
                    tree.refuse(source.at(at), f"{mine} includes {to} of {up}")


def calls_point_down(tree, room):
    owner = {name: path for path, source in tree.library.items() if path.endswith(".c")
             for name, static, *_ in source.functions if not static}
    for path, source in tree.library.items():
        mine = room.of(path)
        for m in re.finditer(r"\b(\w+)\s*\(", source.bare):
            its = room.of(owner[m[1]]) if m[1] in owner else None
            if its and mine in BELOW and its not in BELOW[mine] | {mine}:
                tree.refuse(source.at(m.start()), f"{mine} uses {m[1]}() of {owner[m[1]]}")


def headers_of_few(tree):
    """A header declares what its source defines, or what few do that are of one noun."""
    owner = {name: path for path, source in tree.library.items() if path.endswith(".c")
             for name, static, *_ in source.functions if not static}
    for path, source in tree.library.items():
        outside = source.bare
        for _, brace, end in source.blocks:
            outside = outside[:brace] + blank(outside[brace:end]) + outside[end:]
        count = len({owner[name] for name in re.findall(r"\b(\w+)\s*\(", outside) if name in owner})
        if path.startswith("src/") and path.endswith(".h") and count > SOURCES_OF_A_HEADER:
            tree.refuse(path, f"declares what {count} sources define, at most {SOURCES_OF_A_HEADER}")


def sub_room_of(path):
    parts = path.split("/")
    return (parts[1], parts[2]) if parts[0] == "src" and len(parts) == 4 else (room_of(path), None)


def sub_rooms(tree, room):
    """Returns how many includes lead from one sub-room to another."""
    count = 0
    for path, source in tree.library.items():
        mine, sub = sub_room_of(path)
        if mine in BELOW and sub not in WITHIN.get(mine, {None: ""}):
            tree.refuse(path, f"is in no sub-room: src/{mine}/{{{','.join(WITHIN.get(mine, {}))}}}/")
            continue
        for at, to in room.edges[path]:
            its, other = sub_room_of(to) if to in tree.library else (None, None)
            if its != mine or other in (sub, None):
                continue
            count += 1
            name = os.path.basename(to)
            is_door = other in ("hooks", "inspect") and name in DOORS | BESIDE_DOORS.get(path, set())
            if other not in WITHIN[mine][sub].split() and not (mine == "core" and sub != "os" and is_door):
                tree.refuse(source.at(at), f"{mine}/{sub} includes {to} of {mine}/{other}")
    return count


# ---- what a room's page says ----

FIRST_LINES = 14  # of a page: what is read before a room is chosen
GIVEN = re.compile(r"`((?!volt_)\w+(?:_|\(\)))`")  # the beginning of names, or one name
QUOTED = re.compile(r"`([\w/]+\.[ch]|[a-z]+(?:_[a-z]+)*)`")  # a file, or its name without .c


def pages(tree):
    """(path of a room's README.md, its sub-rooms)"""
    yield from ((f"src/{room}/README.md", WITHIN.get(room, {}))
                for room in sorted({room_of(path) for path in tree.library} & set(BELOW)))
    if tree.gate:
        yield f"{GATE}/README.md", ROOMS_OF_GATE


def text_of(tree, path):
    page = tree.root / path
    return page.read_text() if page.is_file() else ""


def names_given(tree):
    """{(src or apps, beginning of names): the room, or sub-room, that its page gives it to}"""
    given = {}
    for path, subs in pages(tree):
        lines = text_of(tree, path).splitlines()[:FIRST_LINES]
        if not lines:
            tree.refuse(path, "is not there: what is the room, and where does one begin?")
        for sub in subs or ("",):
            home = os.path.normpath(os.path.join(os.path.dirname(path), sub))
            its = [line for line in lines if not sub or f"`{sub}/`" in line]
            if lines and not its:
                tree.refuse(path, f"does not say what `{sub}/` is, in its first {FIRST_LINES} lines")
            for name in (name for line in its for name in GIVEN.findall(line)):
                key = (path.split("/")[0], name)
                if given.setdefault(key, home) != home:
                    tree.refuse(path, f"`{name}` is given to {home}, and to {given[key]}")
    return given


def names_tell_rooms(tree):
    """A function is in the room to which a page gives the longest beginning of its name. Returns how many
    functions there are."""
    given, carried, count = names_given(tree), set(), 0
    for path, source in {**tree.library, **tree.gate}.items():
        home = os.path.dirname(path)
        for name, _, at, _ in source.functions if room_of(path) or path in tree.gate else ():
            bare, count = name.removeprefix("volt_"), count + 1
            fits = [(top, g) for top, g in given if (bare + "()" == g or bare.startswith(g)) and
                    (bare == name or top == "src")]
            own = [key for key in fits if key[0] == path.split("/")[0]]  # voltgate's `tls_` is not the library's
            best = max(own or fits, key=lambda key: len(key[1].removesuffix("()")), default=None)
            carried.add(best)
            if best is None:
                tree.refuse(source.at(at), f"{name}(): no page says of {home} that its functions begin so")
            elif given[best] != home:
                tree.refuse(source.at(at), f"{name}() is in {home}, but `{best[1]}` is given to {given[best]}")
    for key in sorted(set(given) - carried):
        tree.refuse(given[key], f"`{key[1]}` is given to it, and no function is called so")
    return count


def files_quoted(tree):
    """A file, or a word, that a page of src/ quotes is one of a file or a sub-room that is there."""
    for path, _ in pages(tree):
        there = {os.path.basename(p) for p in (*tree.library, *tree.gate)}
        words = {p.rsplit(".", 1)[0] for p in there} | {sub for subs in WITHIN.values() for sub in subs} | set(BELOW)
        for name in QUOTED.findall(text_of(tree, path)):
            if "." in name and os.path.basename(name) not in there or (
                    "." not in name and path.startswith("src/") and name not in words):
                tree.refuse(path, f"`{name}` is no file that is there")


# ---- rooms of programs ----

GATE = "apps/voltgate"
ROOMS_OF_GATE = {  # from below: each names rooms above its own line only, so that there is no circle
    "wire": "",
    "link": "",
    "config": "wire",
    "process": "config",
    "gate": "wire config process",
    "cluster": "config process gate",
    "session": "wire link config process gate",
    "permit": "wire link config process gate session",
    "program": "config process gate cluster session",
    "admin": "wire config process gate cluster program",
    "handover": "config process gate permit program admin",
    "run": "config process",
    "main": "config process gate cluster session program admin handover run",
}


def room_of_gate(path):
    parts = path.split("/")
    return parts[2] if path.startswith(GATE + "/") and len(parts) == 4 else None


def target_of_program(path, name):
    """Where a file of a program finds what it includes: beside itself, from its root, or in common/."""
    program = "/".join(path.split("/")[:2])
    if name.startswith("common/"):
        return "apps/" + name
    inside = program if program in (GATE, "apps/common") else os.path.dirname(path)
    return os.path.normpath(os.path.join(inside, name))


def sources_of_programs(tree, *ends):
    """Without their tests, which may include anything."""
    return {path: source for path, source in tree.sources("apps", **({"ends": ends} if ends else {})).items()
            if "/tests/" not in path}


def calls_of_gate(tree, allowed):
    owner = {name: path for path, source in tree.gate.items() if path.endswith(".c")
             for name, static, *_ in source.functions if not static}
    for path, source in tree.gate.items():
        mine = room_of_gate(path)
        for m in re.finditer(r"\b(\w+)\s*\(", source.bare):
            its = room_of_gate(owner[m[1]]) if m[1] in owner else None
            if its and mine in allowed and its not in allowed[mine] | {mine}:
                tree.refuse(source.at(m.start()), f"{mine} uses {m[1]}() of {owner[m[1]]}")


def rooms_of_programs(tree):
    programs, count = sources_of_programs(tree), 0
    allowed = {room: set(below.split()) for room, below in ROOMS_OF_GATE.items()}
    for path, source in programs.items():
        mine = room_of_gate(path)
        if path.startswith(GATE + "/") and mine not in allowed:
            tree.refuse(path, f"is in no room: {GATE}/{{{','.join(allowed)}}}/")
        for at, name in source.includes:
            if name[0] == "<":
                continue
            to, count = target_of_program(path, name[1:].split('"')[0]), count + 1
            its = room_of_gate(to)
            if to in tree.library and path.startswith("apps/common/"):
                continue
            if to not in programs:
                tree.refuse(source.at(at), f"includes {to}, which is no file of apps/")
            elif to.split("/")[1] not in (path.split("/")[1], "common"):
                tree.refuse(source.at(at), f"includes {to} of another program")
            elif mine in allowed and its and its not in allowed[mine] | {mine}:
                tree.refuse(source.at(at), f"{mine} includes {to} of {its}")
    calls_of_gate(tree, allowed)
    if count == 0:
        tree.refuse("apps", "no includes of programs found")


def rooms(tree):
    room = Rooms(tree.library)
    rooms_of_programs(tree)
    includes_point_down(tree, room)
    calls_point_down(tree, room)
    headers_of_few(tree)
    within = sub_rooms(tree, room)
    told = names_tell_rooms(tree)
    files_quoted(tree)
    for path, source in tree.library.items():
        if path.startswith("src/") and room_of(path) not in BELOW:
            tree.refuse(path, f"is in no room: src/{{{','.join(BELOW)}}}/")
        for name, _, first, last in source.functions:
            lines = source.line(last) - source.line(first) + 1
            if lines > FUNCTION_LINES:
                tree.refuse(source.at(first), f"{name}(): {lines} lines, at most {FUNCTION_LINES}")
    for path, source in tree.cpp.items():
        guard = guard_of(path)
        if f"#ifndef {guard}\n#define {guard}\n" not in source.code:
            tree.refuse(path, f"its guard is not {guard}")
    return {"files": len(tree.library) + len(tree.cpp), "rooms": len(set(room.home.values())),
            "includes": sum(map(len, room.edges.values())), "of sub-rooms": within,
            "functions": sum(len(s.functions) for s in tree.library.values()), "told by names": told}


# ---- names ----

def guard_of(path):
    inside = re.sub("^(include/volt|src|bench)/", "", path)
    name, end = inside.rsplit(".", 1)
    return f"VOLT_{name.replace('/', '_')}_{end}".upper()


def banned_names():
    """The rules (pattern, what instead), and what is right although a rule would refuse it."""
    rules, right = [], []
    for line in (Path(__file__).parent / "banned-names").read_text().splitlines():
        if line.startswith("= "):
            right.append(re.split(r"\s{2,}", line[2:], maxsplit=1)[0])
        elif line and not line.startswith("#"):
            words, instead = re.split(r"\s{2,}", line, maxsplit=1)
            rules.append((re.compile(rf"(?:^|_)(?:{words})(?=[_.]|$)", re.I), instead))
    return rules, re.compile("|".join(right))


def old_words(tree):
    """Returns how many names it has read."""
    rules, right = banned_names()
    known = {}  # name -> what is wrong with it

    def wrong_with(name):
        if name not in known:
            found = "" if right.fullmatch(name) else next((to for rule, to in rules if rule.search(name)), "")
            known[name] = found
        return known[name]

    for p in tree.files("src", "include", "tests", "apps", "tools", ends=(".c", ".h", ".cpp", ".hpp")):
        if p.relative_to(tree.root).parts[0] in ("apps", "tools") and "tests" not in p.parts:
            continue
        if instead := wrong_with(p.name):
            tree.refuse(p.relative_to(tree.root), f"is called by an old word: {instead}")
    for path, source in {**tree.library, **tree.cpp}.items():
        guard = guard_of(path)  # of a file that is refused, or is right
        for name in set(re.findall(r"[A-Za-z_]\w*", source.code)) - {guard}:
            if instead := wrong_with(name):
                at = re.search(rf"\b{name}\b", source.code).start()
                tree.refuse(source.at(at), f"{name} has an old word: {instead}")
    return len(known)


PROCESSOR = re.compile(r"_(x86_64|aarch64|ucontext)$")


def names(tree):
    types, functions, headers, sources, guards = {}, {}, {}, {}, {}
    for path, source in {**tree.all, **tree.gate}.items():
        for name, static, at, _ in source.functions:
            if not static or path.startswith(("src/", GATE)):
                functions.setdefault(name, {})[path] = source.at(at)
    for path, source in tree.all.items():
        for name, what, body, at in source.types:
            types.setdefault(name, []).append((what, path if body else None, source.at(at)))
        if path.endswith(".c"):
            sources.setdefault(source.stem, []).append(path)
            continue
        # the inside of volt/channel.h: volt/detail/channel.h, and channel.h beside channel.c
        is_inside = f"include/volt/{source.stem}.h" in tree.all and path[:-1] + "c" in tree.all
        if "/detail/" not in path and not is_inside:
            headers.setdefault(source.stem, []).append(path)
        guard = guard_of(path)
        opens = re.match(r"\s*#ifndef (\w+)\n\s*#define (\w+)\n", source.code)
        if not opens or {opens[1], opens[2]} != {guard}:
            tree.refuse(path, f"its include guard is not {guard}")
        guards.setdefault(guard, []).append(path)
    for name, found in types.items():
        meanings, bodies = {what for what, *_ in found}, {body for _, body, _ in found} - {None}
        if len(meanings) > 1 or len(bodies) > 1:
            places = sorted({f"{where} ({what})" for what, _, where in found})
            tree.refuse(places[0], f"type {name} also at {', '.join(places[1:])}")
    for name, found in functions.items():
        # x.c and x.h may have it by turns, with #if; and so may the files of each processor
        if len({PROCESSOR.sub("", path[:-2]) for path in found}) > 1:
            places = list(found.values())
            tree.refuse(places[0], f"function {name}() also at {', '.join(places[1:])}")
    for what, table in (("header", headers), ("source", sources), ("guard", guards)):
        for name, found in table.items():
            if len(found) > 1:
                tree.refuse(found[0], f"{what} {name} also at {', '.join(found[1:])}")
    return {"types": len(types), "functions": len(functions), "headers": len(guards),
            "sources": len(sources), "files of variants": len(tree.variants), "words": old_words(tree)}


# ---- labels ----

LABEL = r"\b[a-z][a-z0-9_]*:(?![RI]\d)[A-Z]\d+"
ENTRY = re.compile(rf"({LABEL})\s*(<->|->|<-)\s*({LABEL}(?:\s*,\s*{LABEL})*)(.*?)"
                   rf"(?=[;.]?\s*{LABEL}\s*(?:<->|->|<-)|$)", re.S)
ORDERS = "relaxed|acquire|release|acq_rel|seq_cst"
ARROWS = {"acquire": {"<-"}, "release": {"->"}}  # the other orders: any
ANSWERS = {"->": {"<-", "<->"}, "<-": {"->", "<->"}, "<->": {"->", "<-", "<->"}}
RACE = re.compile(r"\b((?:[RI]\d+, )*[RI]\d+)  +\S|\b(?:Race|Invariant) ([RI]\d+)[:,]"
                  r"|^ {3,}([RI]\d\d) [A-Z]", re.M)  # as a head defines them
RACES = r"[RI]\d+(?:(?:, | and |\.\.| to )[RI]\d+)*"


def operations_of(source, pattern):
    """The operations of each statement: offset of the statement -> [(offset, order)], and what the
    comments on its lines, and alone on the lines above, say."""
    found = {}
    for m in pattern.finditer(source.code):
        before = max(source.code.rfind(c, 0, m.start()) for c in "{};") + 1
        start = before + len(source.code[before:]) - len(source.code[before:].lstrip())
        end = re.compile("[;{]|$").search(source.code, m.end()).start()
        first, last = source.line(start), source.line(end)
        said = ""
        for begin, close in reversed(source.comments):
            alone = not source.code[source.starts[source.line(begin) - 1]:close].strip()
            above = alone and source.line(close) == first - 1
            if above or first <= source.line(begin) <= last:
                said = source.prose[begin:close] + said
                first = source.line(begin) if above else first
        operations, _ = found.setdefault(start, ([], said))
        operations.append((m.start(), m[2]))
    return found


def areas_of(tree):
    """The area of each file, and the races and invariants that the heads of an area define."""
    area, races = {}, set()
    for path, source in tree.all.items():
        head = source.prose[:source.comments[0][1]] if source.comments else ""
        said = re.search(r"^\s*Labels: (\w+)", head, re.M)
        area[path] = said[1] if said else source.stem
        for m in RACE.finditer(head):
            for race in re.findall(r"[RI]\d+", m[0]):
                if (area[path], race) in races:
                    tree.refuse(source.at(m.start()), f"{race} is defined twice in {area[path]}")
                races.add((area[path], race))
    return area, races


TAKES_OVER = re.compile(r"\bvolt_(?:cas(?:_weak)?|exchange|fetch_(?:and|or))_relaxed\(")
WHY_RELAXED = re.compile(rf"\brelaxed, (?:no data|by {LABEL}(?:, {LABEL})*):(\W+[A-Za-z']+){{3}}")


def relaxed_of(tree, path, pattern):
    """Each relaxed operation that may take over what another thread has set says why it may."""
    source, count = tree.all[path], 0
    for operations, said in operations_of(source, pattern).values():
        takers = [at for at, _ in operations if TAKES_OVER.match(source.code, at)]
        count += len(takers)
        if takers and len(WHY_RELAXED.findall(said)) < len(takers):
            tree.refuse(source.at(takers[0]), "relaxed, and takes over what another thread may have set: "
                        "by which label, or no data, and why?")
    return count


def labels_of(tree, path, area, pattern):
    """The labels on the operations of a file: (label, place, arrow, partners)."""
    source = tree.all[path]
    for operations, said in operations_of(source, pattern).values():
        entries = [(m[1], m[2], re.findall(LABEL, m[3]), m[4]) for m in ENTRY.finditer(said)]
        for at, order in operations:
            if order != "relaxed" and not any(e[1] in ARROWS.get(order, e[1]) for e in entries):
                tree.refuse(source.at(at), f"no label that goes with its order ({order})")
        where = source.at(operations[0][0])
        for label, arrow, partners, reason in entries:
            if not any(arrow in ARROWS.get(order, arrow) for _, order in operations):
                tree.refuse(where, f"{label} {arrow}: no operation here has that order")
            if label.split(":")[0] != area:
                tree.refuse(where, f"{label}: labels begin with {area}: in this file")
            if not re.match(r":(\W+[A-Za-z']+){3}", reason) or "TODO" in reason:
                tree.refuse(where, f"{label} gives no reason")
            yield label, where, arrow, partners


def both_ends(tree, on):
    for label, uses in on.items():
        for where, arrow, partners in uses:
            for partner in partners:
                if partner not in on:
                    tree.refuse(where, f"{label} {arrow} {partner}, which is on no operation")
                elif not any(label in back and answer in ANSWERS[arrow]
                             for _, answer, back in on[partner]):
                    tree.refuse(where, f"{label} {arrow} {partner}, which does not name it back")


def references(tree, on, area, races):
    groups = {os.path.basename(path): group for path, group in area.items()}
    for path, source in tree.all.items():
        for m in re.finditer(LABEL, source.prose):
            if m[0] not in on:
                tree.refuse(source.at(m.start()), f"{m[0]} is on no operation")
        for m in re.finditer(rf"(?:\b([\w-]+\.[ch]),?\s+)?\b({RACES})\b", source.prose):
            for race in re.findall(r"[RI]\d+", m[2]):
                if (groups.get(m[1]) if m[1] else area[path], race) not in races:
                    tree.refuse(source.at(m.start()), f"{m[1] or area[path]} defines no {race}")


def labels(tree):
    atomic = {p: s for p, s in tree.all.items() if re.search(r"/atomic\w*\.h$", p)}
    defined = {m[1] for s in atomic.values() for m in
               re.finditer(rf"#define (volt_\w+?)_(?:{ORDERS})\(", s.text)}
    pattern = re.compile(rf"\b({'|'.join(sorted(defined))})_({ORDERS})\(")
    for source in atomic.values():
        for m in re.finditer(r"\(\(p\)[,)]", source.code):
            tree.refuse(source.at(m.start()), "an operation that does not go by VOLT_AT_()")
    area, races = areas_of(tree)
    on, orders, relaxed = {}, 0, 0
    for path, source in tree.all.items():
        if path not in atomic:
            for m in re.finditer(r"\bmemory_order_|\b__atomic_|\b__sync_", source.code):
                tree.refuse(source.at(m.start()), "an operation that does not go by atomic.h")
            for label, *use in labels_of(tree, path, area[path], pattern):
                on.setdefault(label, []).append(use)
            orders += sum(m[2] != "relaxed" for m in pattern.finditer(source.code))
            relaxed += relaxed_of(tree, path, pattern)
    both_ends(tree, on)
    references(tree, on, area, races)
    pairs = {(label, p) for label, uses in on.items() for _, _, partners in uses for p in partners}
    return {"ordering operations": orders, "relaxed takers": relaxed, "labels": len(on), "ends of pairs": len(pairs),
            "areas": len({label.split(":")[0] for label in on}), "races": len(races)}


# ---- words ----

def banned():
    for line in (Path(__file__).parent / "banned-words").read_text().splitlines():
        if line and not line.startswith("#"):
            words, instead = re.split(r"\s{2,}", line, maxsplit=1)
            words = words.replace(" ", r"\s+")
            yield re.compile(rf"(?:(?<![\w.>])|(?=,))(?:{words})(?![\w(])", re.I), instead


def words(tree):
    ends = (".c", ".h", ".cpp", ".hpp")
    programs = {**sources_of_programs(tree, *ends), **tree.sources("examples", ends=ends)}
    prose = {path: source.prose for path, source in {**tree.library, **tree.cpp, **programs}.items()}
    for p in tree.files("docs", "apps", "examples", "README.md", "CONTRIBUTING.md", "CHANGELOG.md",
                        ends=(".md",)):
        quoted = r"(?ms)^ *(```|~~~).*?^ *\1|\]\([^)\n]*\)"  # blocks of code, targets of links
        prose[str(p.relative_to(tree.root))] = re.sub(quoted, lambda m: blank(m[0]), p.read_text())
    rules, count = list(banned()), 0
    for path, text in prose.items():
        text = re.sub(r"`[^`]*`", lambda m: blank(m[0]), text)
        count += len(re.findall(r"[A-Za-z']+", text))
        for rule, instead in rules:
            for m in rule.finditer(text):
                if not m[0].isupper():  # TOLD is an identifier
                    where = f"{path}:{text.count(chr(10), 0, m.start()) + 1}"
                    tree.refuse(where, f"\"{' '.join(m[0].split())}\": {instead}")
    return {"files": len(prose), "words": count, "banned": len(rules)}


# ---- all ----

# ---- shape ----

def is_test(path):
    return path.startswith("tests/") or "/tests/" in path


def shape(tree):
    lines = {}
    for place in ("src", "include", "apps", "tools", "docs", "tests", "examples", "bench", "cmake"):
        for path in tree.files(place, ends=(".c", ".h", ".cpp", ".hpp", ".py", ".sh", ".mutants")):
            name = str(path.relative_to(tree.root))
            if "/__pycache__/" not in name:
                lines[name] = path.read_text().count("\n")
    sources = sorted(count for name, count in lines.items() if not is_test(name)
                     and name.split("/")[0] in ("src", "include", "apps", "tools", "docs")
                     and name.endswith((".c", ".h", ".cpp", ".hpp")))
    if not sources:
        return {"files": 0}
    tests = sum(count for name, count in lines.items() if is_test(name))
    few = sum(count < 120 for count in sources)
    return {"files of code": len(lines), "sources": len(sources), "lines of them": sum(sources),
            "in the median": sources[len(sources) // 2], "% have less than 120": round(100 * few / len(sources)),
            "in the longest": sources[-1], "lines of tests": tests,
            "lines of tests to one of source": round(tests / sum(sources), 2)}


CHECKS = {check.__name__: check for check in (rooms, names, labels, words, shape)}


def main(arguments):
    checks = arguments[:1] or CHECKS
    root = arguments[1] if len(arguments) > 1 else Path(__file__).parents[2]
    if not set(checks) <= set(CHECKS):
        print(__doc__, file=sys.stderr)
        return 2
    refused = 0
    for check in checks:
        tree = Tree(root)
        counts = CHECKS[check](tree)
        for what, count in counts.items():
            if count == 0 and check != "shape":
                tree.refuse(root, f"no {what} found")
        wrong = list(dict.fromkeys(tree.wrong))
        for line in wrong:
            print(line, file=sys.stderr)
        counted = ", ".join(f"{count} {what}" for what, count in counts.items())
        print(f"{check}: {counted}; {len(wrong)} not in order", flush=True)
        refused += len(wrong)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
