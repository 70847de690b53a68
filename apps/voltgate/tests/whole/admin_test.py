"""The admin side of voltgate as a client sees it: HTTP and its bounds, what may change something,
metrics that never fall, JSON, the commands that ask, and the terminal of voltgate top."""

import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import termios
import threading
import time

from voltgate_kit import (LIMIT, Gate, Pg, Postgres, Process, Skip, Upstream, connect, equal, gate_is_there, postgres,
                          program, receive_all, require, reset, run_tests, scratch, wait_until)

CHANGE = f"Authorization: Bearer {Gate.TOKEN}\r\n"


# ---- HTTP, byte by byte ----

class Wire:
    """A connection to an admin side. Answers are read by their Content-Length."""

    def __init__(self, address):
        self.s = connect(address)
        self.rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.s.close()

    def send(self, text):
        self.s.sendall(text if isinstance(text, bytes) else text.encode())

    def answer(self, has_body=True):
        while b"\r\n\r\n" not in self.rest:
            piece = self.s.recv(65536)
            require(piece, f"an answer, not the end after {self.rest!r}")
            self.rest += piece
        head, _, rest = self.rest.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (l.partition(":") for l in lines)}
        size = int(fields["content-length"]) if has_body else 0
        while len(rest) < size:
            piece = self.s.recv(65536)
            require(piece, "the whole body")
            rest += piece
        self.rest = rest[size:]
        return int(first.split()[1]), fields, rest[:size].decode()

    def ask(self, line, fields="Host: 127.0.0.1\r\n", body=""):
        if body:
            fields += f"Content-Length: {len(body)}\r\n"
        self.send(f"{line} HTTP/1.1\r\n{fields}\r\n{body}")
        return self.answer(has_body=not line.startswith("HEAD "))


def standing(**options):
    """A gate that relays to an upstream that answers when it is told to."""
    upstream = Upstream()
    gate = Gate(to=f"127.0.0.1:{upstream.port}", **{"limit": 4, "queue": 50, **options})
    return gate, upstream


def paths_and_methods():
    """each path has its methods, and nothing else is there"""
    gate, _ = standing()
    with Wire(gate.admin_port) as wire:
        for path, kind in (("/", "text/html"), ("/metrics", "text/plain; version=0.0.4"),
                           ("/status", "application/json"), ("/queue", "application/json"),
                           ("/queue?gate=main&limit=0", "application/json"),
                           ("/holders", "application/json"),
                           ("/holders?gate=main&limit=10000", "application/json"),
                           ("/history?gate=main&since=1.5", "application/json"),
                           ("/health", "text/plain")):
            code, fields, body = wire.ask(f"GET {path}")
            equal(code, 200, path)
            require(fields["content-type"].startswith(kind), f"{path}: {fields}")
            for name, value in (("cache-control", "no-store"), ("x-content-type-options", "nosniff"),
                                ("referrer-policy", "no-referrer")):
                equal(fields.get(name), value, f"{path}: {name}")
            require("access-control-allow-origin" not in fields, "no other site may read")
            require("default-src 'none'" in fields["content-security-policy"], fields)
            if kind == "application/json":
                json.loads(body)
            code, head, _ = wire.ask(f"HEAD {path}")
            equal(code, 200, f"HEAD {path}")
            equal(head["content-type"], fields["content-type"], "the same type")
        for line, code in (("GET /nothing", 404), ("GET /status/", 404), ("GET /gates/main", 404),
                           ("GET /gates/main/tenants/x", 404), ("GET /%2e%2e/status", 400),
                           ("GET /status%00", 400), ("GET /queue?gate=other", 404),
                           ("GET /queue?limit=10001", 400),
                           ("GET /holders?limit=10001", 400), ("GET /holders?gate=other", 404), ("GET /queue?limit=x", 400),
                           ("GET /history?since=-1", 400), ("GET /history?since=1.0000000001", 400),
                           ("GET /queue?gate=%6dain", 200), ("GET /queue?gate=%zz", 200)):
            with Wire(gate.admin_port) as one:  # what is malformed ends its connection
                found, _, said = one.ask(line)
                equal(found, code, f"{line}: {said}")
        for line, allowed in (("POST /status", "GET, HEAD"), ("DELETE /metrics", "GET, HEAD"),
                              ("OPTIONS /status", "GET, HEAD"), ("GET /reload", "POST"),
                              ("PUT /drain", "POST"), ("GET /gates/main/limit", "PUT"),
                              ("POST /gates/main/queue", "PUT")):
            code, fields, _ = wire.ask(line)
            equal((code, fields.get("allow")), (405, allowed), line)
        equal(wire.ask("FLY /status")[0], 501, "an unknown method")


