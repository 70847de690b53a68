#!/usr/bin/env python3
"""page_test.py VOLT_RUN PLANTED: the report as a page: it is well-formed, its figures are those of the JSON of the same
run, nothing of the program's becomes a tag, and nothing is fetched."""

import html.parser
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET

RUN, PLANTED = sys.argv[1:3]
SEED = int(os.environ.get("VOLT_TEST_SEED") or time.time()) % 1000000


def require(condition, what):
    if not condition:
        raise AssertionError(what)


def equal(found, expected, what):
    require(found == expected, f"{what}: {found!r}, not {expected!r}")


class Tags(html.parser.HTMLParser):
    """As a browser reads it: each tag is closed, and is one of those that the page is made of."""

    KNOWN = set("html head meta title style body div header h1 h2 h3 p dl dt dd data section svg defs marker path line rect "
                "circle text table thead tbody tr th td details summary ol ul li span b code br".split())
    ALONE = {"meta", "br"}

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.feed(text)
        self.close()
        equal(self.open, [], "open tags")

    def handle_starttag(self, tag, attributes):
        require(tag in self.KNOWN, f"tag {tag}")
        for name, value in attributes:
            require(not name.startswith("on"), name)
            require(name not in ("src", "href", "action"), f"{name}={value}")
        if tag not in self.ALONE:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.ALONE:
            self.open.pop()

    def handle_endtag(self, tag):
        equal(self.open.pop() if self.open else None, tag, "closes")


def run(*command, options=()):
    """(the last line of JSON, the page as XML, its text)"""
    with tempfile.TemporaryDirectory() as directory:
        paths = {name: f"{directory}/{name}" for name in ("json", "html")}
        done = subprocess.run([RUN, "--json", paths["json"], "--html", paths["html"], "--top", "1000", *options, *command],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)
        equal(sorted(os.listdir(directory)), ["html", "json"], f"files ({done.stderr})")
        with open(paths["html"], "rb") as file:
            text = file.read()
        with open(paths["json"]) as lines:
            report = json.loads(lines.readlines()[-1])
    page = text.decode()  # so it is UTF-8
    Tags(page)
    require(not re.search(r"https?:|//[a-z]|url\((?!#)|@import|<script", page), "it fetches nothing, and runs nothing")
    return report, ET.fromstring(page), page


def figures(element):
    return {d.get("data-name"): int(d.get("value")) for d in element.iter("data") if d.get("data-name")}


def named(page, name):
    return [e for e in page.iter() if e.get("data-name") == name]


def histogram(card, name):
    for drawing in card.iter("svg"):
        if drawing.get("data-name") == name:
            return [[int(n) for n in d.text.split()] for d in drawing.iter("data")]
    return []


def compare(report, page, what):
    """Each figure of the page with that of the JSON."""
    top = figures(next(e for e in page.iter("dl")))
    for name, value in top.items():
        equal(value, report[name], f"{what}: {name}")
    equal(len(top), 7, f"{what}: figures")
    locks = {lock["address"]: lock for lock in report["locks"]}
    cards = named(page, "lock")
    wanted = [k for k in report["locks"] if k["kind"] != "condition variable" and (k["waits"] or k["faults"])]
    equal([c.get("data-address") for c in cards], [k["address"] for k in wanted], f"{what}: locks in their order")
    for card in cards:
        lock, found = locks[card.get("data-address")], figures(card)
        for name in ("acquires", "waits", "waited_ns"):
            equal(found[name], lock[name], f"{what}: {name}")
        for name in ("wait_ns", "hold_ns"):
            for part in ("p50", "p99", "longest"):
                if f"{name}.{part}" in found:
                    equal(found[f"{name}.{part}"], lock[name][part], f"{what}: {name}.{part}")
            equal(histogram(card, name), lock[name]["histogram"], f"{what}: histogram of {name}")
        equal(sum(n for _, n in histogram(card, "wait_ns")), lock["waits"], f"{what}: all waits are in the histogram")
        for name in ("longest_wait", "its_hold"):
            if name in found:
                equal(found[name], lock[name]["ns"], f"{what}: {name}")
    for row in named(page, "condition"):
        for name, value in figures(row).items():
            lock = locks[row.get("data-address")]
            equal(value, lock["wait_ns"]["longest"] if "." in name else lock[name], f"{what}: {name}")
    threads = {t["thread"]["tid"]: t for t in report["threads"]}
    rows = named(page, "thread")
    equal({int(r.get("data-tid")) for r in rows}, set(threads) - {0}, f"{what}: threads")
    for row in rows:
        found, thread = figures(row), threads[int(row.get("data-tid"))]
        equal((found["waits"], found["waited_ns"]), (thread["waits"], thread["waited_ns"]), f"{what}: thread")
    equal([figures(row)["edge_ns"] for row in named(page, "edge")], [e["ns"] for e in report["graph"]][:200], f"{what}: edges")
    over_time(report, page, what)


