#!/usr/bin/env python3
"""What the tests of ./x test take: the seconds that each computes, and that it lasts.

  times run BUILD [CTEST OPTION]...   run the tests that ctest lists with these options, one for each core, and write
                                      bench/results/tests.md
  times check                         for tests: each of the slowest on the page has its reason in tests/slow.table

The seconds of computing are those of a test's processes that have ended by the kernel's count, in the program and in the
kernel: they say what a test costs ./x test, also on a machine that does something else. Exit code 0: no test failed;
1: some did, or check has found something; 2: usage."""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "bench/results/tests.md"
REASONS = ROOT / "tests/slow.table"
SLOWEST = 20
ROW = re.compile(r"^\| `([^`]+)` \| ([0-9.]+) \| ([0-9.]+) \| (.*) \|$", re.M)


class Test:
    def __init__(self, described):
        properties = {entry["name"]: entry["value"] for entry in described.get("properties", [])}
        self.name, self.command = described["name"], described["command"]
        self.labels = properties.get("LABELS", [])
        self.directory = properties.get("WORKING_DIRECTORY", ".")
        self.environment = dict(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", []))
        self.depends, self.ended = properties.get("DEPENDS", []), threading.Event()
        self.locks = sorted(properties.get("RESOURCE_LOCK", []))
        self.skipped = properties.get("SKIP_RETURN_CODE")
        self.at_most = float(properties.get("TIMEOUT", 300))  # as in CMakePresets.json
        self.alone = bool(properties.get("RUN_SERIAL"))
        self.stage = 0 if "FIXTURES_SETUP" in properties else 2 if "FIXTURES_CLEANUP" in properties else 1
        self.code, self.computes, self.lasts = None, 0.0, 0.0

    def run(self):
        """In a process of its own, because what the children of a process have computed is one number."""
        begin = time.monotonic()
        process = subprocess.Popen(self.command, cwd=self.directory, env={**os.environ, **self.environment},
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        net = threading.Timer(self.at_most, process.kill)
        net.start()
        _, status, usage = os.wait4(process.pid, 0)
        net.cancel()
        process.returncode = self.code = os.waitstatus_to_exitcode(status)
        self.computes, self.lasts = usage.ru_utime + usage.ru_stime, time.monotonic() - begin

    def failed(self):
        return self.code not in (0, self.skipped)


def listed(build, options):
    text = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1", *options], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    return [Test(described) for described in json.loads(text)["tests"] if "command" in described]


def run_all(tests):
    """Set-ups first, then what may run beside others, then what may not, then what cleans up."""
    locks = defaultdict(threading.Lock)

    by_name = {test.name: test for test in tests}

    def locked(test):
        for name in test.depends:  # it has begun: it is before this one in the list
            if name in by_name:
                by_name[name].ended.wait()
        for name in test.locks:
            locks[name].acquire()
        try:
            test.run()
        finally:
            test.ended.set()
            for name in test.locks:
                locks[name].release()

    def depth(test):
        return max((1 + depth(by_name[name]) for name in test.depends if name in by_name), default=0)

    for key in ((0, False), (1, False), (1, True), (2, False)):
        chosen = sorted((test for test in tests if (test.stage, test.alone) == key), key=depth)
        with concurrent.futures.ThreadPoolExecutor(1 if key[1] else os.cpu_count()) as executor:
            list(executor.map(locked, chosen))


def reasons():
    found = {}
    for line in REASONS.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, reason = line.split(None, 1)
            found[name] = reason
    return found


def page_of(tests, why, machine):
    tests = [test for test in tests if test.code != test.skipped]
    kinds = defaultdict(lambda: [0, 0.0, 0.0])
    for test in tests:
        kind = kinds[test.labels[0] if test.labels else "other"]
        kind[0], kind[1], kind[2] = kind[0] + 1, kind[1] + test.computes, kind[2] + test.lasts
    slowest = sorted(tests, key=lambda test: -test.computes)[:SLOWEST]
    computes = sum(test.computes for test in tests)
    lines = ["# What the tests take", "",
             f"Written by `./x test --times`: {machine}. One test for each core at a time.", "",
             f"{len(tests)} tests compute for {computes:.0f} s: half of that is the least that they can last on two cores. `./x test` runs",
             "more of them at once than there are cores, so those that wait cost nothing beside it.", "",
             "| label | tests | they compute, s | they last, s |", "|---|--:|--:|--:|"]
    lines += [f"| {name} | {count} | {cpu:.1f} | {wall:.1f} |"
              for name, (count, cpu, wall) in sorted(kinds.items(), key=lambda item: -item[1][1])]
    lines += ["", f"The {SLOWEST} that compute most:", "", "| test | computes, s | lasts, s | why |", "|---|--:|--:|---|"]
    lines += [f"| `{test.name}` | {test.computes:.1f} | {test.lasts:.1f} | {why.get(test.name, '')} |" for test in slowest]
    return "\n".join(lines) + "\n"


def wrong_of(text, why):
    rows = ROW.findall(text)
    wrong = [] if len(rows) == SLOWEST else [f"the page names {len(rows)} slow tests, not {SLOWEST}"]
    return wrong + [f"{name} has no reason: say in tests/slow.table what its time is for, or make it faster"
                    for name, _, _, reason in rows if not reason or name not in why]


def command_run(build, *options):
    sys.path.insert(0, str(ROOT / "bench/compare"))
    from run import machine
    tests = listed(build, options)
    if not tests:
        print("times: there are no such tests", file=sys.stderr)
        return 1
    run_all(tests)
    why = reasons()
    PAGE.write_text(page_of(tests, why, machine()))
    subprocess.run([sys.executable, "-B", ROOT / "tools/results", "stamp", PAGE], check=True)
    failed = [test.name for test in tests if test.failed()]
    print(f"{len(tests)} tests, {len(failed)} failed; they are in {PAGE.relative_to(ROOT)}")
    for line in [f"  failed: {name}" for name in failed] + wrong_of(PAGE.read_text(), why):
        print(line)
    return 1 if failed else 0


def command_check():
    text, why = PAGE.read_text(), reasons()
    wrong = wrong_of(text, why)
    name = ROW.search(text).group(1) if ROW.search(text) else ""
    for broken, known in ((text, {k: v for k, v in why.items() if k != name}), (ROW.sub("", text, count=1), why)):
        if len(wrong_of(broken, known)) <= len(wrong):  # that the check sees each kind
            wrong.append("the check does not see a test without a reason, or one that is not named")
    print("\n".join(wrong) if wrong else f"{SLOWEST} slow tests have a reason")
    return 1 if wrong else 0


def main(arguments):
    if arguments[:1] == ["run"] and len(arguments) >= 2:
        return command_run(*arguments[1:])
    if arguments == ["check"]:
        return command_check()
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
