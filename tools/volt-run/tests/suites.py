"""Programs of other people's test suites: what each says with glibc's locks, watched, and with volt's. Imported by
served_ltp.py and served_nptl.py."""

import concurrent.futures
import os
import signal
import subprocess
import tempfile
from pathlib import Path

TRIES = 4  # a machine that is busy, or stood still: some of the programs have times


class Suite:
    """ways: {"glibc": None, others: options of volt-run}. words: {exit code: word}; None: it was there at the limit.
    expected: {program: ({way: what it says there; "served": in both that have volt's locks}, why)}.
    files: that a program finds where it is run."""

    def __init__(self, volt_run, ways, words, expected, limit, env=None, files=()):
        self.volt_run, self.ways, self.words, self.expected, self.limit = volt_run, ways, words, expected, limit
        self.files = files
        self.env = {**os.environ, **(env or {})}
        self.counts, self.programs, self.failures = {way: {} for way in ways}, 0, 0

    def run(self, command, options):
        """Returns what it says, as a word, and its output."""
        with tempfile.TemporaryDirectory() as directory:
            report = Path(directory) / "volt-run.report"
            for name in self.files:
                (Path(directory) / name).touch()
            before = [] if options is None else [self.volt_run, "--output", str(report), *options]
            process = subprocess.Popen([*before, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, cwd=directory, env=self.env, start_new_session=True,
                                       text=True, errors="replace")
            try:
                said, code = process.communicate(timeout=self.limit)[0], process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                said, code = process.communicate()[0], None
            reports = report.read_text(errors="replace") if report.exists() else ""
        if "Timed out: killed the child process" in said:
            code = None
        word = self.words.get(code, f"ends with {code}")
        return (word + ", a deadlock is reported", reports) if "volt-run: deadlock" in reports else (word, said)

    def wanted(self, name, way, plain):
        """As it says above, or as with glibc."""
        expected = self.expected.get(name, ({}, ""))[0]
        return expected.get(way, expected.get("served", plain) if way != "watched" else plain)

    def compare(self, name, command, alone=None):
        """alone: what run() has said of it with glibc. Returns {way: what it says}, and words if they differ."""
        for _ in range(TRIES):
            found = {way: options is None and alone or self.run(command, options) for way, options in self.ways.items()}
            alone = None
            plain = found["glibc"][0]
            wrong = [way for way in self.ways if way != "glibc" and found[way][0] != self.wanted(name, way, plain)]
            if not wrong:
                break
        said = {way: word for way, (word, _) in found.items()}
        different = {way: said[way] for way in self.ways if said[way] != plain}
        if wrong:
            return said, f"WRONG: glibc {plain}, {different}: { {way: found[way][1][-600:] for way in wrong} }"
        return said, f"glibc {plain}, {different}: {self.expected[name][1]}" if different else ""

    def count(self, name, said, words):
        self.programs += bool(said)
        self.failures += words.startswith("WRONG")
        for way, what in said.items():
            self.counts[way][what] = self.counts[way].get(what, 0) + 1
        if words:
            print(f"{name}: {words}", flush=True)

    def end(self):
        """Print the table. Returns the exit code: 1 also if there were none."""
        print(f"{self.programs} programs")
        for way, count in self.counts.items():
            print(f"{way}: " + ", ".join(f"{n} {what}" for what, n in sorted(count.items())))
        return 1 if self.failures or not self.programs else 0


def at_once(function, of, threads=2):
    """Results of function for each of them, in their order."""
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        yield from pool.map(function, of)