def hosts_and_origins():
    """a name that is not ours is refused, and a change asked for by another site"""
    gate, _ = standing()
    port = gate.admin_port
    with Wire(port) as wire:
        for host, code in (("127.0.0.1", 200), (f"127.0.0.1:{port}", 200), ("[::1]:9", 200),
                           ("localhost", 200), (f"LocalHost:{port}", 200), ("10.1.2.3", 200),
                           ("evil.example", 403), (f"evil.example:{port}", 403), ("127.0.0.1.evil.example", 403),
                           ("localhost.evil.example", 403), ("localhost.", 403), ("127.1", 403),
                           ("0x7f000001", 403), ("[v1.a]", 400)):
            for path in ("/status", "/", "/health"):
                with Wire(port) as one:
                    equal(one.ask(f"GET {path}", f"Host: {host}\r\n")[0], code, f"{path} of {host}")
        put = ("PUT /gates/main/limit", "Host: 127.0.0.1\r\n")
        for extra, code in (("", 401), ("Authorization: Bearer wrong\r\n", 401),
                            (f"Authorization: Basic {Gate.TOKEN}\r\n", 401),
                            (f"Authorization: Bearer {Gate.TOKEN}x\r\n", 401),
                            (f"Authorization: Bearer {Gate.TOKEN[:-1]}\r\n", 401),
                            (CHANGE + CHANGE, 401), ("Authorization: Bearer\r\n", 401),
                            (CHANGE + "Origin: http://evil.example\r\n", 403),
                            (CHANGE + f"Origin: http://127.0.0.1:{port + 1 if port < 65535 else 1}\r\n", 403),
                            (CHANGE + "Origin: https://127.0.0.1\r\n", 403),
                            (CHANGE + "Origin: null\r\n", 403),
                            (CHANGE + "Origin: http://127.0.0.1\r\nOrigin: http://127.0.0.1\r\n", 403),
                            (CHANGE + "Origin: http://127.0.0.1\r\n", 200), (CHANGE, 200)):
            code_found, fields, said = wire.ask(put[0], put[1] + extra, "7")
            equal(code_found, code, f"{extra!r}: {said}")
            if code == 401:
                require(fields.get("www-authenticate", "").startswith("Bearer"), fields)
            equal(gate.status()["limit"], 7 if code == 200 else 4, f"the limit after {extra!r}")
            if code == 200:
                gate.limit_to(4)
        for line in ("POST /reload", "POST /drain", "PUT /gates/main/queue",
                     "PUT /gates/main/tenants/x/limit"):
            equal(wire.ask(line, body="1")[0], 401, f"{line} without a token")
    equal(gate.whole_status()["state"], "running", "nothing has happened")


def no_token():
    """without a token nothing can be changed"""
    upstream = Upstream()
    process = Process(["env", "-u", "VOLTGATE_TOKEN", program(), "--listen", "127.0.0.1:0", "--to",
                       f"127.0.0.1:{upstream.port}", "--metrics", "127.0.0.1:0"])
    port = int(wait_until(lambda: re.search(r"admin on 127.0.0.1:(\d+)", process.said()), "it listens")[1])
    with Wire(port) as wire:
        equal(json.loads(wire.ask("GET /status")[2])["can_change"], False, "can_change")
    for header in ("", CHANGE, "Authorization: Bearer \r\n", "Authorization: Bearer\r\n"):
        with Wire(port) as wire:
            code, _, said = wire.ask("PUT /gates/main/limit", "Host: 127.0.0.1\r\n" + header, "1")
            equal(code, 403, f"{header!r}: {said}")


def changes():
    """limit, queue and a tenant's limit are set, or refused with a reason"""
    gate, upstream = standing(tenant_by="source")
    clients = [connect(gate.port) for _ in range(6)]
    for c in clients:
        c.sendall(b"x")
    wait_until(lambda: upstream.count() == 4 and gate.queue_length() == 2, "4 held, 2 waiting")
    equal(gate.limit_to(1), {"gate": "main", "limit": 1, "excess": 3}, "a lower limit")
    status = gate.status()
    equal((status["limit"], status["held"], status["excess"]), (1, 4, 3), "limit, held, excess")
    equal(gate.limit_to(9), {"gate": "main", "limit": 9, "excess": 0}, "a higher limit")
    wait_until(lambda: upstream.count() == 6, "all are admitted")
    equal(gate.http("PUT", "/gates/main/queue", " 12\n")[0], 200, "spaces and a newline")
    equal(gate.status()["queue"]["bound"], 12, "the bound")
    equal(gate.http("PUT", "/gates/main/queue", "0")[0], 200, "no queue")
    equal(gate.limit_to(3, what="tenants/127.0.0.1/limit")["limit"], 3, "a tenant's limit")
    equal(gate.status()["tenants"][0]["limit"], 3, "it is shown")
    for path, body, code in (("/gates/main/limit", "0", 400), ("/gates/main/limit", "1000001", 400),
                             ("/gates/main/limit", "-1", 400), ("/gates/main/limit", "", 400),
                             ("/gates/main/limit", "1e3", 400), ("/gates/main/limit", "0x10", 400),
                             ("/gates/main/limit", "99999999999999999999", 400),
                             ("/gates/other/limit", "5", 404), ("/gates/main/tenants/x/limit", "5", 404),
                             ("/gates//limit", "5", 404)):
        found, said = gate.http("PUT", path, body)
        equal(found, code, f"PUT {path} {body!r}: {said}")
        equal(json.loads(said)["ok"], False, "it says so")
    equal(gate.status()["limit"], 9, "nothing else was changed")
    for c in clients:
        c.close()
    gate.settle()


