#!/usr/bin/env python3
"""The ledger of proofs and what it is told by: lines that are wrong are refused, digests change with what is
compiled and with nothing else. With a program of models as argument: what it shows, and each way to say more."""
import contextlib
import dataclasses
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import ledger  # noqa: E402
import page  # noqa: E402
import sources  # noqa: E402
import work  # noqa: E402

PROGRAM = None
EXHAUSTED = "model a 0123456789abcdef exhausted 3 700 1 01234567"
TRUNCATED = "model b 0123456789abcdef truncated 1/3 900 60 01234567+"
REJECTED = "mutant c-d 0123456789abcdef rejected - 5 30 01234567"
PASSED = "check asan 0123456789abcdef passed - - 0 01234567"


class Lines(unittest.TestCase):
    def test_lines_come_back_as_they_were(self):
        for line in (EXHAUSTED, TRUNCATED, REJECTED, PASSED):
            self.assertEqual(str(ledger.parse(line)), line)

    def test_what_is_no_line_is_refused(self):
        for old, new in (("model", "modul"), ("0123456789abcdef", "0123"), ("exhausted", "survived"),
                         ("700", "many"), ("exhausted", "passed"), (" 01234567", ""), (" 1 ", " -1 ")):
            with self.assertRaises(ledger.Wrong, msg=f"{old}: {new}"):
                ledger.parse(EXHAUSTED.replace(old, new))

    def test_a_file_is_read_as_it_was_written(self):
        with tempfile.TemporaryDirectory() as directory:
            book = ledger.Ledger(Path(directory) / "p.txt")
            for line in (TRUNCATED, REJECTED, EXHAUSTED):
                self.assertTrue(book.record(ledger.parse(line)))
            book.write()
            self.assertEqual(book.path.read_text().splitlines(), [EXHAUSTED, TRUNCATED, REJECTED])
            again = ledger.Ledger(book.path)
            self.assertEqual(again.entries, book.entries)
            self.assertIsNotNone(again.of("model", "a", "0123456789abcdef"))
            self.assertIsNone(again.of("model", "a", "f" * 16))
            self.assertTrue(again.forget("model", "a"))
            self.assertIsNone(again.of("model", "a", "0123456789abcdef"))

    def test_a_file_that_is_not_in_order_is_refused(self):
        for text in (f"{TRUNCATED}\n{EXHAUSTED}\n", f"{EXHAUSTED}\n{EXHAUSTED}\n", f"{EXHAUSTED}\n\n"):
            with tempfile.TemporaryDirectory() as directory, self.assertRaises(ledger.Wrong, msg=text):
                (Path(directory) / "p.txt").write_text(text)
                ledger.Ledger(Path(directory) / "p.txt")

    def test_a_longer_search_replaces_a_shorter_one_and_never_the_other_way_round(self):
        short, other = ledger.parse(TRUNCATED), "f" * 16
        longer = dataclasses.replace(short, seconds=120)
        done = dataclasses.replace(short, verdict="exhausted", search="3", seconds=1)
        for new, old, better in ((longer, short, True), (short, longer, False), (done, longer, True),
                                 (longer, done, False), (short, short, False), (short, None, True),
                                 (dataclasses.replace(short, hash=other), done, True)):
            self.assertEqual(ledger.is_better(new, old), better, (new, old))


class Plans(unittest.TestCase):
    def test_a_mutant_is_run_unless_a_plan_says_that_it_is_not_its_turn(self):
        with tempfile.TemporaryDirectory() as build:
            command = [sys.executable, "-B", Path(__file__).resolve().parents[1] / "__main__.py", "mutant", build,
                       "latch-nothing"]
            ran = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual((ran.returncode, ran.stderr), (2, "mutant latch-nothing: there is no such mutant\n"))
            plan = Path(build) / "tests/model/plan.json"
            plan.parent.mkdir(parents=True)
            plan.write_text(json.dumps({"programs": {}, "mutants": {"latch-nothing": False}}))
            ran = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            os.utime(plan, (0, 0))  # older than the sources
            ran = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(ran.returncode, 2)


