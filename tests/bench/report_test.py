"""report_test.py DIRECTORY: the report that page.py in DIRECTORY (bench/compare) writes, as a
browser sees it.

Prints a line per check. Exit code 0 if none failed, 77 if there is no browser or no gnuplot.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from report_results import HOSTILE, REASON, results

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER_SECONDS = 30
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--enable-logging=stderr",
)
VOID = {"meta", "br", "hr", "img", "input", "link"}

# Looks at the page in a frame as wide as a phone: what sticks out of it, and what plots look like.
PROBE = """<script>
const frame = document.createElement('iframe');
frame.width = 360; frame.height = 800;
frame.srcdoc = document.documentElement.outerHTML.replace(/<script>[^]*/, '');
frame.onload = () => {
  const page = frame.contentDocument, found = {width: page.documentElement.scrollWidth, svgs: {}};
  for (const figure of page.querySelectorAll('figure')) {
    const svg = figure.querySelector('.drawing svg'), box = svg.getBoundingClientRect();
    const out = [...svg.querySelectorAll('text')].filter(t => {
      const b = t.getBoundingClientRect();
      return b.left < box.left - 1 || b.right > box.right + 1 || b.top < box.top - 1 ||
             b.bottom > box.bottom + 1;
    });
    const bar = svg.querySelector('[fill="var(--volt)"],[stroke="var(--volt)"]');
    const style = bar && frame.contentWindow.getComputedStyle(bar);
    found.svgs[figure.id] = {width: box.width, height: box.height, out: out.map(t => t.textContent),
                             paint: bar ? style.fill + style.stroke : ''};
  }
  document.documentElement.dataset.found = JSON.stringify(found);
};
document.body.append(frame);
</script>"""

failures = 0


def check(name: str, holds: bool, seen: object = "") -> None:
    global failures
    print(f"ok: {name}" if holds else f"FAILED: {name}: {seen!r:.600}")
    failures += not holds


# ---- the document ----


class Node:
    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.tag, self.attributes = tag, attributes
        self.children: list[Node | str] = []

    def all(self, tag: str = "", **attributes: str) -> list["Node"]:
        """Those below with this tag and these attributes, in their order."""
        found = []
        for child in self.children:
            if isinstance(child, Node):
                if tag in ("", child.tag) and attributes.items() <= child.attributes.items():
                    found.append(child)
                found += child.all(tag, **attributes)
        return found

    def text(self) -> str:
        return "".join(c if isinstance(c, str) else c.text() for c in self.children)


class Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Node("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {key: value or "" for key, value in attrs})
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        while len(self.open) > 1 and self.open.pop().tag != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parsed(document: str) -> Node:
    parser = Parser()
    parser.feed(document)
    return parser.root


class Browser:
    def __init__(self, program: str, scratch: Path) -> None:
        self.program, self.scratch = program, scratch

    def dom(self, file: Path) -> tuple[Node, list[str]]:
        """The document, and what its scripts complain of."""
        profile = f"--user-data-dir={self.scratch / ('profile-' + file.stem)}"
        argv = [self.program, *OPTIONS, profile, "--dump-dom", file.as_uri()]
        ended = subprocess.run(argv, capture_output=True, text=True, timeout=BROWSER_SECONDS)
        if ended.returncode != 0 or "</html>" not in ended.stdout:
            raise RuntimeError(f"{argv}: {ended.returncode}: {ended.stderr[-500:]}")
        return parsed(ended.stdout), re.findall(r".*CONSOLE.*", ended.stderr)


# ---- the checks ----


def one(nodes: list[Node]) -> Node:
    return nodes[0] if len(nodes) == 1 else Node("nothing", {})


def lines_of(node: Node) -> list[Node]:
    return [tr for body in node.all("tbody") for tr in body.all("tr")]


def check_tables(dom: Node, given: dict[str, Any]) -> None:
    for section in given["sections"]:
        part = one(dom.all("section", id=f"section-{section['key']}"))
        check(f"section {section['key']} has its title", section["title"] in part.text())
        for row in section["rows"]:
            name = f"row-{section['key']}-{row['key']}"
            found = one(part.all("section", id=name))
            labels = [line.all("td")[0].text() for line in lines_of(found) if line.all("td")]
            expected = [arm["label"] for arm in row["arms"]]
            check(f"{name} has its lines", len(labels) == len(expected) and
                  all(a.startswith(b) for a, b in zip(labels, expected, strict=True)), labels)
            check(f"{name} has its title", one(found.all("h3")).text() == row["title"])
    for name, lines in (("demands", 3), ("programs", 2), ("instructions", 1 + 1),
                        ("bcs", 1 + 1 + len(given["bcs"]["results"]))):
        found = lines_of(one(dom.all("section", id=name)))
        check(f"{name} has its lines", len(found) == lines, len(found))


def check_words(dom: Node) -> None:
    alone = one(dom.all("section", id="row-alone-alone-mutex"))
    cells = [[td.text() for td in line.all("td")] for line in lines_of(alone)]
    check("three digits", cells[0][1:3] == ["11.0", "10.5 – 11.5"], cells[0])
    check("the hostile label is text", cells[5][0].startswith(HOSTILE), cells[5])
    check("nothing of it became an element", not [b for b in dom.all("b") if b.text() == "bold"])
    check("the skipped peer's reason is there", REASON in cells[6][1], cells[6])
    check("the skipped program's reason is there",
          REASON in one(dom.all("section", id="programs")).text())
    kinds = {span.text() for span in dom.all("span") if "badge" in span.attributes.get("class", "")}
    check("kinds are marked", kinds >= {"fair", "unfair", "spins", "limit", "variant"}, kinds)
    loses = [p.text() for p in alone.all("p", **{"class": "loses"})]
    check("where volt loses, it says so, and to whom", len(loses) == 1 and
          "ck fas (spins, 0.520), parking_lot (unfair, 0.920), none" in loses[0], loses)
    level = one(dom.all("section", id="row-threads-mutex-8"))
    check("where it does not, it does not", not level.all("p", **{"class": "loses"}))
    check("the line of the machine is there", results()["machine"] in dom.text())


def check_figures(dom: Node) -> None:
    figures = {f.attributes["id"]: f for f in dom.all("figure")}
    bars = {"latency-alone": 6, "latency-threads": 6, "latency-memory": 3, "latency-engines": 2,
            "fairness-waits": 3, "memory": 3}
    lines = {"growth-waiters": 3, "growth-tasks": 1, "throughput-2": 4, "throughput-8": 4,
             "fairness-2": 4, "fairness-8": 4}
    expected = {f"plot-{key}" for key in (*bars, *lines, "ratios")}
    check("every plot is there", set(figures) == expected, set(figures) ^ expected)
    for name, figure in figures.items():
        key = name.removeprefix("plot-")
        svg = (figure.all("svg") or [Node("", {})])[0]
        check(f"{name} has a caption and a label", bool(figure.all("figcaption")[0].text())
              and bool(figure.attributes.get("aria-label")))
        if key in bars:
            found = len(svg.all("polygon"))
            check(f"{name} has its bars", found == bars[key], found)
        paths = [p for p in svg.all("path") if p.attributes.get("d", "").count("L") > 0]
        check(f"{name} is drawn", len(paths) >= lines.get(key, 1), len(paths))
        if key in lines:
            legend = one(figure.all("p", **{"class": "legend"})).all("span")
            check(f"{name} has its legend", len(legend) == lines[key], len(legend))
    hints = [title.text() for title in figures["plot-latency-alone"].all("title")]
    check("a bar says what it is", "volt: 11.0 (10.5 – 11.5)" not in hints and
          any(h.startswith("volt: 21.0") for h in hints), hints)


def check_alone(dom: Node, source: str) -> None:
    """The file needs nothing and nobody, and holds together."""
    every = dom.all()
    check("nothing to run or to fetch", not [n.tag for n in every if n.tag in
          ("script", "link", "img", "iframe", "object", "embed", "image", "base", "form")])
    leads = ("src", "href", "xlink:href", "srcset", "action")
    links = [n.attributes[a] for n in every for a in leads if a in n.attributes]
    ids = [n.attributes["id"] for n in every if "id" in n.attributes]
    check("links lead nowhere else", bool(links) and all(link[:1] == "#" for link in links), links)
    check("and there is what they lead to", {link[1:] for link in links} <= set(ids),
          {link[1:] for link in links} - set(ids))
    twice = sorted({i for i in ids if ids.count(i) > 1})
    check("an id is there once", not twice, twice)
    check("no handlers", not [a for n in every for a in n.attributes if a.startswith("on")])
    check("no foreign address", not re.search(r"https?:|@import|url\(|javascript:", source))
    check("light and dark, paper and phones", all(word in source for word in (
          "prefers-color-scheme: dark", "@media print", "max-width: 40rem", "width=device-width")))


def check_looks(found: dict[str, Any]) -> None:
    check("nothing sticks out of a phone", found["width"] <= 360, found["width"])
    sizes = [(svg["width"], svg["height"]) for svg in found["svgs"].values()]
    check("plots have a size", all(w > 300 and h > 60 for w, h in sizes), sizes)
    out = {name: svg["out"] for name, svg in found["svgs"].items() if svg["out"]}
    check("no text sticks out of a plot", not out, out)
    paints = {name: svg["paint"] for name, svg in found["svgs"].items()}
    check("volt has its colour", all("rgb(52, 18, 196)" in p for p in paints.values()), paints)


def bare(page: Any, scratch: Path) -> Path:
    """Without what need not be there; and nothing at all must not be too little."""
    given = results() | dict.fromkeys(("bcs", "instructions")) | {"growth": []}
    given["sections"] = given["sections"][:1]
    given["sections"][0]["rows"][0]["arms"][1:] = []
    page.write(str(scratch / "bare.html"), given)
    nothing = {key: None for key in results()} | {"sections": []}
    page.write(str(scratch / "nothing.html"), nothing)
    check("a page of nothing is a page", "</html>" in (scratch / "nothing.html").read_text())
    return scratch / "bare.html"


def without_gnuplot(page: Any, scratch: Path) -> None:
    path = os.environ["PATH"]
    os.environ["PATH"] = str(scratch)
    page.write(str(scratch / "plotless.html"), results())
    os.environ["PATH"] = path
    text = (scratch / "plotless.html").read_text()
    check("without gnuplot there is a page, and why it has no plots", "there is no gnuplot" in text)


def check_numbers(stats: Any) -> None:
    given = {93.14: "93.1", 1234.5: "1,230", 99.96: "100", 0.01234: "0.0123", 0: "0", 2: "2.00",
             999.6: "1,000", 0.9996: "1.00", 123456789: "123,000,000", None: "–"}
    said = {number: stats.digits(number) for number in given}
    check("three digits of any number", said == given, said)


def main() -> int:
    if len(sys.argv) != 2:
        print(f"usage: {sys.argv[0]} DIRECTORY", file=sys.stderr)
        return 2
    program = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if program is None or shutil.which("gnuplot") is None:
        missing = "gnuplot (gnuplot-nox)" if program else "Chromium (./x test --page installs it)"
        print(f"skipped: there is no {missing}")
        return 77
    sys.path.insert(0, sys.argv[1])
    import page
    import stats

    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        report, probe = scratch / "report.html", scratch / "probe.html"
        page.write(str(report), results())
        source = report.read_text()
        probe.write_text(source.replace("</body>", PROBE + "</body>"))
        with ThreadPoolExecutor(2) as at_once:
            files = (report, probe, bare(page, scratch))
            doms = list(at_once.map(Browser(program, scratch).dom, files))
        (dom, complaints), (probed, _), (small, small_complaints) = doms
        check("no errors", complaints + small_complaints == [], complaints + small_complaints)
        check_tables(dom, results())
        check_words(dom)
        check_figures(dom)
        check_alone(dom, source)
        check_looks(json.loads(one(probed.all("html")).attributes.get("data-found", "{}")))
        check("with little in it, it has its table", len(lines_of(
              one(small.all("section", id="row-alone-alone-mutex")))) == 1)
        check("and nothing that is not there", not small.all("section", id="bcs"))
        without_gnuplot(page, scratch)
    check_numbers(stats)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
