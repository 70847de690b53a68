#!/usr/bin/env python3
"""query_test.py PROGRAM: volt-query against a PostgreSQL of its own: 500 fibers (10,000 in the long
form), 32 threads.

Every statement is an INSERT of its own, so the table says how many have run. All that wait ask again
every 50 ms, so the time grows with the square of their number: in a build that is 20 times slower, 2000
take minutes. Prints a line per check.
Exit code 0 if none failed, 77 without PostgreSQL."""

import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "../../.."))
sys.path.append(os.path.join(ROOT, "apps/voltgate/tests/whole"))

from voltgate_kit import LIMIT, Postgres, equal, many, postgres, program, require, run_tests

SAID = re.compile(r"(\d+) (fibers|threads): (\d+) served, asked (\d+) times, at most (\d+) at once, "
                  r"[0-9.]+ s\n")
server = None


def the_server():
    global server
    if not server:
        server = Postgres()
        server.run("CREATE TABLE calls (at timestamptz DEFAULT clock_timestamp())")
    return server


def run(*arguments, exit_code=0):
    pg = the_server()
    done = subprocess.run(
        [program(), *arguments, f"host=127.0.0.1 port={pg.port} user=postgres dbname=postgres"],
        capture_output=True, text=True, timeout=LIMIT)
    equal(done.returncode, exit_code, f"exit code: {done.stderr[-400:]}")
    said = SAID.fullmatch(done.stdout)
    require(said, f"it says {done.stdout!r}")
    return [int(said[i]) for i in (1, 3, 4, 5)] + [done.stderr]


def inserts(pg):
    return int(pg.run("SELECT count(*) FROM calls")[0][0][0])


def all_served(kind, count):
    pg = the_server()
    pg.run("TRUNCATE calls")
    callers, served, asked, peak, _ = run(f"--{kind}", str(count), "--sql", "INSERT INTO calls "
                                          "DEFAULT VALUES")
    equal((callers, served), (count, count), "callers and those served")
    require(asked >= count, f"asked {asked} times")
    require(1 <= peak <= 8, f"{peak} at once")
    equal(inserts(pg), count, "rows: each statement has run once")
    return f"asked {asked} times, at most {peak} at once"


def test_fibers():
    """fibers: each is served once"""
    return all_served("fibers", many(500, 10000))


def test_threads():
    """32 threads: each is served once"""
    return all_served("threads", 32)


def test_slow():
    """statements of 20 ms: at most 8 at once, and callers that have waited for 50 ms ask again"""
    callers, served, asked, peak, _ = run("--fibers", "64", "--sql", "SELECT pg_sleep(0.02)")
    equal((callers, served, peak), (64, 64, 8), "callers, served, at once")
    require(asked > callers, "no caller asked again")


def test_refused():
    """a statement that the server refuses: every caller gets an error, and the program says why"""
    callers, served, asked, _, errors = run("--fibers", "20", "--sql", "SELECT nonsense",
                                            exit_code=1)
    equal((callers, served), (20, 0), "callers and those served")
    require(asked >= 20 and "nonsense" in errors, errors)


def test_function():
    """the function is README's, byte for byte"""
    with open(os.path.join(ROOT, "README.md")) as f:
        shown = re.search(r"```c\n(.*?\nint query\(.*?)```", f.read(), re.S)[1]
    with open(os.path.join(ROOT, "apps", "query", "query.c")) as f:
        built = f.read()
    function = shown[shown.index("int query("):]
    require(function in built, "README's query() is not that of apps/query/query.c")
    equal(len(re.findall(r"\bquery\(", built)), 1, "functions of that name in query.c")


run_tests([postgres], test_fibers, test_threads, test_slow, test_refused, test_function)