def over_time(report, page, what):
    drawing = named(page, "over_time")[0]
    equal(int(drawing.get("data-slot_ns")), report["over_time"]["slot_ns"], f"{what}: width of a slot")
    found = [[int(n) for n in re.findall(r"\d+", title.text)] for r in drawing.iter("rect") for title in r.iter("title")]
    for slot, waits, ns in found:
        equal((waits, ns), (report["over_time"]["waits"][slot], report["over_time"]["waited_ns"][slot]), f"{what}: slot")
    equal(sum(f[1] for f in found), report["waits"], f"{what}: waits of all slots")
    equal(sum(f[2] for f in found), report["waited_ns"], f"{what}: time of all slots")


def figures_are_those_of_the_json():
    """each figure of the page is that of the JSON: locks, histograms, conditions, threads, edges, waits over time"""
    for what in (("hold",), ("conditions",), ("wrong",), ("crowd", str(SEED)), ("strict",), ("fork",)):
        report, page, _ = run(PLANTED, *what)
        equal(report["why"], "end", what)
        compare(report, page, what[0])


def circle_is_drawn():
    """a deadlock: its threads are one circle of edges, each once, and each has its card"""
    for what in (("circle", str(SEED)), ("circle", str(SEED + 1)), ("itself",), ("readers",), ("condition",), ("priority",)):
        report, page, text = run(PLANTED, *what, options=("--on-deadlock", "abort"))
        equal(report["why"], "deadlock", what)
        compare(report, page, what[0])
        require("Deadlock: " in text, what)
        members = [c["thread"]["tid"] for c in report["circle"]]
        edges = {(e["waiter"]["tid"], e["holder"]["tid"]) for e in report["graph"] if e["in_circle"]}
        require(set(zip(members, members[1:] + members[:1])) <= edges, f"{what}: {members}, {edges}")
        equal(len(named(page, "circle")), len(members), f"{what}: cards")
        drawn = [p for p in page.iter("path") if "circle" in p.get("class", "").split()]
        equal(len(drawn), len([e for e in report["graph"] if e["in_circle"]]), f"{what}: edges that are drawn")


def names_are_text():
    """threads with names that are tags, quotes, and bytes that are no text"""
    report, page, text = run(PLANTED, "names", "0")
    compare(report, page, "names")
    shown = ["".join(e.itertext()) for e in page.iter() if e.get("class") == "thread"]
    require("<script>x()</s" in shown, shown)
    require("&lt;script&gt;x()&lt;/s" in text, "it is escaped")
    for seed in range(SEED + 1, SEED + 12):
        report, page, _ = run(PLANTED, "names", str(seed))
        compare(report, page, f"names {seed}")
    return f"names of random bytes, from seed {SEED + 1} on"


def the_last_one_stands():
    """each report is written in place of the one before, also if that is no file of volt-run's"""
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/page"
        with open(path, "w") as file:
            file.write("before")
        done = subprocess.run([RUN, "--html", path, "--json", f"{directory}/json", PLANTED, "reports"], timeout=60,
                              capture_output=True)
        equal((done.returncode, done.stderr), (0, b""), "five reports")
        with open(path) as file:
            text = file.read()
        require(text.startswith("<!DOCTYPE html>") and text.count("<!DOCTYPE") == 1 and text.endswith("</html>\n"), text[:80])
        equal(sorted(os.listdir(directory)), ["json", "page"], "files")
        equal(os.stat(path).st_mode & 0o777, os.stat(f"{directory}/json").st_mode & 0o777, "its rights are those of any file")


def main():
    failures = 0
    for check in (figures_are_those_of_the_json, circle_is_drawn, names_are_text, the_last_one_stands):
        try:
            said = check()
            print(f"ok: {check.__doc__}{f': {said}' if said else ''}", flush=True)
        except Exception as e:
            failures += 1
            print(f"FAILED: {check.__doc__}: {type(e).__name__}: {e}", flush=True)
    sys.exit(1 if failures else 0)


main()