def bounds():
    """a head of 8 KiB, a body of 4 KiB, 64 fields; what is malformed ends the connection"""
    gate, _ = standing()
    host = "Host: 127.0.0.1\r\n"
    cases = [
        ("GET /status HTTP/1.1\r\n" + host + "X: " + "x" * 8200 + "\r\n\r\n", 431),
        ("GET /" + "x" * 9000 + " HTTP/1.1\r\n" + host + "\r\n", 414),
        ("GET /status HTTP/1.1\r\n" + host + "X: y\r\n" * 70 + "\r\n", 431),
        ("GET /status HTTP/1.1\r\n\r\n", 400),
        ("GET /status HTTP/1.1\r\n" + host + host + "\r\n", 400),
        ("GET /status HTTP/2.0\r\n" + host + "\r\n", 505),
        ("GET /status\r\n\r\n", 400),
        ("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + "\n", 400),
        ("GET /status HTTP/1.1\r\n" + host + "bad field: x\r\n\r\n", 400),
        ("PUT /gates/main/limit HTTP/1.1\r\n" + host + CHANGE + "Content-Length: 4097\r\n\r\n", 413),
        ("PUT /gates/main/limit HTTP/1.1\r\n" + host + CHANGE + "Content-Length: 1\r\nContent-Length: 1\r\n\r\n9", 400),
        ("PUT /gates/main/limit HTTP/1.1\r\n" + host + CHANGE
         + "Transfer-Encoding: chunked\r\n\r\n1\r\n9\r\n0\r\n\r\n", 411),
        ("PUT /gates/main/limit HTTP/1.1\r\n" + host + CHANGE
         + "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n9", 400),
        ("GET /status HTTP/1.1\r\n" + host + "Expect: 200-maybe\r\n\r\n", 417),
    ]
    for text, code in cases:
        with Wire(gate.admin_port) as wire:
            wire.send(text.encode("latin-1"))
            found, fields, said = wire.answer()
            equal(found, code, f"{text[:60]!r}: {said}")
            equal(fields.get("connection"), "close", f"after {code}")
            require("<" not in said and "x" * 50 not in said, "nothing of the request comes back")
            equal(receive_all(wire.s), (b"", "end"), "the end follows")
    equal(gate.status()["limit"], 4, "nothing was changed")
    with Wire(gate.admin_port) as wire:  # a body of 4096 bytes is read, and refused for what it is
        code, _, _ = wire.ask("PUT /gates/main/limit", host + CHANGE, "9" * 4096)
        equal(code, 400, "4096 digits")
        equal(wire.ask("GET /health")[0], 200, "the connection goes on")
        wire.send("PUT /gates/main/limit HTTP/1.1\r\n" + host + CHANGE
                  + "Content-Length: 1\r\nExpect: 100-continue\r\n\r\n")
        equal(wire.s.recv(25), b"HTTP/1.1 100 Continue\r\n\r\n", "it is asked to go on")
        wire.send("6")
        equal(wire.answer()[0], 200, "and does")
    equal(gate.status()["limit"], 6, "the limit")


def pieces_and_pipelines():
    """requests in pieces, several at once, and HTTP/1.0"""
    gate, _ = standing()
    one = b"PUT /gates/main/limit HTTP/1.1\r\nHost: a\x3a1\r\n".replace(b"a\x3a1", b"127.0.0.1") + \
        CHANGE.encode() + b"Content-Length: 1\r\n\r\n5"
    with Wire(gate.admin_port) as wire:
        for at in range(0, len(one), 7):
            wire.send(one[at:at + 7])
            time.sleep(0.001)
        equal(wire.answer()[0], 200, "in pieces")
        wire.send(one * 20 + b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        equal([wire.answer()[0] for _ in range(21)], [200] * 21, "21 at once")
        equal(receive_all(wire.s), (b"", "end"), "Connection: close")
    with Wire(gate.admin_port) as wire:
        wire.send("GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n")
        equal(wire.answer()[2], "ok\n", "HTTP/1.0")
        equal(receive_all(wire.s), (b"", "end"), "it is closed")


def many_connections():
    """64 connections at once; one more is served, and the one that was silent for longest goes"""
    gate, _ = standing()
    before = gate.sockets()  # that listen
    kept = [Wire(gate.admin_port) for _ in range(64)]
    for wire in kept:
        code, fields, _ = wire.ask("GET /health")
        equal((code, "connection" in fields), (200, False), "it is kept")
    equal(gate.sockets(), before + 64, "all are there")
    late = [Wire(gate.admin_port) for _ in range(20)]
    for wire in late:
        equal(wire.ask("GET /health")[0], 200, "one more is served")

    def ended():
        return select.select([wire.s for wire in kept], [], [], 0)[0]
    wait_until(lambda: len(ended()) == 20, "as many have gone")
    require(gate.sockets() <= before + 64, f"no more than 64: {gate.sockets()}, and {before} before")
    gone = set(ended())
    for s in gone:
        equal(receive_all(s), (b"", "end"), "one that has gone")
    for wire in kept:
        if wire.s not in gone:
            equal(wire.ask("GET /health")[0], 200, "one that was kept")
    for wire in kept + late:
        wire.s.close()
    wait_until(lambda: gate.sockets() == before, "all are gone")


def slow_requests():
    """a request that does not come within 10 s ends, and so does a silent connection"""
    gate, _ = standing()
    with Wire(gate.admin_port) as slow, Wire(gate.admin_port) as silent:
        began = time.monotonic()
        slow.send("GET /status HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        code, fields, _ = slow.answer()
        equal((code, fields.get("connection")), (408, "close"), "too slow")
        require(9 < time.monotonic() - began < LIMIT, "after 10 s")
        equal(receive_all(silent.s), (b"", "end"), "the silent one is closed without a word")


def unix_socket():
    """the same over a unix socket, whose path goes with it"""
    upstream = Upstream()
    path = os.path.join(scratch(), "admin.sock")
    gate = Gate(to=f"127.0.0.1:{upstream.port}", admin=False, metrics=f"unix:{path}")
    wait_until(lambda: os.path.exists(path), "the path")
    with Wire(f"unix:{path}") as wire:
        equal(wire.ask("GET /health", "Host: localhost\r\n")[2], "ok\n", "health")
    done = command(gate, "status", admin=f"unix:{path}")
    require("gate main: up" in done.stdout, done.stdout + done.stderr)
    equal(gate.stop(), 0, "it ends")
    require(not os.path.exists(path), "the path is gone")


# ---- what is said ----

def holders():
    """those that hold permits: the longest first, what they do, and their bytes; in top, too"""
    gate, upstream = standing(limit=4)
    clients = []
    for i in range(3):
        clients.append(connect(gate.port))
        clients[-1].sendall(b"x" * (i + 1))
        wait_until(lambda: upstream.asked() == i + 1, "its bytes are there")

    def seen(path="/holders"):
        return json.loads(gate.http("GET", path)[1])
    wait_until(lambda: [one["up"] for one in seen()["holders"]] == [1, 2, 3], "bytes, the longest first")
    found = seen("/holders?gate=main&limit=2")
    equal((found["gate"], found["held"], found["limit"], len(found["holders"])), ("main", 3, 4, 2), "bounded")
    for i, one in enumerate(found["holders"]):
        equal((one["position"], one["client"], one["state"], one["state_s"], one["down"]),
              (i + 1, "%s:%d" % clients[i].getsockname(), "connected", None, 0), "a holder of a tcp gate")
    upstream.release()
    for c in clients:
        c.close()
    gate.settle()
    equal(seen()["holders"], [], "none is left")
    if not postgres():
        return "without PostgreSQL"
    server = Postgres()
    gate = Gate(to=f"127.0.0.1:{server.port}", protocol="postgres", limit=2)
    pg = Pg(gate.address)
    pg.query("BEGIN")
    one = wait_until(lambda: [one for one in seen()["holders"] if one["state"] == "idle in transaction"],
                     "it rests")[0]
    equal((one["user"], one["database"]), ("postgres", "postgres"), "its names")
    require(one["held_s"] >= one["query_s"] >= one["state_s"] > 0, f"times: {one}")
    require(one["up"] == len(b"Q....BEGIN.") and one["down"] > 0, f"bytes: {one}")
    done = subprocess.run([program(), "top", "--once", "--admin", f"127.0.0.1:{gate.admin_port}"],
                          text=True, capture_output=True, timeout=60)
    require("idle in transaction" in done.stdout or "built without" in done.stderr, f"top: {done}")
    pg.send("SELECT pg_sleep(60)")
    wait_until(lambda: [one["state"] for one in seen()["holders"]] == ["active"], "it works")
    reset(pg.s)
    gate.settle()


def queue_and_status():
    """the queue is told in its order, with names that cannot break out of JSON"""
    gate, upstream = standing(limit=1, queue_timeout="60s", tenant_by="source")
    clients = [connect(gate.port) for _ in range(5)]
    wait_until(lambda: gate.queue_length() == 4, "4 wait")
    names = ["%s:%d" % c.getsockname() for c in clients]
    queue = json.loads(gate.http("GET", "/queue?gate=main&limit=3")[1])
    equal(queue["length"], 4, "length")
    equal([one["position"] for one in queue["waiting"]], [1, 2, 3], "positions")
    equal([one["client"] for one in queue["waiting"]], names[1:4], "in the order of their arrival")
    equal([one["tenant"] for one in queue["waiting"]], ["127.0.0.1"] * 3, "tenants")
    ages = [one["age_s"] for one in queue["waiting"]]
    equal(ages, sorted(ages, reverse=True), "the oldest first")
    for one in queue["waiting"]:
        require(abs(one["age_s"] + one["deadline_s"] - 60) < 0.001, f"60 s in all: {one}")
    clients.pop(1).close()
    wait_until(lambda: gate.queue_length() == 3, "one has left")
    queue = json.loads(gate.http("GET", "/queue")[1])
    equal([one["client"] for one in queue["waiting"]], names[2:], "and the others moved up")
    whole = gate.whole_status()
    equal(set(whole), {"version", "uptime_s", "pid", "workers", "io", "state", "can_change", "gates"}, "keys")
    equal(whole["pid"], gate.pid, "pid")
    status = whole["gates"][0]
    equal((status["held"], status["limit"], status["queue"]["length"], status["clients"]),
          (1, 1, 3, 4), "held, limit, waiting, clients")
    equal(status["listen"], [f"127.0.0.1:{gate.port}"], "the port that the kernel has chosen")
    equal(status["totals"]["left"], 1, "left")
    require(status["queue"]["oldest_s"] > 0, "the oldest has an age")
    wait_until(lambda: gate.status()["last"]["seconds"] > 1.5, "samples")
    last = gate.status()["last"]
    require(last["seconds"] < 15 and last["wait_s"]["count"] <= 1, f"the last seconds: {last}")
    upstream.release()
    for c in clients:
        c.close()
    gate.settle()
    past = json.loads(gate.http("GET", "/history?gate=main")[1])
    at = [row[0] for row in past["seconds"]]
    require(at and at == sorted(set(at)), "seconds in their order")
    equal({len(row) for row in past["seconds"]}, {len(past["columns"])}, "as many values as columns")
    since = json.loads(gate.http("GET", f"/history?since={at[-1]:.9f}")[1])["seconds"]
    require(all(row[0] > at[-1] for row in since), "only what is newer")


def health():
    """health says what is wrong"""
    upstream = Upstream()
    gate = Gate(to=f"127.0.0.1:{upstream.port}", breaker=1, breaker_retry="50ms")
    equal(gate.http("GET", "/health"), (200, "ok\n"), "up")
    upstream.stop()
    upstream.listener.close()
    with connect(gate.port) as c:
        c.sendall(b"x")
        wait_until(lambda: gate.http("GET", "/health") == (503, "breaker: main\n"), "the server is away")
    status = gate.status()
    equal(status["state"], "breaker", "state")
    require("refused" in status["reason"].lower(), f"why: {status['reason']}")


# ---- metrics ----

def is_counter(name):
    return re.match(r"\w+_(total|count|bucket|sum)(\{|$)", name) is not None


class Load:
    """Clients that come, wait, are answered, and some that hang up before."""

    def __init__(self, gate, count=30):
        self.is_over = False
        self.threads = [threading.Thread(target=self.run, args=(gate, i), daemon=True)
                        for i in range(count)]
        for thread in self.threads:
            thread.start()

    def run(self, gate, i):
        while not self.is_over:
            try:
                with connect(gate.port) as c:
                    c.sendall(b"x" * (1 + i))
                    if i % 7 == 0:
                        time.sleep(0.003)
                    else:
                        receive_all(c)
            except (OSError, AssertionError):
                pass

    def stop(self):
        self.is_over = True
        for thread in self.threads:
            thread.join(LIMIT)


def metrics_under_load():
    """metrics are read by strict parsers, counters never fall, histograms hold together"""
    upstream = Upstream(hold=0.002)
    gate = Gate(to=f"127.0.0.1:{upstream.port}", limit=3, queue=20, tenant_by="source")
    load = Load(gate)
    before = gate.metrics()
    for _ in range(25):
        now = gate.metrics()
        fallen = [(k, v, now.get(k)) for k, v in before.items() if is_counter(k) and now.get(k, -1) < v]
        equal(fallen, [], "counters that fell")
        before = now
    text = gate.http("GET", "/metrics")[1]
    load.stop()
    for name, labels in (("voltgate_wait_seconds", 'gate="main"'), ("voltgate_hold_seconds", 'gate="main"'),
                         ("voltgate_tenant_wait_seconds", 'gate="main",tenant="127.0.0.1"')):
        edges = [(float(m[1].replace("+Inf", "inf")), float(m[2])) for m in re.finditer(
            rf'^{name}_bucket\{{{re.escape(labels)},le="([^"]*)"\}} (\S+)$', text, re.M)]
        require(len(edges) > 10, f"{name} has buckets")
        equal(edges, sorted(edges), f"{name}: edges and counts rise")
        equal([c for _, c in edges], sorted(c for _, c in edges), f"{name} is cumulative")
        count = float(re.search(rf"^{name}_count\{{{re.escape(labels)}\}} (\S+)$", text, re.M)[1])
        total = float(re.search(rf"^{name}_sum\{{{re.escape(labels)}\}} (\S+)$", text, re.M)[1])
        equal(edges[-1], (float("inf"), count), f"{name}: the last bucket is the count")
        require(count > 0 and total > 0, f"{name} has counted")
    wait_until(lambda: gate.metrics()['voltgate_left_total{gate="main"}'] > 0, "some have left")
    gate.settle()
    now = gate.metrics()
    equal(now['voltgate_held{gate="main"}'], 0, "none holds")
    equal(now['voltgate_admitted_total{gate="main"}'], now['voltgate_wait_seconds_count{gate="main"}'],
          "a wait for each permit")
    equal(now['voltgate_admitted_total{gate="main"}'], now['voltgate_hold_seconds_count{gate="main"}'],
          "a hold for each permit")
    equal(now['voltgate_accepted_total{gate="main"}'], now['voltgate_ended_total{gate="main"}'],
          "who came has gone")
    for name in ("process_open_fds", "process_max_fds", "process_resident_memory_bytes",
                 "process_cpu_seconds_total", "process_start_time_seconds"):
        require(now[name] > 0, name)
    require(abs(now["process_start_time_seconds"] - os.stat(f"/proc/{gate.pid}").st_mtime) < 60, "start")
    with Wire(gate.admin_port) as wire:
        def counted():
            text = wire.ask("GET /metrics")[2]
            return int(re.search(r"^process_open_fds (\d+)$", text, re.M)[1]) == gate.descriptors()
        wait_until(counted, "descriptors are counted")


def metrics_by_others():
    """promtool and python3-prometheus-client read the metrics"""
    upstream = Upstream()
    gate = Gate(to=f"127.0.0.1:{upstream.port}", tenant_by="source")
    connect(gate.port).close()
    text = gate.http("GET", "/metrics")[1]
    found = []
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                              capture_output=True, timeout=LIMIT)
        equal((done.returncode, done.stdout + done.stderr), (0, ""), "promtool")
        found.append("promtool")
    try:
        from prometheus_client.parser import text_string_to_metric_families
    except ImportError:
        pass
    else:
        families = {f.name: f for f in text_string_to_metric_families(text)}
        equal(families["voltgate_wait_seconds"].type, "histogram", "the type of wait")
        equal(families["voltgate_admitted"].type, "counter", "the type of admitted")
        found.append("prometheus_client")
    if not found:
        raise Skip("neither is installed")
    return ", ".join(found)


def relaying_beside_scrapes():
    """one worker relays while four clients read metrics without a pause"""
    upstream = Upstream(hold=0)
    gate = Gate(to=f"127.0.0.1:{upstream.port}", limit=50, tenant_by="source", workers=1)
    asked = 0
    is_over = threading.Event()

    def scrape():
        nonlocal asked
        with Wire(gate.admin_port) as wire:
            while not is_over.is_set():
                for path in ("/metrics", "/status", "/history"):
                    equal(wire.ask(f"GET {path}")[0], 200, path)
                    asked += 1
    threads = [threading.Thread(target=scrape) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(200):
        with connect(gate.port) as c:
            c.sendall(b"hello")
            equal(receive_all(c)[0], b"hello", "the answer")
    is_over.set()
    for thread in threads:
        thread.join(LIMIT)
    require(asked > 10, f"{asked} scrapes meanwhile")
    gate.settle()


# ---- commands ----

def command(gate, *words, admin=None, token=Gate.TOKEN, **options):
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    environment.pop("VOLTGATE_TOKEN", None)
    if token:
        environment["VOLTGATE_TOKEN"] = token
    return subprocess.run(
        [program(), *words, "--admin", admin or f"127.0.0.1:{gate.admin_port}"], text=True,
        capture_output=True, timeout=LIMIT, stdin=subprocess.DEVNULL, env=environment, **options)


def has_commands(gate):
    done = command(gate, "status")
    if "built without" in done.stderr:
        raise Skip("built without libjansson")


def commands():
    """limit, status, reload and drain do what they say, and their exit codes say whether"""
    upstream = Upstream()
    to = f"127.0.0.1:{upstream.port}"
    gate = Gate(ini=f"[gate main]\nlisten = 127.0.0.1:0\nto = {to}\nlimit = 5\n")
    has_commands(gate)
    done = command(gate, "status")
    equal((done.returncode, done.stderr), (0, ""), "status")
    require("gate main: up, 0 of 5 permits held, 0 of 1000 wait, 0 clients" in done.stdout, done.stdout)
    done = command(gate, "limit", "main", "7")
    equal((done.returncode, done.stdout), (0, "gate main: limit 7\n"), "limit")
    equal(gate.status()["limit"], 7, "it is set")
    for words, token, said in ((("limit", "main", "3"), None, "needs the token"),
                               (("limit", "main", "3"), "wrong", "is not the one"),
                               (("limit", "other", "3"), Gate.TOKEN, "no gate of that name"),
                               (("reload",), None, "needs the token")):
        done = command(gate, *words, token=token)
        equal((done.returncode, done.stdout), (1, ""), f"{words}")
        require(said in done.stderr and done.stderr.startswith("voltgate: "), done.stderr)
    equal(gate.status()["limit"], 7, "nothing was changed")
    for words in (("limit", "main"), ("limit", "main", "x"), ("limit", "main", "0"), ("status", "x")):
        equal(command(gate, *words).returncode, 2, f"wrong usage: {words}")
    gate.configure(f"[gate main]\nlisten = 127.0.0.1:0\nto = {to}\nlimit = many\n")
    done = command(gate, "reload")
    equal(done.returncode, 1, "a configuration that is wrong")
    require("gate.ini:4" in done.stderr, done.stderr)
    gate.configure(f"[gate main]\nlisten = 127.0.0.1:0\nto = {to}\nlimit = 11\n")
    done = command(gate, "reload")
    equal((done.returncode, done.stdout), (0, "reloaded\n"), done.stderr)
    equal(gate.status()["limit"], 11, "it was read again")
    done = command(gate, "drain")
    equal((done.returncode, done.stdout), (0, "draining\n"), done.stderr)
    equal(gate.process.wait(LIMIT), 0, "it ends")
    done = command(gate, "status")
    equal(done.returncode, 1, "none answers")
    require("no voltgate at" in done.stderr, done.stderr)


def strange_servers():
    """the commands survive whatever answers them"""
    gate, _ = standing()
    has_commands(gate)
    answers = [b"", b"\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n", b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{}",
               b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", b"x" * 20000,
               b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{\xff}",
               b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", b"HTTP/1.1 999 OK\r\nContent-Length: 2\r\n\r\n{}",
               b"HTTP/1.1 200 OK\r\nContent-Length: 100002\r\n\r\n" + b'{"a":' + b"[" * 49998 + b"]" * 49998 + b"}"]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve():
            for answer in answers:
                s, _ = listener.accept()
                with s:
                    s.recv(65536)
                    s.sendall(answer)
        thread = threading.Thread(target=serve)
        thread.start()
        for answer in answers:
            done = command(None, "status", admin="127.0.0.1:%d" % listener.getsockname()[1])
            equal((done.returncode, done.stdout), (1, ""), f"{answer[:60]!r}: {done.stderr}")
            require(done.stderr.startswith("voltgate: "), done.stderr)
        thread.join(LIMIT)


# ---- top ----

class Terminal:
    """A program in a terminal of its own, and what it has written."""

    def __init__(self, command_line, columns=100, rows=30, env=None):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update({"LC_ALL": "C.UTF-8", "TERM": "xterm", **(env or {})})
            os.execv(command_line[0], command_line)
        self.written = b""
        self.resize(columns, rows)

    def resize(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        while select.select([self.fd], [], [], 0)[0]:
            try:
                piece = os.read(self.fd, 65536)
            except OSError:
                return
            self.written += piece

    def frame(self):
        """The last whole screen, as lines without colours."""
        self.read()
        frames = self.written.split(b"\x1b[H")
        if len(frames) < 3:
            return []
        text = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", frames[-2]).decode()
        return [line.rstrip() for line in text.replace("\r", "").split("\n")]

    def wait(self, holds, what):
        return wait_until(lambda: (f := self.frame()) and holds(f) and f, what)

    def key(self, keys):
        os.write(self.fd, keys)

    def end(self):
        """The exit code."""
        def ended():
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            return (status,) if pid else None
        status = wait_until(ended, "it ends")[0]
        self.read()  # what it wrote last
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def two_gates():
    upstream = Upstream()
    ini = "".join(f"[gate {name}]\nlisten = 127.0.0.1:0\nto = 127.0.0.1:{upstream.port}\nlimit = 1\n"
                  f"tenant-by = source\nqueue-timeout = 60s\n" for name in ("first", "second"))
    return Gate(ini=ini, gates=2), upstream


def top_once():
    """top prints one screen where there is no terminal"""
    gate, _ = two_gates()
    has_commands(gate)
    holder, *waiting = [connect(gate.by_name["first"]) for _ in range(4)]
    wait_until(lambda: gate.status("first")["queue"]["length"] == 3, "3 wait")
    done = command(gate, "top", "--once")
    equal((done.returncode, done.stderr), (0, ""), "top --once")
    require("\x1b" not in done.stdout, "no escapes")
    row = next(line for line in done.stdout.splitlines() if line.startswith("first"))
    equal(row.split()[1:5], ["up", "1/1", "0", "3"], "state, held, excess, queue")
    for c in waiting:
        require("%s:%d" % c.getsockname() in done.stdout, "who waits is shown")
    require("second" in done.stdout and "127.0.0.1" in done.stdout, done.stdout)
    done = command(gate, "top")
    equal(done.returncode, 0, "no terminal: one screen")
    for c in (holder, *waiting):
        c.close()


def top_in_a_terminal():
    """top draws, follows keys and the window's size, says when nobody answers, and cleans up"""
    gate, _ = two_gates()
    has_commands(gate)
    waiting = [connect(gate.by_name["second"]) for _ in range(3)]
    wait_until(lambda: gate.status("second")["queue"]["length"] == 2, "2 wait")
    terminal = Terminal([program(), "top", "--admin", f"127.0.0.1:{gate.admin_port}",
                         "--interval", "100ms"])
    frame = terminal.wait(lambda f: any(l.startswith("second") for l in f), "a screen")
    require(len(frame) <= 30 and max(map(len, frame)) <= 100, "within the window")
    require(any(l.startswith("first  tcp to") for l in frame), "the first gate is chosen")
    terminal.key(b"\x1b[B")
    frame = terminal.wait(lambda f: any(l.startswith("second  tcp to") for l in f), "the second gate")
    terminal.wait(lambda f: any("%s:%d" % waiting[1].getsockname() in l for l in f), "who waits")
    terminal.key(b"s")
    terminal.wait(lambda f: any("TENANT by admitted" in l for l in f), "another order")
    terminal.key(b"k")
    terminal.wait(lambda f: any(l.startswith("first  tcp to") for l in f), "back")
    terminal.resize(60, 12)
    frame = terminal.wait(lambda f: len(f) <= 12 and max(map(len, f)) <= 60, "a smaller window")
    terminal.resize(200, 50)
    terminal.wait(lambda f: len(f) > 12, "a larger one")
    gate.send_signal(signal.SIGSTOP)
    terminal.wait(lambda f: any("no answer since" in l for l in f), "nobody answers")
    gate.send_signal(signal.SIGCONT)
    terminal.wait(lambda f: not any("no answer since" in l for l in f), "and then again")
    terminal.key(b"q")
    equal(terminal.end(), 0, "q")
    require(terminal.written.endswith(b"\x1b[?25h\x1b[?1049l"), "the terminal is as before")
    for what, end in (("SIGTERM", lambda t: os.kill(t.pid, signal.SIGTERM)), ("Ctrl-C", lambda t: t.key(b"\x03"))):
        other = Terminal([program(), "top", "--admin", f"127.0.0.1:{gate.admin_port}"])
        wait_until(lambda: other.read() or b"second" in other.written, "something is drawn")
        end(other)
        equal(other.end(), 0, what)
        require(other.written.endswith(b"\x1b[?25h\x1b[?1049l"), "the terminal is as before, too")
    for c in waiting:
        c.close()


if __name__ == "__main__":
    run_tests([gate_is_there], paths_and_methods, hosts_and_origins, no_token, changes, bounds,
              pieces_and_pipelines, many_connections, slow_requests, unix_socket, holders, queue_and_status,
              health, metrics_under_load, metrics_by_others, relaying_beside_scrapes, commands,
              strange_servers, top_once, top_in_a_terminal)
