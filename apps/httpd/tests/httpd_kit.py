"""httpd_kit.py: what the tests of httpd share: a site, servers of it, what they answer, and checks."""
import json
import os
import re
import resource
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import secure

LONG = 60
certificate = None  # secure.Certificate: servers are by TLS
failures = 0


def check(name, holds, why=""):
    global failures
    print(f"ok: {name}" if holds else f"FAILED: {name} {why}", flush=True)
    failures += not holds
    return holds


def until(condition):
    end = time.monotonic() + LONG
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


# ---- servers ----

class Server:
    def __init__(self, program, *options, limit_files=None):
        def limits():
            if limit_files:
                resource.setrlimit(resource.RLIMIT_NOFILE, (limit_files, limit_files))
        self.log = tempfile.TemporaryFile("w+")
        tls = ("--tls", certificate.chain, certificate.key) if certificate else ()
        self.process = subprocess.Popen(
            [program, "--listen", "127.0.0.1:0", "--workers", "2", "--status", *tls, *options],
            stdout=subprocess.PIPE, stderr=self.log, text=True, preexec_fn=limits)
        line = self.process.stdout.readline()
        said = re.match(r"listening on 127\.0\.0\.1:(\d+)\n", line)
        if not said:
            sys.exit(f"it does not listen: {line!r} {self.errors()!r}")
        self.port = int(said[1])
        self.files_at_first = self.regular()  # standard error is one

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(LONG)
            except subprocess.TimeoutExpired:
                self.process.kill()
                check("the server ends at SIGTERM", False, self.errors())
        code = self.process.wait()
        check("the server ends with 0", code == 0, f"code {code}: {self.errors()}")
        self.process.stdout.close()

    def errors(self):
        self.log.seek(0)
        return self.log.read()

    def connect(self, receive_bytes=None):
        s = socket.socket()
        if receive_bytes:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        s.settimeout(LONG)
        s.connect(("127.0.0.1", self.port))
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return secure.Stream(s, certificate.context) if certificate else s

    def ask(self, request):
        """All that is answered until the server closes."""
        with self.connect() as s:
            s.sendall(request)
            return read_all(s)

    def get(self, path, *fields):
        more = "".join(f + "\r\n" for f in fields)
        answer = self.ask(f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{more}\r\n".encode())
        head, _, content = answer.partition(b"\r\n\r\n")
        return int(answer[9:12]) if answer.startswith(b"HTTP/") else 0, head.decode("latin1"), content

    def status(self):
        answer = self.get("/status")
        while answer[0] == 0:  # this client was late, and was closed as one that is idle
            answer = self.get("/status")
        return json.loads(answer[2])

    def modes(self):
        for entry in Path(f"/proc/{self.process.pid}/fd").iterdir():
            try:
                yield entry.stat().st_mode
            except OSError:
                pass  # it has just been closed

    def regular(self):
        return sum(map(stat.S_ISREG, self.modes()))

    def files(self):
        """Files of the site that are open."""
        return self.regular() - self.files_at_first

    def descriptors(self):
        """All others: connections, and what a runtime has."""
        return sum(not stat.S_ISREG(mode) for mode in self.modes())


def read_all(s):
    found = []
    try:
        while piece := s.recv(65536):
            found.append(piece)
    except (ConnectionResetError, secure.Truncated, TimeoutError) as error:
        found.append(type(error).__name__.encode())
    return b"".join(found)


RESET = b"ConnectionResetError"


def is_cut_off(stream):
    """Whether it ends as what has not come whole: by a reset, or without TLS's own end."""
    return stream.endswith((RESET, b"Truncated") if certificate else RESET)


def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


GET = b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n"
LAST = b"OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


def statuses(stream):
    found, at = [], 0
    while at < len(stream):
        end = stream.find(b"\r\n\r\n", at)
        if end < 0 or stream[at:at + 9] != b"HTTP/1.1 ":
            return found + [f"? {stream[at:at + 40]!r}"]
        status, head = stream[at + 9:at + 12].decode(), stream[at:end + 2]
        found.append(status)
        at = end + 4
        length = re.search(rb"\r\nContent-Length: (\d+)\r\n", head)
        if status in ("100", "204", "304") or not length or stream[at:at + 9] == b"HTTP/1.1 ":
            continue
        if at < len(stream):  # nothing at all: it was a HEAD
            at += int(length[1])
            if at > len(stream):
                return found + ["cut"]
    return found


# ---- a site ----

def make_site(root):
    site = Path(root)
    (site / "dir").mkdir()
    (site / "noindex").mkdir()
    (site / ".git").mkdir()
    (site / "index.html").write_text("index\n")
    (site / "dir/index.html").write_text("dir\n")
    (site / "a.txt").write_text("0123456789")
    os.utime(site / "a.txt", (784111777, 784111777))
    (site / "empty").write_text("")
    (site / ".hidden").write_text("hidden")
    (site / ".git/config").write_text("hidden")
    for name, size in (("4096", 4096), ("4097", 4097), ("64k", 65536), ("big.bin", 200000),
                       ("large", 12345678)):
        (site / name).write_bytes(os.urandom(size))
