"""The live page of voltgate in a browser without a window: with answers that are made up, so that
every case is there, and with a gate under load. --shots DIRECTORY keeps pictures.

Exit code 77 if there is no Chromium."""

import base64
import contextlib
import hashlib
import http.server
import json
import math
import os
import re
import sys
import threading
import time
from pathlib import Path

import browser
from voltgate_kit import (Gate, Upstream, at_end, connect, equal, gate_is_there, receive_all, require,
                          run_tests, wait_until)

PAGE = Path(__file__).resolve().parents[2] / "admin/page.html"
SHOTS = Path(sys.argv.pop(sys.argv.index("--shots") + 1)) if "--shots" in sys.argv else None
HOSTILE = '<img src=x onerror="document.title=\'broken\'">\u202e"\\'
REASONS = ("queue-full", "queue-timeout", "clients", "shed", "breaker", "connect", "draining", "protocol",
           "login-timeout", "idle-in-transaction", "idle", "max-age", "server-timeout", "impossible", "never",
           "busy", "who")
LIVE = "document.getElementById('live').className === 'live is-live'"


def chromium():
    """Chromium (./x test --page installs it)"""
    return browser.find() is not None


# ---- a voltgate that is made up ----

def times(p50, count=1000):
    return {"count": count, "sum": p50 * count, "p50": p50, "p90": p50 * 1.8, "p99": p50 * 3.1,
            "p999": p50 * 5, "max": p50 * 6}


def made_gate(name="main", limit=16, held=16, excess=0, queued=40, state="up", tenants=3, refused=0):
    return {
        "name": name, "protocol": "postgres", "listen": ["127.0.0.1:6432"], "to": "127.0.0.1:5432",
        "limit": limit, "held": held, "excess": excess,
        "queue": {"length": queued, "bound": 1000, "oldest_s": queued * 0.002}, "clients": 500,
        "servers": 500, "state": state,
        "reason": "connect to 127.0.0.1:5432: Connection refused" if state == "breaker" else "",
        "reason_s": 32 if state in ("breaker", "silent") else 0,
        "totals": {"admitted": 1000, "left": 3, "refused": {reason: refused for reason in REASONS}},
        "wait_s": times(0.02), "hold_s": times(0.004),
        "last": {"seconds": 10, "admitted_per_s": 1234.5, "refused_per_s": 0, "left_per_s": 0,
                 "bytes_up_per_s": 1000, "bytes_down_per_s": 2e6, "wait_s": times(0.02),
                 "hold_s": times(0.004)},
        "tenants": [{"name": HOSTILE if i == 0 else f"tenant-{i}", "limit": i, "weight": 1, "held": i,
                     "queued": i, "admitted": 10 * i, "refused": 0, "wait_s": times(0.01),
                     "hold_s": times(0.004)} for i in range(tenants)],
        "tenants_more": 0}


def made_lease(mode="leased", leased=21, in_force=None, hosts=3, before=0, owed=0, wrong=""):
    return {"name": "shop-db", "mode": mode, "limit": 64, "leased": leased,
            "in_force": leased if in_force is None else in_force, "hosts": hosts,
            "hosts_before": before, "queued": before > 0, "wrong": wrong, "away": "keep", "used": 16,
            "owed": owed, "lost": 0, "era": 1, "epoch": 300647711213, "quantum_s": 0.05, "leases": 40,
            "returns": 19, "revoked": 12, "lost_ever": 0}


def made_cluster(state="connected", away_s=0.0):
    return {"state": state, "servers": "zk1.example:2181,zk2.example:2181,zk3.example:2181",
            "session": "0x1000a53e40b0002", "valid_for_s": 0 if away_s else 4.2, "away_s": away_s,
            "writes": 120, "heartbeats": 80, "reads": 300, "events": 44, "reconnects": 1, "expired": 0}


