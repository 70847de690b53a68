#!/usr/bin/env python3
"""./x noise stops what tests run, continues it, and names the tests that fail."""
import importlib.util
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
NOISE = Path(__file__).resolve().parents[1]
# Ends when it has been stopped: the state that a child of its own reads of it in /proc is "T".
STOPPED = """
import os, re
parent, (here, there) = os.getpid(), os.pipe()
if os.fork() == 0:
    while re.search(r"State:\\s+T", open(f"/proc/{parent}/status").read()) is None:
        pass
    os.write(there, b"x")
    os._exit(0)
os.read(here, 1)
"""


class Noise(unittest.TestCase):
    def run_noise(self, tests, *options):
        with tempfile.TemporaryDirectory() as directory:
            lines = [f'add_test([=[{name}]=] {" ".join(f"[=[{word}]=]" for word in words)})\n'
                     for name, words in tests.items()]
            Path(directory, "CTestTestfile.cmake").write_text("".join(lines))
            return subprocess.run([sys.executable, "-B", NOISE, *options, directory], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)

    def test_it_names_the_tests_that_fail(self):
        ran = self.run_noise({"good": ["/bin/true"], "bad": ["/bin/false"]}, "--rounds", "2")
        self.assertEqual(ran.returncode, 1, ran.stdout)
        self.assertIn("round 2: 2 tests, 1 failed", ran.stdout)
        self.assertIn("2 rounds, 2 failures of 1 tests", ran.stdout)
        self.assertEqual(re.findall(r"^  (\S+)$", ran.stdout, re.M), ["bad", "bad"])

    def test_it_stops_processes_and_continues_them(self):
        ran = self.run_noise({"stopped": [sys.executable, "-c", STOPPED]})
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertGreaterEqual(int(re.search(r"(\d+) times a process was stopped", ran.stdout).group(1)), 1)

    def test_names_with_spaces_are_named(self):
        ran = self.run_noise({"a bad one": ["/bin/false"]})
        self.assertEqual(ran.returncode, 1, ran.stdout)
        self.assertIn("  a bad one\n", ran.stdout)

    def test_a_compiler_is_never_stopped_and_what_begins_like_one_is(self):
        spec = importlib.util.spec_from_file_location("noise_main", NOISE / "__main__.py")
        noise = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(noise)
        self.assertEqual([bool(noise.NEVER_STOPPED.fullmatch(name)) for name in (
            "as", "cc1plus", "clang-14", "clang++", "async_test", "ldap", "ctest_of_mine")], [True] * 4 + [False] * 3)

    def test_no_round_is_refused(self):
        self.assertEqual(self.run_noise({"good": ["/bin/true"]}, "--rounds", "0").returncode, 2)

    def test_no_test_is_an_error(self):
        ran = self.run_noise({})
        self.assertNotEqual(ran.returncode, 0, ran.stdout)
        self.assertIn("no tests", ran.stdout)

    def test_a_seed_is_said_and_can_be_given(self):
        ran = self.run_noise({"good": ["/bin/true"]}, "--seed", "7")
        self.assertIn("seed 7\n", ran.stdout)


if __name__ == "__main__":
    unittest.main()
