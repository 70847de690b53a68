"""Loads of the gate's benchmark: pgbench, a bulk copy, connections that queue."""

import glob
import os
import socket
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass

from gate_servers import USER, Database, Front, resident_bytes
from run import Failure


@dataclass
class Load:
    """One run of pgbench."""

    tps: float
    p50_ms: float
    p99_ms: float
    slowest: float  # transactions of the slowest client, over those of the fastest
    cpu_us: float   # of what is in front, for each transaction
    aborted: int    # clients that gave up


def share(values: list[int], part: float) -> float:
    return float(values[min(len(values) - 1, int(len(values) * part))])


def pgbench(db: Database, front: Front, clients: int, mode: str, seconds: float,
            script: str = "tpcb-like", warm_seconds: float = 1) -> Load:
    """One thread for each client: pgbench blocks in PQprepare, and a thread that blocks with one
    client while another of its clients is in a transaction locks itself up behind any limit."""
    warm = warm_seconds
    with tempfile.TemporaryDirectory() as directory:
        prefix = f"{directory}/log"
        before = front.cpu()
        done = subprocess.run(
            db.tool("pgbench", "-n", "-b", script, "-M", mode, "-c", str(clients), "-j",
                    str(clients), "-T", str(round(seconds + warm)), "-l", f"--log-prefix={prefix}",
                    USER, port=front.port),
            env={**os.environ, "PGSSLMODE": "require" if front.tls else "disable"},
            capture_output=True, text=True, timeout=seconds * 10 + 120)  # fmt: skip
        used = front.cpu() - before
        lines = [line.split() for path in glob.glob(f"{prefix}.*") for line in open(path)]
    ends = [int(f[4]) + int(f[5]) / 1e6 for f in lines]
    first, last = min(ends, default=0) + warm, max(ends, default=0)
    counted = [f for f, end in zip(lines, ends) if end >= first]
    if not counted:
        raise Failure(f"{front.name}: pgbench -M {mode} stood still: {done.stderr[-500:]}")
    took = sorted(int(f[2]) for f in counted)
    each = dict.fromkeys(range(clients), 0)
    for f in counted:
        each[int(f[0])] += 1
    aborted = done.stderr.count(" aborted in ")
    return Load(len(counted) / max(last - first, 1e-9), share(took, 0.5) / 1e3,
                share(took, 0.99) / 1e3, min(each.values()) / max(each.values()),
                used / len(lines) * 1e6, aborted)  # fmt: skip


def copy_us(db: Database, front: Front, megabytes: int) -> float:
    """CPU of what is in front, in microseconds for each MB that the server sends."""
    command = (f"COPY (SELECT repeat('x', 999) FROM generate_series(1, {megabytes * 1000})) "
               "TO STDOUT")  # fmt: skip
    before = front.cpu()
    with open(os.devnull, "wb") as nowhere:
        subprocess.run(db.tool("psql", "-q", "-d", USER, "-c", command, port=front.port),
                       env={**os.environ, "PGSSLMODE": "disable"}, stdout=nowhere, check=True, timeout=300)  # fmt: skip
    return (front.cpu() - before) / megabytes * 1e6


# ---- connections that queue ----


def _startup() -> bytes:
    body = struct.pack("!I", 196608) + f"user\0{USER}\0database\0{USER}\0\0".encode()
    return struct.pack("!I", len(body) + 4) + body


def _query(text: str) -> bytes:
    return b"Q" + struct.pack("!I", len(text) + 5) + text.encode() + b"\0"


def _until_ready(s: socket.socket) -> None:
    data = b""
    while b"Z\0\0\0\x05" not in data[-6:]:
        got = s.recv(65536)
        if not got:
            raise Failure(f"the session was ended: {data[-200:]!r}")
        data += got


def holder(front: Front, speaks: bool) -> socket.socket:
    """A connection that has the only permit."""
    s = socket.create_connection(("127.0.0.1", front.port))
    s.settimeout(30)
    if speaks:
        s.sendall(_startup())
        _until_ready(s)
        s.sendall(_query("BEGIN"))
        _until_ready(s)
    return s


@dataclass
class Queue:
    """So many connections that wait."""

    bytes_each: float   # of the process, beside the kernel's buffers
    idle_percent: float  # of a core
    empty_ms: float     # from the last hang-up to an empty queue; NaN: not asked


def queue(front: Front, count: int, speaks: bool, length, idle_s: float = 5) -> Queue:
    """length(): how many wait now, or None."""
    assert front.process
    pid, waiting = front.process.pid, []
    first = holder(front, speaks)
    time.sleep(0.5)
    before = resident_bytes(pid)
    try:
        for _ in range(count):
            s = socket.create_connection(("127.0.0.1", front.port))
            if speaks:
                s.settimeout(30)
                s.sendall(_startup())
                _until_ready(s)
                s.sendall(_query("SELECT 1"))
            waiting.append(s)
        _settled(length, count)
        each = (resident_bytes(pid) - before) / count
        cpu, began = front.cpu(), time.monotonic()
        time.sleep(idle_s)
        idle = (front.cpu() - cpu) / (time.monotonic() - began) * 100
        for s in waiting:
            s.close()
        waiting, began = [], time.monotonic()
        while length and length() > 0 and time.monotonic() < began + 10:
            pass
        empty = (time.monotonic() - began) * 1e3 if length else float("nan")
    finally:
        for s in [first, *waiting]:
            s.close()
    return Queue(each, idle, empty)


def _settled(length, count: int) -> None:
    until = time.monotonic() + 30
    while length and length() < count:
        if time.monotonic() > until:
            raise Failure(f"{length()} of {count} wait")
        time.sleep(0.05)
    time.sleep(1)