class Contradictions(unittest.TestCase):
    done, part = ledger.parse(EXHAUSTED), ledger.parse(TRUNCATED)

    def check(self, entry, changes, wrong):
        seen = dataclasses.replace(entry, **changes)
        self.assertEqual(ledger.contradiction(entry, seen) is not None, wrong, (entry, seen))

    def test_what_is_exhausted_has_one_number_of_interleavings(self):
        self.check(self.done, {}, False)
        self.check(self.done, {"interleavings": 701}, True)
        self.check(self.done, {"search": "full"}, True)
        self.check(self.done, {"verdict": "rejected"}, True)
        self.check(self.done, {"interleavings": 701, "hash": "f" * 16}, False)  # of other sources

    def test_what_is_exhausted_has_no_more_interleavings(self):
        truncated = {"verdict": "truncated", "search": "2/3"}
        self.check(self.done, {**truncated, "interleavings": 699}, False)
        self.check(self.done, {**truncated, "interleavings": 701}, True)
        self.check(self.done, {**truncated, "interleavings": 701, "search": "1/2"}, False)

    def test_what_was_truncated_has_more_interleavings(self):
        done = {"verdict": "exhausted", "search": "3"}
        self.check(self.part, {"interleavings": 5}, False)
        self.check(self.part, {**done, "interleavings": 901}, False)
        self.check(self.part, {**done, "interleavings": 899}, True)


class Digests(unittest.TestCase):
    def of(self, text, flags="-DA=1"):
        with tempfile.NamedTemporaryFile("w", suffix=".c", dir=sources.ROOT / "tools/prove/tests") as file:
            file.write(text)
            file.flush()
            return sources.preprocess((f"c++ {flags}", file.name))

    def test_comments_and_lines_do_not_count(self):
        plain = self.of("int a(void);\nint b;\n")
        self.assertEqual(plain, self.of("/* what\n a is */\nint a(void); // a\n\n  int b;"))
        self.assertEqual(self.of("int a = __LINE__;"), self.of("\n\nint a = __LINE__;"))
        self.assertEqual(plain, self.of("int a(void);\nint b;\n#define UNUSED 1\n"))
        self.assertEqual(plain, self.of("#include <stdlib.h>\nint a(void);\nint b;\n"))
        self.assertEqual(plain, self.of("int a(void);\nint b;\n", "-DA=1 -Wall -g -I/nowhere"))
        self.assertEqual(self.of("int a;", "-O3 -DA=1 -O1"), self.of("int a;", "-DA=1 -O1"))

    def test_what_is_compiled_counts(self):
        digests = [self.of(*case) for case in (
            ("int a;",), ("int b;",), ("int a = A;",), ("int a;", "-DA=2"), ("int a = A;", "-DA=2"),
            ("int a;", "-DA=1 -O2"), ("#if A\nint b; int c;\n#endif",))]
        self.assertEqual(len(set(digests)), len(digests))

    def test_what_does_not_compile_is_said(self):
        with self.assertRaises(sources.CannotSay):
            self.of('#include "nowhere.h"')

    def test_a_model_reaches_what_it_calls(self):
        texts = {"m": "int f(void); int m(void) { return f(); }",
                 "f": "extern int (*table[])(void); int f(void) { return table[0](); }",
                 "t": "int g(void); int (*table[])(void) = {g};",
                 "g": "int g(void) { return 1; }",
                 "other": "int m(void); int other(void) { return m(); }",
                 "weak": "__attribute__((weak)) int g(void) { return 2; }"}
        with tempfile.TemporaryDirectory() as directory:
            objects = {}
            for name, text in texts.items():
                objects[name] = f"{directory}/{name}.o"
                subprocess.run(["cc", "-x", "c", "-", "-c", "-o", objects[name]], input=text, text=True, check=True)
            known = sources.symbols(list(objects.values()))
            names = lambda found: {Path(path).stem for path in found}  # noqa: E731
            self.assertEqual(names(sources.reached(known, objects.values(), [objects["m"]])), {"m", "f", "t", "g"})
            self.assertEqual(names(sources.reached(known, objects.values(), [objects["weak"]])), {"weak", "g"})
            without = [path for name, path in objects.items() if name != "g"]
            self.assertEqual(names(sources.reached(known, without, [objects["m"]])), {"m", "f", "t", "weak"})


class Checks(unittest.TestCase):
    def test_each_check_has_a_name_of_its_own_and_a_command_of_x(self):
        found = work.checks()
        self.assertGreater(len(found), 10)
        self.assertEqual(len({check.name for check in found}), len(found))
        listed = subprocess.run(["./x", "help"], cwd=sources.ROOT, stdout=subprocess.PIPE, text=True).stdout
        for check in found:
            command = check.command.split("./x ")[1].split()[0]
            self.assertRegex(listed, rf"(?m)^ +{command}\b", check.name)
            self.assertNotIn("AMOUNT", check.command)


    def test_tests_are_settled_by_a_verdict_on_these_sources_if_it_is_not_their_turn(self):
        def check(name, command):
            return work.Check(name, 1, command, 0, "0123456789abcdef")

        every = [check("asan", "./x asan"), check("gcc", "./x test -j4"),
                 check("installs", "A=1 ./x test -R '^install[.]'")]
        with tempfile.TemporaryDirectory() as directory:
            book = ledger.Ledger(Path(directory) / "checks.txt")
            known = {"checks": book}
            self.assertEqual(work.settled(every, known, 0), [])
            for name in ("asan", "gcc", "installs"):
                book.record(dataclasses.replace(ledger.parse(PASSED), name=name))
            days = [day for day in range(10) if work.settled(every, known, day)]
            self.assertEqual(len(days), 8)
            self.assertEqual(work.settled(every, known, days[0]), [("installs", "^install[.]")])
            changed = [dataclasses.replace(each, hash="fedcba9876543210") for each in every]
            self.assertEqual(work.settled(changed, known, days[0]), [])