class Stub:
    """Serves the page and answers that a test may change. posts: what was asked to be changed."""

    def __init__(self, gates, is_broken=False):
        self.gates, self.is_broken, self.can_change, self.posts, self.asked = gates, False, True, [], 0
        self.cluster = None
        self.began = time.monotonic()
        stub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def give(self, code, kind, body, policy="default-src 'none'"):
                self.send_response(code)
                for field, value in (("Content-Type", kind), ("Content-Length", str(len(body))),
                                     ("Cache-Control", "no-store"), ("Content-Security-Policy", policy)):
                    self.send_header(field, value)
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                if self.path == "/":
                    page = PAGE.read_bytes()
                    self.give(200, "text/html; charset=utf-8", page, policy_of(page))
                    return
                stub.asked += 1
                if stub.is_broken:
                    self.close_connection = True
                    return
                self.give(200, "application/json", json.dumps(stub.answer(self.path)).encode())

            def do_PUT(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                token = self.headers.get("Authorization")
                stub.posts.append((self.path, body, token))
                if token != "Bearer secret":
                    self.give(401, "application/json", b'{"ok":false,"error":"a change needs the token"}')
                    return
                gate = stub.gates[0]
                gate["excess"] = max(0, gate["held"] - int(body))
                gate["limit"] = int(body)
                self.give(200, "application/json", json.dumps(
                    {"gate": gate["name"], "limit": gate["limit"], "excess": gate["excess"]}).encode())

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @staticmethod
    def limit_at(ago):
        """The limit has changed twice."""
        return 16 if ago < 60 else 24 if ago < 65 else 8

    def answer(self, path):
        now = 1000 + time.monotonic() - self.began
        if path.startswith("/status"):
            process = {"cluster": self.cluster} if self.cluster else {}
            return {**process, "version": "1.0", "uptime_s": 4321.5, "pid": 1, "workers": 2, "io": "epoll",
                    "state": "running", "can_change": self.can_change, "gates": [
                        g if path.endswith(f"?tenants={g['name']}") else
                        {k: v for k, v in g.items() if k not in ("tenants", "tenants_more")}
                        for g in self.gates]}
        name = re.search(r"gate=([^&]*)", path)[1]
        if path.startswith("/holders"):
            held = next(g for g in self.gates if g["name"] == name)["held"]
            states = ("idle in transaction", "active", "connected", "connecting")
            return {"gate": name, "held": held, "limit": 16, "now_s": now, "holders": [
                {"position": i + 1, "client": f"127.0.0.1:{50000 + i}", "tenant": "app",
                 "user": HOSTILE if i == 0 else "ann", "database": "shop", "held_s": 71.5 / (i + 1),
                 "state": states[i % 4], "state_s": None if i % 4 > 1 else 70 / (i + 1),
                 "query_s": None if i % 4 > 1 else 71 / (i + 1), "up": 1234 * i, "down": 10 ** i}
                for i in range(min(held, int(re.search(r"limit=(\d+)", path)[1])))]}
        gate = next(g for g in self.gates if g["name"] == name)
        if path.startswith("/queue"):
            count = min(gate["queue"]["length"], int(re.search(r"limit=(\d+)", path)[1]))
            longest = gate["queue"]["oldest_s"]
            return {"gate": name, "length": gate["queue"]["length"], "bound": 1000, "now_s": now,
                    "waiting": [{"position": i + 1, "ticket": i, "client": f"127.0.0.1:{40000 + i}",
                                 "tenant": HOSTILE if i == 0 else "app",
                                 "age_s": longest * (1 - i / max(count, 1)) + .001,
                                 "deadline_s": None if i % 2 else max(0, .1 - longest * (1 - i / count))}
                                for i in range(count)]}
        since = float(re.search(r"since=([\d.]+)", path)[1])
        columns = ["at_s", "queued", "held", "limit", "clients", "admitted", "refused", "left",
                   "bytes_up", "bytes_down", "wait_p50_s", "wait_p99_s", "hold_p50_s", "hold_p99_s"]
        rows = [[at, 40 + 20 * math.sin(at / 20), 16, self.limit_at(now - at), 500, 1200 + 90 * math.sin(at / 7), at % 3, 1,
                 1, 2, .0002 + .0001 * math.sin(at / 20), .06 + .02 * math.sin(at / 9), .004, .012]
                for at in range(int(now) - 299, int(now)) if at > since and at % 100 > 4]
        return {"gate": name, "now_s": now, "columns": columns, "seconds": rows}


def policy_of(page):
    def digest(tag):
        inside = re.search(rb"<%s>(.*?)</%s>" % (tag, tag), page, re.S)[1]
        return base64.b64encode(hashlib.sha256(inside).digest()).decode()
    return (f"default-src 'none'; script-src 'sha256-{digest(b'script')}'; "
            f"style-src 'sha256-{digest(b'style')}'; connect-src 'self'; img-src data:; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")


# ---- looking ----

the_browser = []


@contextlib.contextmanager
def browsing():
    """The one browser of all tests. What a test has opened is closed when it ends."""
    if not the_browser:
        the_browser.append(at_end.enter_context(browser.Browser()))
    chrome = the_browser[0]
    try:
        yield chrome
    finally:
        chrome.close_pages()


def opened(chrome, url, **how):
    page = chrome.open(url, **how)
    require(page.wait(LIVE), f"the page is live: {page.complaints}")
    return page


def text(page, selector):
    return page.value(f"document.querySelector({json.dumps(selector)}).textContent")


def shot(page, name):
    if SHOTS:
        SHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(SHOTS / f"{name}.png")


def sound(page, what, allowed=()):
    """Nothing complains, nothing sticks out, every id is there once, nothing is asked elsewhere."""
    complaints = [c for c in page.complaints if not any(a in c for a in allowed)]
    equal(complaints, [], f"{what}: complaints")
    width = page.value("[document.documentElement.scrollWidth, innerWidth]")
    require(width[0] <= width[1], f"{what}: it is wider than the window: {width}")
    out = page.value("""[...document.querySelectorAll('main *')].filter(e => {
        if (!e.offsetParent || e.closest('.scroll') || e.closest('td') || e.closest('.slots')) return false;
        const b = e.getBoundingClientRect(); return b.right > innerWidth + 1 || b.left < -1;
      }).map(e => e.tagName + '#' + e.id + '.' + e.className)""")
    equal(out, [], f"{what}: elements that stick out")
    origin = page.value("location.origin")
    equal([a for a in page.asked if not a.split()[1].startswith((origin + "/", "data:", "about:"))], [],
          f"{what}: asked elsewhere")


CONTRAST = """(() => {
  const channel = v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = c => .2126 * channel(c[0]) + .7152 * channel(c[1]) + .0722 * channel(c[2]);
  const parse = s => s.match(/[\\d.]+/g).map(Number);
  const found = [];
  for (const e of document.querySelectorAll('h1,h2,h3,p,dt,dd,small,td,th,span,label,button,input,li')) {
    if (!e.offsetParent || ![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
    let ground = null;
    for (let p = e; p && !ground; p = p.parentElement) {
      const c = parse(getComputedStyle(p).backgroundColor);
      if (c.length < 4 || c[3] > .99) ground = c;
    }
    const a = light(parse(getComputedStyle(e).color)), b = light(ground);
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) found.push(`${e.tagName}.${e.className} ${e.textContent.trim().slice(0, 20)} ${ratio.toFixed(2)}`);
  }
  return found;
})()"""


def looks():
    """light and dark, wide and on a phone: sound, readable, with an image in each canvas"""
    stub = Stub([made_gate(), made_gate("legacy", state="breaker", held=0, queued=0, tenants=0),
                 made_gate("hung", state="silent", held=16),
                 made_gate("old", state="draining", limit=8, held=12, excess=4, refused=7)])
    with browsing() as chrome:
        for dark in (False, True):
            for width in (1280, 360):
                for gate in ("main", "legacy", "hung", "old"):
                    name = f"{gate}-{'dark' if dark else 'light'}-{width}"
                    page = opened(chrome, f"{stub.url}#gate={gate}", width=width, dark=dark)
                    equal(text(page, "#name"), gate, "the gate of the address")
                    equal(page.value("[...document.querySelectorAll('#gates button')].map(e => e.textContent)"),
                          ["legacy", "hung", "main", "old"], "away first, then busy ones")
                    if gate == "hung":
                        require("has not answered for 32.0 s" in text(page, "#banner"), text(page, "#banner"))
                    shot(page, name)
                    sound(page, name)
                    equal(page.value(CONTRAST), [], f"{name}: contrast below 4.5")
                    drawn = page.value("""[...document.querySelectorAll('canvas')].map(c => {
                        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
                        const seen = new Set();
                        for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
                        return [c.id, c.getAttribute('aria-label').length > 10, seen.size > 3]; })""")
                    require(all(l and s for _, l, s in drawn), f"{name}: {drawn}")
                    page.close()


def words():
    """what is shown is what was answered; names of others stay text"""
    stub = Stub([made_gate(refused=2)])
    with browsing() as chrome:
        page = opened(chrome, stub.url)
        equal(text(page, "#f-waiting"), "40", "waiting")
        equal(text(page, "#f-oldest"), "80.0 ms", "the oldest")
        equal(text(page, "#f-held"), "16 of 16", "held")
        equal(text(page, "#f-rate"), "1,235 /s", "rate")
        equal(text(page, "#n-rate"), "2.0 MB/s relayed", "bytes")
        equal(text(page, "#f-wait"), "62.0 ms", "wait")
        equal(text(page, "#where"), "postgres, 127.0.0.1:6432 → 127.0.0.1:5432", "where")
        equal(page.value("document.querySelectorAll('#slots i.held').length"), 16, "slots")
        equal(page.value("document.querySelectorAll('#slots i').length"), 16, "slots in all")
        equal(text(page, "#tenants tr td"), HOSTILE, "a hostile name is text")
        equal(page.value("document.querySelectorAll('img').length"), 0, "and no element")
        equal(page.value("document.querySelectorAll('#reasons tr').length"), len(REASONS) + 1, "reasons")
        require("queue full" in text(page, "#reasons"), "in words")
        equal(page.value("""[...document.querySelectorAll('#refused-card th')].map(e => e.textContent.replace(/\\d+ s/, 'N s'))"""),
              ["Reason", "Since the start", "Last N s"], "the columns say of what")
        require("p99 of 10 s" in page.value("document.getElementById('f-wait').previousElementSibling.textContent"), "a window")
        require(text(page, "#r-wait").endswith(" in the last second"), f"a window: {text(page, '#r-wait')}")
        label = page.value("document.getElementById('p-wait').getAttribute('aria-label')")
        require(re.search(r"; limit 8 → 24 6\d s ago; limit 24 → 16 [56]\d s ago$", label), f"changes are marked: {label}")
        equal(page.value("powers(.0001, .08)"), [.0001, .001, .01, .1], "an axis by powers of ten")
        equal(page.value("document.querySelectorAll('#holders tr').length"), 10, "holders")
        equal(text(page, "#holders-count"), "10 of 16", "how many there are")
        equal(page.value("[...document.querySelectorAll('#holders tr:first-child td')].map(e => e.textContent)"),
              ["127.0.0.1:50000", f"{HOSTILE}, shop", "71.5 s", "idle in transaction for 70.0\u00a0s", "71.0 s", "0 B", "1 B"],
              "the one that has held for the longest time")
        page.point("#strip", .08, .5)
        require(page.wait("document.getElementById('queue-one').textContent.startsWith('Position 1: ')"),
                text(page, "#queue-one"))
        require(HOSTILE in text(page, "#queue-one"), "its tenant")
        page.value("document.getElementById('strip').focus()")
        page.key("End", 35)
        require(page.wait("document.getElementById('queue-one').textContent.startsWith('Position 40: ')"),
                "keys go through the queue")
        require("no deadline" in text(page, "#queue-one"), text(page, "#queue-one"))
        page.point("#p-wait", .6, .5)
        require(page.wait("/s ago$/.test(document.getElementById('r-wait').textContent)"), "a plot is asked")
        page.value("document.querySelectorAll('.figures dd').forEach(e => e.dataset.at = e.getBoundingClientRect().top)")
        stub.gates[0].update(made_gate(queued=0, held=0, tenants=3, refused=2))
        require(page.wait("document.getElementById('f-waiting').textContent === '0'"), "it follows")
        moved = page.value("[...document.querySelectorAll('.figures dd')].filter(e => Math.abs(e.dataset.at - e.getBoundingClientRect().top) > 1).length")
        equal(moved, 0, "nothing jumps")
        require("no client waits" in page.value("document.getElementById('strip').getAttribute('aria-label')"), "empty")
        sound(page, "words")


def cluster():
    """with a cluster: the lease, the hosts before us, the fence, the ensemble; away in each mode"""
    leases = {"main": made_lease(), "waits": made_lease(leased=4, before=2, owed=3),
              "keep": made_lease("keep", leased=0, in_force=21), "share": made_lease("share", 0, 7),
              "closed": made_lease("closed", leased=0),
              "wrong": made_lease(leased=0, wrong="the node was deleted")}
    stub = Stub([{**made_gate(name, limit=64, held=16), "cluster": lease}
                 for name, lease in leases.items()])
    stub.gates[1]["tenants"][1]["leased"] = 1
    with browsing() as chrome:
        for dark in (False, True):
            for width in (1280, 360):
                for name, lease in leases.items():
                    is_away = lease["mode"] != "leased"
                    stub.cluster = made_cluster("away", 12.0) if is_away else made_cluster()
                    what = f"cluster-{name}-{'dark' if dark else 'light'}-{width}"
                    page = opened(chrome, f"{stub.url}#gate={name}", width=width, dark=dark)
                    shot(page, what)
                    sound(page, what)
                    equal(page.value(CONTRAST), [], f"{what}: contrast below 4.5")
                    equal(text(page, "#f-force"), str(lease["in_force"]), f"{what}: in force")
                    equal(text(page, "#f-leased"), f"{lease['leased']} of 64", f"{what}: leased")
                    equal(text(page, "#f-fence"), "300647711213", f"{what}: fence")
                    equal(text(page, "#f-held"), f"16 of {lease['in_force']}", f"{what}: held")
                    equal(text(page, "#f-ensemble"), "away for 12.0 s" if is_away else "connected", what)
                    squares = page.value("""['held', 'excess', 'other', ''].map(c =>
                        [...document.querySelectorAll('#slots i')].filter(e => e.className === c).length)""")
                    most = lease["in_force"]
                    equal(squares, [min(16, most), max(0, 16 - most), 64 - max(16, most),
                                    max(0, most - 16)], f"{what}: squares")
                    banner = text(page, "#banner")
                    equal(page.value("!document.getElementById('banner').hidden"),
                          is_away or bool(lease["wrong"]), f"{what}: a banner")
                    if name == "closed":
                        require("no client is admitted" in banner, banner)
                    if name in ("keep", "share"):
                        require(f"goes on with {most} permits ({name})" in banner, banner)
                    if name == "wrong":
                        require("the node was deleted" in banner, banner)
                    if name == "waits":
                        equal(text(page, "#n-hosts"), "2 queued before us", what)
                        equal(text(page, "#n-leased"), "3 owed to others", what)
                        equal(text(page, "#tenants tr:nth-child(2) td:nth-child(2) span"), "1 / 1", what)
                    page.close()
        stub.cluster = None
        stub.gates[:] = [made_gate()]
        page = opened(chrome, stub.url)
        require(page.value("document.getElementById('cluster').hidden"), "no cluster, no card")


def kinds():
    """a permit gate: its kinds, and the processes that hold and wait"""
    gate = {**made_gate(limit=0, held=2, queued=2, tenants=0), "protocol": "permit", "to": "", "claims": False, "kinds": [
        {"name": "cores", "limit": 8, "held": 9, "free": 0, "excess": 1, "waiters": 2},
        {"name": "memory", "limit": 1 << 34, "held": 3 << 29, "free": 29 << 29, "excess": 0, "waiters": 0}]}
    stub = Stub([gate])
    held = {"id": 7, "pid": 4711, "uid": 1000, "since_s": 71.5, "amounts": {"cores": 9, "memory": 1 << 30},
            "tenant": "", "label": HOSTILE, "command": "make -j9 " + "x" * 200}
    waits = {"id": 8, "place": 1, "since_s": 2.5, "amounts": {"cores": 1}, "lacks": ["cores"], "tenant": "ci",
             "label": "", "command": ""}
    whole = stub.answer

    def answer(path):
        found = whole(path)
        if path.startswith("/holders"):
            found.update(holders=[], permits=[held])
        if path.startswith("/queue"):
            found["permits"] = [waits, {**waits, "id": 9, "place": 2, "lacks": []}]
        return found

    stub.answer = answer
    with browsing() as chrome:
        for dark in (False, True):
            for width in (1280, 360):
                what = f"kinds-{'dark' if dark else 'light'}-{width}"
                page = opened(chrome, stub.url, width=width, dark=dark)
                shot(page, what)
                sound(page, what)
                equal(page.value(CONTRAST), [], f"{what}: contrast below 4.5")
                shown = page.value("""['kinds-card', 'takers-card', 'permits-card', 'holders-card'].map(
                    id => !document.getElementById(id).hidden)""")
                equal(shown, [True, True, False, False], f"{what}: cards")
                rows = page.value("""[...document.querySelectorAll('#kinds tr, #takers tr')].map(
                    tr => [...tr.children].map(td => td.textContent.replaceAll('\u00a0', ' ')).slice(0, 5))""")
                equal([row[0] for row in rows], ["cores", "memory", "pid 4711, uid 1000", "request 8", "request 9"], what)
                equal([row[3] for row in rows], ["1 over", "14.5G", "holds", "place 1, lacks cores", "place 2"], what)
                equal(rows[2][1], f"{HOSTILE}: {held['command']}", what)
                page.close()


def edges():
    """no gate, thirty gates, ten thousand that wait, a limit of a million"""
    with browsing() as chrome:
        stub = Stub([])
        page = opened(chrome, stub.url, width=360)
        require(page.value("!document.getElementById('empty').hidden"), "no gate is configured")
        shot(page, "none-360")
        sound(page, "no gate")
        stub.gates.append(made_gate())
        require(page.wait("document.getElementById('name').textContent === 'main'"), "a reload brought one")
        stub = Stub([made_gate(f"gate-{i:02}", limit=2 + i, held=i, queued=i) for i in range(30)])
        for width in (1280, 360):
            page = opened(chrome, stub.url, width=width)
            equal(page.value("document.querySelectorAll('#gates tr').length"), 30, "rows")
            equal(page.value("document.querySelector('#gates tr:last-child button').textContent"), "gate-00",
                  "the one that is idle")
            equal(text(page, "#name"), "gate-01", "a busy one is shown first")
            page.value("document.querySelectorAll('#gates button')[28].click()")
            require(page.wait("document.getElementById('name').textContent === 'gate-29'"), "one is chosen")
            require(page.wait("document.getElementById('slots').children.length === 31"), "its slots")
            equal(page.value("location.hash"), "#gate=gate-29", "the address says it")
            shot(page, f"thirty-{width}")
            sound(page, f"30 gates on {width}")
        stub = Stub([made_gate(limit=1000000, held=999999, queued=10000, tenants=100)])
        page = opened(chrome, stub.url)
        require(page.wait("/oldest of 10,000/.test(document.getElementById('queue-count').textContent)"), "10,000")
        require(page.value("document.getElementById('slots').hidden"), "a bar in place of slots")
        require(page.value("document.getElementsByTagName('*').length") < 2500, "a bounded document")
        took = page.value("(() => { const at = performance.now(); showAll(); return performance.now() - at; })()")
        shot(page, "many-1280")
        sound(page, "10,000")
        stub.gates.clear()
        require(page.wait("!document.getElementById('empty').hidden"), "the gate is gone")
        return f"drawn in {took:.0f} ms"


def failing():
    """it says since when nobody answers, goes on by itself, and rests while it is hidden"""
    stub = Stub([made_gate()])
    with browsing() as chrome:
        page = opened(chrome, stub.url)
        stub.is_broken = True
        require(page.wait("/^no answer since \\d\\d:\\d\\d:\\d\\d$/.test(document.getElementById('live').textContent.trim())"),
                text(page, "#live"))
        equal(text(page, "#f-waiting"), "40", "what was last known stays")
        shot(page, "lost-1280")
        stub.is_broken = False
        require(page.wait(LIVE), "it is live again")
        # A hidden page asks nothing: as the browser says it is, since no window can be hidden here.
        page.value("""Object.defineProperty(document, 'hidden', {get: () => window.isHidden, configurable: true});
                      window.isHidden = true; document.dispatchEvent(new Event('visibilitychange'))""")
        require(page.wait("!state.isAsking"), "what was asked is answered")
        time.sleep(0.2)
        asked = stub.asked
        time.sleep(1.5)  # it would ask every second
        equal(stub.asked, asked, "it asks nothing while it is hidden")
        page.value("window.isHidden = false; document.dispatchEvent(new Event('visibilitychange'))")
        wait_until(lambda: stub.asked > asked, "it asks again")
        sound(page, "failing", allowed=("Failed to load resource", "ERR_"))


def changing():
    """the limit is changed with the token, which is kept for the session only"""
    stub = Stub([made_gate()])
    with browsing() as chrome:
        page = opened(chrome, stub.url)
        page.value("document.getElementById('limit').focus(); document.getElementById('limit').select()")
        page.type("4")
        page.key("Enter", 13)
        page.value("document.getElementById('set').click()")
        require(page.wait("/needs the token/.test(document.getElementById('said').textContent)"), "a token is needed")
        equal(stub.posts, [], "nothing was asked")
        for token, said in (("wrong", "The token is not right."),
                            ("secret", "The limit is 4 now. 12 above it are still held.")):
            page.value("document.getElementById('token').focus(); document.getElementById('token').select()")
            page.type(token)
            page.value("document.getElementById('set').click()")
            require(page.wait(f"document.getElementById('said').textContent === {json.dumps(said)}"),
                    f"{text(page, '#said')}, not {said}")
        equal(stub.posts, [("/gates/main/limit", "4", "Bearer wrong"), ("/gates/main/limit", "4", "Bearer secret")],
              "what was asked")
        require(page.wait("document.querySelectorAll('#slots i.excess').length === 12"), "excess is shown")
        equal(page.value("[sessionStorage.getItem('token'), localStorage.length, document.cookie]"),
              ["secret", 0, ""], "where the token is kept")
        equal(page.value("document.getElementById('token').value"), "", "not in the field")
        shot(page, "excess-1280")
        stub.can_change = False
        require(page.wait("document.getElementById('set').disabled"), "read-only")
        sound(page, "changing", allowed=("401",))


def real():
    """a gate under load: figures move, the limit is changed there, and by no other site"""
    upstream = Upstream(hold=0.01)
    gate = Gate(to=f"127.0.0.1:{upstream.port}", limit=3, queue=25, tenant_by="source")
    is_over = threading.Event()

    def client(i):
        while not is_over.is_set():
            try:
                with connect(gate.port) as c:
                    c.sendall(b"x" * 200)
                    if i % 9 == 0:
                        time.sleep(0.01)
                    else:
                        receive_all(c)
            except (OSError, AssertionError):
                pass
            time.sleep(0.02 * (i % 3))
    threads = [threading.Thread(target=client, args=(i,), daemon=True) for i in range(40)]
    for thread in threads:
        thread.start()
    with browsing() as chrome:
        url = f"http://127.0.0.1:{gate.admin_port}/"
        for width, dark in ((1280, False), (1280, True), (360, False), (360, True)):
            page = opened(chrome, url, width=width, dark=dark)
            require(page.wait("state.seconds.length >= 3 && state.gates[0].queue.length > 0"), "it counts")
            require(page.wait("document.getElementById('f-held').textContent === '3 of 3'"), "held")
            shot(page, f"real-{'dark' if dark else 'light'}-{width}")
            sound(page, f"real {width}")
            page.close()
        page = opened(chrome, url)
        page.value("document.getElementById('limit').value = 9; document.getElementById('limit').dispatchEvent(new Event('input'));"
                   f"document.getElementById('token').value = '{Gate.TOKEN}'; document.getElementById('set').click()")
        require(page.wait("/^The limit is 9 now/.test(document.getElementById('said').textContent)"), text(page, "#said"))
        equal(gate.status()["limit"], 9, "the gate's limit")
        require(page.wait("document.getElementById('slots').children.length === 9"), "nine slots")
        sound(page, "after the change")
        # Another site, whose page knows even the token: nothing it can send changes anything, and
        # it can read nothing.
        other = Stub([])
        page = chrome.open(other.url)
        require(page.wait("document.readyState === 'complete'"), "another site")
        page.call("Page.setBypassCSP", enabled=True)
        page.call("Page.navigate", url=other.url)
        require(page.wait("document.readyState === 'complete'"), "another site, without a policy")
        tries = page.value("""Promise.all([
            fetch('%(url)sgates/main/limit', {method: 'PUT', body: '1', headers: {Authorization: 'Bearer %(token)s'}}),
            fetch('%(url)sstatus'),
            fetch('%(url)sdrain', {method: 'POST', body: '1', mode: 'no-cors'}),
            fetch('%(url)sreload', {method: 'POST', body: '1', headers: {Authorization: 'Bearer %(token)s'}}),
          ].map(p => p.then(a => 'read ' + a.status, e => String(e))))""" % {"url": url, "token": Gate.TOKEN})
        equal(tries, ["TypeError: Failed to fetch"] * 4, "what another site gets")
        equal(gate.status()["limit"], 9, "the limit is as it was")
        equal(gate.whole_status()["state"], "running", "it does not drain")
    is_over.set()
    for thread in threads:
        thread.join(60)


def source():
    """the page is one file that needs no other"""
    page = PAGE.read_text()
    equal(re.findall(r'(?:src|href)="(?!data:)[^"]*"', page), [], "files of others")
    require(not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page), "no address elsewhere")
    equal((page.count("<script>"), page.count("<style>")), (1, 1), "one script and one style")
    require(not re.search(r'\sstyle="|\son\w+="|innerHTML|eval\(|document\.write', page), "nothing inline")
    ids = re.findall(r'\bid="([^"]+)"', page)
    equal(len(ids), len(set(ids)), "each id once")


if __name__ == "__main__":
    os.environ.pop("http_proxy", None)
    run_tests([gate_is_there, chromium], source, looks, words, cluster, kinds, edges, failing, changing, real)
