"""The HTML reference, as a browser sees it: opens it from the disk, types into the search, looks at
what is found; and every link inside leads somewhere.

Prints a line per check. Exit code 0 if none failed, 77 if there is no Chromium.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from html import unescape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "docs/reference/reference.py"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND",
)
QUERIES = {  # what is typed, and where the first that is found leads to
    "sem_acquire": "volt_semaphore.html#volt_sem_acquire",
    "volt_chan_recv_until()": "volt_channel.html#volt_chan_recv_until",
    "VOLT_ETIMEDOUT": "volt_base.html#VOLT_ETIMEDOUT",
    "volt_future": "volt_future.html#volt_future",
    "event loop epoll": "volt_loop.html",
    "no such thing anywhere": None,
}
NEWCOMERS = {  # words of the text, and names of others: what is among the first that are found
    "install": "install.html",
    "pkg-config": "install.html",
    "find_package": "install.html",
    "std::lock_guard": "guide-8-cpp.html",
    "stack overflow": "guide-7-fibers.html",
    "deadlock": "volt-run.html",
    "pthread_mutex_lock": "from-pthread.html",
    "VOLT_DEBUG": "builds.html",
    "http": "apps-httpd.html",
    "echo server": "examples-26_fiber_echo.c.html",
}

# Types each query as a person does; then lays the page out in a frame as wide as a phone.
PROBE = """<script>
{
  const box = document.getElementById('search'), found = {};
  for (const query of QUERIES) {
    box.focus();
    box.select();
    document.execCommand('insertText', false, query);
    const links = [...document.querySelectorAll('#found a')];
    found[query] = [document.getElementById('found').hidden, box.value,
                    links.slice(0, 5).map(a => a.getAttribute('href'))];
  }
  const frame = document.createElement('iframe');
  frame.width = 360; frame.height = 800;
  frame.srcdoc = document.documentElement.outerHTML.replace(/<script[^]*/, '');
  frame.onload = () => {
    const page = frame.contentDocument.documentElement;
    const style = frame.contentWindow.getComputedStyle(frame.contentDocument.body);
    const styled = style.display;
    const asked = performance.getEntriesByType('resource').map(e => e.name); // none for files
    document.documentElement.dataset.seen = JSON.stringify(
      {found, asked, styled, width: page.scrollWidth});
  };
  document.body.append(frame);
}
</script>"""

failures = 0


def check(name: str, holds: bool, seen: object = "") -> None:
    global failures
    print(f"ok: {name}" if holds else f"FAILED: {name}: {seen!s:.1500}")
    failures += not holds


def check_links(site: Path) -> None:
    """What leads nowhere; and nothing is fetched from elsewhere."""
    pages = {path.name: path.read_text() for path in site.glob("*.html")}
    ids = {name: set(re.findall(r'\bid="([^"]+)"', text)) for name, text in pages.items()}
    lost, foreign, count = [], [], 0
    for name, text in pages.items():
        foreign += re.findall(r'(?:src|<link[^>]* href)="(?:\w+:|//)[^"]*"', text)
        for url in map(unescape, re.findall(r'\b(?:href|src)="([^"]+)"', text)):
            file, _, anchor = url.partition("#")
            count += 1
            if not re.match(r"https?:|mailto:", url) and (
                    not (site / (file or name)).is_file()
                    or anchor and anchor not in ids[file or name]):
                lost.append(f"{name}: {url}")
    check(f"{count} links on {len(pages)} pages lead somewhere", count > 2000 and not lost, lost)
    front = pages["index.html"]
    check("the site begins with README, which leads to all its pages",
          "<h1" in front and 'href="install.html"' in front and 'href="examples.html"' in front
          and 'href="examples-13_io.c.html"' in front and 'href="apps-httpd.html"' in front)
    check("nothing is fetched from elsewhere", not foreign, foreign)
    twice = [name for name, text in pages.items()
             if len(found := re.findall(r'\bid="([^"]+)"', text)) != len(set(found))]
    check("an id is on a page once", not twice, twice)
    index = json.loads((site / "index.js").read_text().removeprefix("const INDEX = ").rstrip(";\n"))
    check(f"{len(index)} entries of the search lead somewhere", len(index) > 500 and all(
        (at := url.partition("#"))[0] in pages and (not at[2] or at[2] in ids[at[0]])
        for _, _, url, *_ in index))
    exported = {name for path in (ROOT / "src").rglob("*.map")
                for name in re.findall(r"\b(volt_\w*[^\W_]);", path.read_text())}
    check("every exported function is in the search",
          exported and exported <= {name for name, kind, *_ in index if kind == "function"})


def check_refusals(scratch: Path) -> None:
    """Markdown that leads nowhere."""
    root = scratch / "bad"
    (root / "docs").mkdir(parents=True)
    for name in ("include", "src", "CHANGELOG.md"):
        (root / name).symlink_to(ROOT / name)
    (root / "docs/bad.md").write_text(
        "# Bad\n\n[a](gone.md), [b](#gone), ![c](gone.svg)\n`volt_gone()`\n"
        "[d](../include/volt/mutex.h), `volt_mutex_unlock()`\n")
    argv = [sys.executable, "-B", TOOL, "--root", root, "--html", scratch / "bad-html"]
    ended = subprocess.run(argv, capture_output=True, text=True)
    said = re.findall(r"^docs/.*", ended.stderr, flags=re.M)
    check("Markdown that leads nowhere is refused", ended.returncode == 1 and sorted(said) == [
        "docs/bad.md: there is no bad.html#gone", "docs/bad.md: there is no gone.md",
        "docs/bad.md: there is no gone.svg",
        "docs/bad.md:4: volt_gone() is nowhere declared"], said)


def browse(program: str, page: Path, scratch: Path) -> tuple[str, list[str]]:
    """The document after its scripts have run, and what they complain of."""
    profile = f"--user-data-dir={scratch / 'profile'}"
    argv = [program, *OPTIONS, profile, "--dump-dom", page.as_uri()]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    if ended.returncode != 0 or "</html>" not in ended.stdout:
        raise RuntimeError(f"{argv}: {ended.returncode}: {ended.stderr[-500:]}")
    return ended.stdout, re.findall(r".*CONSOLE.*", ended.stderr)


def seen_on(program: str, page: Path, scratch: Path) -> tuple[dict, list[str]]:
    probe = page.with_name(f"probe-{page.name}")
    script = PROBE.replace("QUERIES", json.dumps([*QUERIES, *NEWCOMERS]))
    probe.write_text(page.read_text().replace("</body>", script + "</body>"))
    dom, complaints = browse(program, probe, scratch)
    probe.unlink()
    found = re.search(r'data-seen="([^"]*)"', dom)
    return json.loads(unescape(found[1])) if found else {}, complaints


def check_search(program: str, site: Path, scratch: Path) -> None:
    for name in ("index.html", "volt_task.html"):
        seen, complaints = seen_on(program, site / name, scratch)
        check(f"{name} opens without a complaint", seen and complaints == [], complaints)
        for query, wanted in QUERIES.items():
            hidden, typed, links = seen.get("found", {}).get(query, (True, "", []))
            check(f"{name}: '{query}' is typed and leads to {wanted}",
                  not hidden and typed == query and links[:1] == [wanted] * bool(wanted),
                  (hidden, typed, links))
        for query, wanted in NEWCOMERS.items():
            _, _, links = seen.get("found", {}).get(query, (True, "", []))
            check(f"{name}: '{query}' leads to {wanted}, among others",
                  wanted in [link.partition("#")[0] for link in links], links)
        check(f"{name} asks the network for nothing", seen.get("asked") == [], seen.get("asked"))
        check(f"{name} is styled, and nothing sticks out of a phone",
              seen.get("styled") == "block" and seen.get("width", 999) <= 360, seen)
    (site / "bad.html").write_text((site / "index.html").read_text().replace(
        "<main>", '<main style="width: 50rem"><img src="http://127.0.0.1:1/">'
        "<script>bad();</script>"))
    seen, complaints = seen_on(program, site / "bad.html", scratch)
    check("a script that fails, a request and a wide page would be seen",
          complaints and seen["asked"] and seen["width"] > 360, (seen, complaints))


def main() -> int:
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        site = scratch / "html"
        ended = subprocess.run([sys.executable, "-B", TOOL, "--lenient", "--html", site],
                               capture_output=True, text=True)
        docs = re.findall(r"^docs.*", ended.stderr, flags=re.M)
        check("the pages are written; no Markdown leads nowhere",
              ended.returncode == 0 and not docs, ended.stderr)
        if failures == 0:
            check_links(site)
            check_refusals(scratch)
            program = next((path for name in BROWSERS if (path := shutil.which(name))), None)
            if program:
                check_search(program, site, scratch)
            elif failures == 0:
                print("skipped: there is no Chromium to open the pages with (./x test --page installs it)")
                return 77
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