class Page(unittest.TestCase):
    def setUp(self):
        self.ledgers = {"p": ledger.Ledger("/nowhere")}
        for line in (EXHAUSTED, TRUNCATED, REJECTED, PASSED):
            self.ledgers["p"].record(ledger.parse(line))
        model, part, mutant, check = map(ledger.parse, (EXHAUSTED, TRUNCATED, REJECTED, PASSED))
        self.table = page.table([model, part, None], [mutant, None], [("asan", check), ("tsan", None)])

    def wrong(self, table):
        return page.says_more(f"a\n{page.FIRST}\n{table}\n{page.LAST}\nb\n", self.ledgers)

    def test_a_page_may_say_what_the_ledger_does(self):
        self.assertEqual(self.wrong(self.table), [])
        self.assertEqual(self.wrong(self.table.replace("| models exhausted | 1 |", "| models exhausted | 0 |")), [])

    def test_a_page_that_says_more_is_refused(self):
        for old, new in (("models exhausted | 1", "models exhausted | 2"), ("60 s or longer | 1", "60 s or longer | 2"),
                         ("mutants rejected | 1", "mutants rejected | 1,052"), ("models exhausted", "models"),
                         ("`tsan` | not on these sources", "`tsan` | passed (of 01234567)"),
                         ("(of 01234567)", "(of 89abcdef)"), ("published forms rejected | 0", "published forms rejected | 1")):
            self.assertIn(old, self.table)
            self.assertNotEqual(self.wrong(self.table.replace(old, new)), [], old)
        self.assertNotEqual(page.says_more("no table", self.ledgers), [])


class Runs(unittest.TestCase):
    """What becomes of a verdict, with an item that says what it is told to."""

    class Item:
        program, kind, name, hash = "p", "model", "a", "0123456789abcdef"

        def __init__(self, says):
            self.says = says

        def run(self, _seconds, _now):
            if isinstance(self.says, Exception):
                raise self.says
            return ledger.parse(self.says)

    class Standing:
        so = True

        def is_so(self):
            return self.so

    def setUp(self):
        spec = importlib.util.spec_from_file_location("prove_main", Path(work.__file__).with_name("__main__.py"))
        prove = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(prove)
        self.run_of = prove.Run.__new__(prove.Run)
        self.run_of.__dict__.update(
            end=time.monotonic() + 1000, known={"p": ledger.Ledger("/nowhere")}, now="0" * 8, lock=threading.Lock(),
            failures=[], written=time.monotonic() + 1000, has_changed=False, standing=self.Standing())

    def one(self, says):
        with contextlib.redirect_stdout(io.StringIO()):
            self.run_of.one(self.Item(says), 1)
        return self.run_of.known["p"].entries.get(("model", "a"))

    def test_a_verdict_is_kept(self):
        self.assertEqual(str(self.one(EXHAUSTED)), EXHAUSTED)
        self.assertEqual(self.run_of.failures, [])

    def test_a_failure_is_none_and_takes_the_verdict_away(self):
        self.one(EXHAUSTED)
        self.assertIsNone(self.one(work.Failed("not so")))
        self.assertEqual(len(self.run_of.failures), 1)

    def test_sources_that_change_meanwhile_leave_no_verdict(self):
        self.run_of.standing.so = False
        self.assertIsNone(self.one(EXHAUSTED))
        self.run_of.standing.so = True
        self.assertIsNone(self.one(EXHAUSTED), "nothing is run any more")
        self.assertTrue(self.run_of.has_changed)

    def test_a_line_that_turns_out_to_be_wrong_fails_the_run(self):
        self.one(EXHAUSTED)
        self.one(EXHAUSTED.replace("700", "701"))
        self.assertEqual(len(self.run_of.failures), 1)

    def test_it_ends_when_no_longer_search_fits_into_its_time(self):
        self.run_of.models = [self.Item(EXHAUSTED)]
        self.one(EXHAUSTED.replace(" exhausted 3 ", " truncated 2/3 "))
        for left, searched in ((page.LONG_S / 8, False), (page.LONG_S / 2, True)):
            self.run_of.end = time.monotonic() + left
            with contextlib.redirect_stdout(io.StringIO()):
                self.run_of.deepen(1)
            self.assertEqual(self.run_of.known["p"].entries["model", "a"].verdict == "exhausted", searched)

    def test_skipped_tests_are_counted(self):
        self.assertEqual(work.skipped_of("1/2 Test #1: a ....***Skipped 0.1 sec\n2/2 Test #2: b ... Passed"), 1)
        entry = dataclasses.replace(ledger.parse(PASSED), interleavings=1)
        self.assertEqual(page.said_of(entry), "passed, 1 tests skipped (of 01234567)")


class Files(unittest.TestCase):
    """Of a tree in a directory of its own."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root, roots = Path(directory.name), (work.ROOT, page.PAGE)
        self.addCleanup(lambda: work.__dict__.update(ROOT=roots[0]))
        self.addCleanup(lambda: page.__dict__.update(PAGE=roots[1]))
        work.ROOT, page.PAGE = self.root, self.root / "docs/testing.md"
        for name in ("src/a.c", "docs/b.md", "docs/testing.md", "CHANGELOG.md"):
            self.write(name, f"int a;\n{page.FIRST}\n{page.LAST}\n")

    def write(self, name, text):
        (self.root / name).parent.mkdir(exist_ok=True)
        (self.root / name).write_text(text)

    def digest(self):
        return work.digest_of_files(work.files_of_checks())

    def test_what_a_check_reads_counts(self):
        before = self.digest()
        for name in ("src/a.c", "docs/b.md", "src/new.c", "docs/testing.md"):
            self.write(name, f"int changed;\n{page.FIRST}\n{page.LAST}\n")
            self.assertNotEqual(before, self.digest(), name)
            before = self.digest()

    def test_what_prove_writes_and_comments_do_not_count(self):
        before = self.digest()
        self.write("docs/testing.md", f"int a;\n{page.FIRST}\na table\n{page.LAST}\n")
        self.write("tests/proof.txt", "")
        (self.root / "tests/proof.txt").unlink()
        self.write("src/a.c", f"int a; /* it */\n{page.FIRST}\n{page.LAST}\n")
        self.write("CHANGELOG.md", "more")
        self.assertEqual(before, self.digest())

    def test_a_change_is_noticed_while_something_runs(self):
        for name in ("src/a.c", "src/new.c"):
            standing = work.Standing()
            self.assertTrue(standing.is_so())
            self.write(name, "int changed;")
            self.assertFalse(standing.is_so(), name)


class OfAProgram(unittest.TestCase):
    """Each way to say more in the ledger than a search shows is found by a search."""

    def setUp(self):
        if not PROGRAM:
            self.skipTest("no program of models was named")
        names = subprocess.run([PROGRAM, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        self.seen = {name: ledger.Entry("model", name, "0" * 16, *what, 1.0, "0" * 8)
                     for name, what in work.search(PROGRAM, 1, names).items()}

    def test_a_wrong_line_is_found(self):
        done = [entry for entry in self.seen.values() if entry.verdict == "exhausted"]
        part = [entry for entry in self.seen.values() if entry.verdict == "truncated"]
        self.assertTrue(done)
        for seen in done:
            self.assertIsNone(ledger.contradiction(seen, seen))
            for wrong in ({"interleavings": seen.interleavings - 1}, {"interleavings": seen.interleavings + 1},
                          {"search": "9"}, {"verdict": "rejected"},
                          {"verdict": "truncated", "search": f"0/{seen.search}",
                           "interleavings": seen.interleavings + 1}):
                self.assertIsNotNone(ledger.contradiction(dataclasses.replace(seen, **wrong), seen), (seen, wrong))
        for seen in part:
            wrong = {"verdict": "exhausted", "search": seen.search.split("/")[-1], "interleavings": 1}
            self.assertIsNotNone(ledger.contradiction(dataclasses.replace(seen, **wrong), seen), seen)

    def test_the_same_search_shows_the_same_again(self):
        names = [name for name, entry in self.seen.items() if entry.verdict == "exhausted"]
        again = work.search(PROGRAM, 10, names)
        for name in names:
            entry = self.seen[name]
            self.assertEqual(again[name], (entry.verdict, entry.search, entry.interleavings), name)


if __name__ == "__main__":
    if len(sys.argv) > 1 and os.access(sys.argv[1], os.X_OK):
        PROGRAM = sys.argv.pop(1)
    unittest.main()
