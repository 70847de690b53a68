#!/usr/bin/env python3
"""wire.py [--tls] PROGRAM [TEST...]: httpd against clients that are slow, broken or hostile, on raw sockets; with --tls the
same, by TLS.

Prints a line per check, as ../../common/tests/checks.sh does: ok, FAILED or skipped. Exit code 0 if none failed.
Servers listen at port 0 on loopback. What is waited for is an event, or what the server says of
itself (/status), for at most LONG seconds; nothing is expected to be fast."""
import os
import re
import signal
import socket
import stat
import sys
import tempfile
import time
from pathlib import Path

import httpd_kit
import secure
from httpd_kit import GET, LAST, LONG, RESET, Server, check, is_cut_off, make_site, read_all, reset, statuses, until

HERE = Path(__file__).parent


# ---- requests.table, over the wire ----

def rows(etag):
    escapes = {"r": b"\r", "n": b"\n", "t": b"\t", "0": b"\0", "e": b"\r\n", "E": etag,
               "h": b"HTTP/1.1\r\nHost: a\r\n"}
    token = re.compile(r"\\x(..)|\\\{(\d+)\}(.)|\\(.)|(.)", re.S)

    def scheme(raw):
        if not httpd_kit.certificate:
            return raw
        swapped = {b"http://": b"https://", b"https://": b"http://"}
        return re.sub(rb"(?<= )https?://", lambda m: swapped[m[0].lower()], raw, flags=re.I)

    def one(m):
        if m[1]:
            return bytes([int(m[1], 16)])
        if m[2]:
            return int(m[2]) * m[3].encode()
        return escapes.get(m[4], (m[4] or "").encode()) if m[4] else m[5].encode()

    for number, line in enumerate((HERE / "requests.table").read_text().splitlines(), 1):
        if line and not line.startswith("#"):
            expected, section, raw = line.split(" | ", 2)
            yield number, expected.split(), section, scheme(b"".join(map(one, token.finditer(raw))))


# By such a request a client says that it sends no other (RFC 9112, 9.3 and 9.6).
PROMISE = re.compile(rb"\r\nConnection:[^\r\n]*\bclose\b|HTTP/1\.0\r\n", re.I)


def wrong_row(server, expected, raw, piece):
    *wanted, then = expected
    # The server closes for a client that has promised to send nothing more, and lingers for all others.
    # Where LAST breaks the promise, and comes before the server has closed, it is not read, and the
    # connection ends with a reset, behind the whole answer.
    may_reset = then == "close" and PROMISE.search(raw)
    if then == "keep":
        wanted.append("204")
    with server.connect() as s:
        try:
            if then != "wait":
                raw += LAST
            for at in range(0, len(raw), piece):
                s.sendall(raw[at:at + piece])
            if then == "wait":
                s.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has closed already
        stream = read_all(s)
    found = statuses(stream.removesuffix(RESET) if may_reset else stream)
    if found != wanted and "100" in found and "100" not in wanted:
        found.remove("100")  # the body had not come yet
    return f"{found}, not {wanted}" if found != wanted and found != ["100", *wanted] else None


def test_table(program, root):
    options = ("--root", root, "--head-bytes", "4096", "--fields", "20", "--body-bytes", "10000",
               "--requests", "10")
    with Server(program, *options) as server:
        etag = re.search(r"ETag: (\S+)", server.get("/a.txt")[1])[1].encode()
        for piece in (1 << 20, 11, 1):
            wrong = 0
            for number, expected, section, raw in rows(etag):
                if piece == 1 and len(raw) > 3000:
                    continue
                why = wrong_row(server, expected, raw, piece)
                if why:
                    wrong += 1
                    print(f"  requests.table:{number} ({section}): {why}")
            check(f"requests.table over the wire, in pieces of {piece}", wrong == 0)


# ---- content ----

def test_content(program, root):
    with Server(program, "--root", root) as server:
        for name in ("a.txt", "empty", "4096", "4097", "64k", "big.bin", "large"):
            wanted = Path(root, name).read_bytes()
            code, head, content = server.get(f"/{name}")
            check(f"{name} comes whole", code == 200 and content == wanted, head)
        large = Path(root, "large").read_bytes()
        for first, last in ((0, 0), (1, 70000), (len(large) - 1, len(large) - 1), (4095, 4097)):
            code, head, content = server.get("/large", f"Range: bytes={first}-{last}")
            check(f"so does its part {first}-{last}", code == 206 and content == large[first:last + 1]
                  and f"Content-Range: bytes {first}-{last}/{len(large)}" in head, head)
        code, head, _ = server.get("//dir?q=a")
        check("a directory is redirected to itself", code == 301
              and "\r\nLocation: /dir/?q=a\r\n" in head, head)
        code, head, _ = server.get("/status")
        check("the status must not be stored", "\r\nCache-Control: no-store\r\n" in head, head)
        with server.connect() as s:  # many at once, more than fit in one answer
            s.sendall(GET % b"/4096" * 40 + GET % b"/64k" * 3 + GET % b"/a.txt" * 40 + LAST)
            found = statuses(read_all(s))
        check("84 requests at once", found == ["200"] * 83 + ["204"], f"{found}")


def test_no_file(program, root):
    with tempfile.TemporaryDirectory() as outside, Server(program, "--root", root) as server:
        Path(outside, "secret").write_text("secret")
        site = Path(root)
        os.symlink(f"{outside}/secret", site / "absolute")
        os.symlink(f"../{Path(outside).name}/secret", site / "up")
        os.symlink(outside, site / "door")
        os.symlink("dir/index.html", site / "inside")
        os.symlink("loop", site / "loop")
        os.mkfifo(site / "fifo")
        unix = socket.socket(socket.AF_UNIX)
        unix.bind(str(site / "socket"))
        for path in ("/absolute", "/up", "/door/secret", "/loop"):
            code, _, content = server.get(path)
            check(f"a link out of the root is not followed: {path}",
                  code == 404 and b"secret" not in content, f"{code}")
        code, _, content = server.get("/inside")
        check("a link within it is", code == 200 and content == b"dir\n", f"{code}")
        for path in ("/fifo", "/socket"):
            check(f"{path[1:]}: 403", server.get(path)[0] == 403)
        if os.getuid() == 0:
            os.mknod(site / "device", 0o666 | stat.S_IFCHR, os.makedev(1, 5))  # /dev/zero
            check("a device: 403", server.get("/device")[0] == 403)
            print("skipped: a file without permission (root has it)")
        else:
            (site / "forbidden").write_text("no")
            (site / "forbidden").chmod(0)
            check("a file without permission: 403", server.get("/forbidden")[0] == 403)
        unix.close()
        for name in ("absolute", "up", "door", "inside", "loop", "fifo", "socket", "device",
                     "forbidden"):
            (site / name).unlink(missing_ok=True)


def test_cache(program, root):
    with Server(program, "--root", root, "--cache-ms", "300") as server:
        file = Path(root, "changes")
        file.write_text("one")
        check("a file that changes", server.get("/changes")[2] == b"one")
        check("is kept open", until(lambda: server.get("/changes")[2] == b"one" and server.files() == 1))
        Path(root, "new").write_text("two")
        os.rename(Path(root, "new"), file)
        check("is answered as it is, soon", until(lambda: server.get("/changes")[2] == b"two"))
        check("a file that is not asked for is closed", until(lambda: server.files() == 0))
        file.unlink()
        check("and gone when it is removed", until(lambda: server.get("/changes")[0] == 404))
    with Server(program, "--root", root, "--open-files", "4") as server:
        for _ in range(3):
            for name in ("a.txt", "empty", "4096", "4097", "64k", "big.bin", "large", "index.html"):
                server.get(f"/{name}")
        check("no more than 4 files are kept", server.files() <= 4, f"{server.files()}")


# ---- slow and broken clients ----

def trickle(s):
    """Send a byte of a field's name, again and again. Returns what is answered."""
    end = time.monotonic() + LONG
    s.settimeout(0.1)
    while time.monotonic() < end:
        try:
            s.sendall(b"a")
            return s.recv(100)
        except TimeoutError:
            pass
        except OSError:
            break
    return b""


def test_slow(program, root):
    """Each of them waits for a time limit of the server, so all wait at once."""
    limits = ("--request-s", "1", "--send-s", "1")
    with Server(program, "--root", root, *limits) as server, Server(program, "--root", root, "--idle-s", "2") as idle:
        before = server.descriptors()
        stuck, short, slow = server.connect(4096), server.connect(), server.connect()
        silent, answered = idle.connect(), idle.connect()
        stuck.sendall(GET % b"/large")
        short.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc")
        silent.sendall(b"")  # with TLS: the handshake
        answered.sendall(GET % b"/")
        slow.sendall(b"GET / HTTP/1.1\r\n")
        found = trickle(slow)
        check("a head that trickles: 408", found.startswith(b"HTTP/1.1 408 "), f"{found!r}")
        check("a body that does not come: 408", read_all(short).startswith(b"HTTP/1.1 408 "))
        check("a client that takes nothing is given up, and no descriptor is left",
              until(lambda: server.descriptors() == before), f"{server.descriptors()} not {before}")
        check("and sees that it has not got all", is_cut_off(read_all(stuck)))
        for s in (stuck, short, slow):
            s.close()
        # a client of status(), too, may be late here
        check("these are timeouts", server.status()["timeouts"] >= 3, f"{server.status()}")
        check("an idle connection is closed without a word", read_all(silent) == b"")
        answer = read_all(answered)
        for _ in range(LONG):  # this client may be late, too, and is closed without an answer
            if answer.startswith(b"HTTP/"):
                break
            with idle.connect() as s:
                s.sendall(GET % b"/")
                answer = read_all(s)
        check("so is one that was answered", statuses(answer) == ["200"], f"{answer!r}")
        check("these are no timeouts", idle.status()["timeouts"] == 0, f"{idle.status()}")
        for s in (silent, answered):
            s.close()


def test_broken(program, root):
    with Server(program, "--root", root) as server:
        before = server.descriptors()
        for i in range(60):
            s = server.connect(4096)
            s.sendall((b"", b"G", b"GET / HTTP/1.1\r\nHos", GET % b"/large", GET % b"/large" * 3,
                       GET % b"/" * 5)[i % 6])
            if i % 6 >= 3 and i % 2 == 0:
                s.recv(1000)
            if i % 4 < 2:
                reset(s)
            else:
                s.close()
        check("60 connections broken off: none is left",
              until(lambda: server.status()["connections"] == 1), f"{server.status()}")
        check("nor a descriptor", until(lambda: server.descriptors() == before))
        check("and it still serves", server.get("/a.txt")[2] == b"0123456789")
        with server.connect() as s:
            s.sendall(GET % b"/large" + GET % b"/a.txt" + b"GET / HT")
            s.shutdown(socket.SHUT_WR)
            answer = read_all(s)
        check("a client that has closed its side gets all answers",
              statuses(answer) == ["200", "200"] and answer.endswith(b"0123456789"))
        with server.connect() as s:
            s.sendall(b"GET / HTTP/1.1\r\nbad\r\n" + b"x" * 100000)
            answer = read_all(s)
        check("a client that sends on after a refusal sees it",
              statuses(answer) == ["400"], f"{answer[:60]!r}")


def test_truncated(program, root):
    file = Path(root, "shrinks")
    with Server(program, "--root", root) as server:
        with open(file, "wb") as f:
            f.truncate(64 << 20)
        with server.connect(4096) as s:
            s.sendall(GET % b"/shrinks")
            head = s.recv(1000)
            os.truncate(file, 1000)
            rest = read_all(s)
        check("a file that shrinks while it is sent ends the connection",
              head.startswith(b"HTTP/1.1 200 ") and len(rest) < 64 << 20)
        check("as one that was cut off", is_cut_off(rest), f"{rest[-40:]}")
        check("which is counted", until(lambda: server.status()["truncated"] == 1))
        check("and it still serves", server.get("/a.txt")[2] == b"0123456789")
    file.unlink()


# ---- limits ----

def test_limits(program, root):
    with Server(program, "--root", root, "--connections", "4") as server:
        first = [server.connect() for _ in range(4)]
        for s in first:
            s.sendall(GET % b"/a.txt")
            check("a connection within the limit", s.recv(1000).endswith(b"0123456789"))
        later = server.connect()
        later.settimeout(0.3)
        try:
            later.sendall(GET % b"/a.txt")
            waits = not later.recv(1)
        except TimeoutError:
            waits = True
        check("one more waits", waits)
        first[0].close()
        later.settimeout(LONG)
        check("until a place is free", later.recv(1000).endswith(b"0123456789"))
        for s in (*first, later):
            s.close()
    with Server(program, "--root", root, "--buffers", "1", "--request-s", "1") as server:
        with server.connect() as slow, server.connect() as s:
            slow.sendall(b"G")
            s.sendall(GET % b"/a.txt")
            check("a request waits for the only buffer", s.recv(1000).endswith(b"0123456789"))


def test_descriptors(program, root):
    with Server(program, "--root", root, limit_files=40) as server:
        many = [server.connect() for _ in range(60)]
        served = 0
        for s in many[:20]:
            s.sendall(GET % b"/a.txt")
            served += s.recv(1000).startswith(b"HTTP/1.1 ")
        check("without descriptors it serves those that it has", served == 20, f"{served}")
        for s in many[:40]:
            s.close()
        for s in many[40:]:
            s.sendall(GET % b"/a.txt")
        late = sum(s.recv(1000).endswith(b"0123456789") for s in many[40:])
        check("and accepts the others when it has some again", late == 20, f"{late}")
        for s in many[40:]:
            s.close()
        check("which is counted", server.status()["accept_errors"] > 0)


def test_memory(program, root):
    count = 2000
    if re.search(rb"__[at]san_init|^#!", Path(program).read_bytes()):
        print("skipped: the memory of an idle connection (the program is instrumented, or emulated)")
        return
    with Server(program, "--root", root, "--connections", "5000") as server:
        def memory():
            text = Path(f"/proc/{server.process.pid}/smaps_rollup").read_text()
            return int(re.search(r"^Pss:\s+(\d+) kB", text, re.M)[1]) * 1024
        for _ in range(50):
            server.get("/a.txt")
        before, many = memory(), []
        for _ in range(count):
            s = server.connect()
            s.sendall(GET % b"/a.txt")
            s.recv(1000)
            many.append(s)
        each = (memory() - before) / count
        most = 32 if httpd_kit.certificate else 4
        check(f"an idle connection takes at most {most} KiB: {each:.0f} bytes", each <= most * 1024)
        for s in many:
            s.close()
        check("all end", until(lambda: server.status()["connections"] == 1))


# ---- the end ----

def test_stop(program, root):
    late = Server(program, "--root", root, "--stop-s", "1")  # it waits for that beside the other
    stuck = late.connect(4096)
    stuck.sendall(GET % b"/large")
    stuck.recv(200)
    late.process.send_signal(signal.SIGINT)

    server = Server(program, "--root", root, "--stop-s", str(3 * LONG))
    idle, begun, slow = server.connect(), server.connect(), server.connect(4096)
    idle.sendall(GET % b"/a.txt")
    idle.recv(1000)
    begun.sendall(b"GET /a.txt HTTP/1.1\r\nHos")
    slow.sendall(GET % b"/large")
    head = slow.recv(200)
    check("a transfer goes on", until(lambda: server.status()["connections"] == 4))
    server.process.send_signal(signal.SIGTERM)
    check("SIGTERM ends an idle connection", read_all(idle) == b"")
    try:
        refused = not server.connect().recv(1)
    except OSError:
        refused = True
    check("none is accepted any more", refused)
    begun.sendall(b"t: a\r\n\r\n")
    answer = read_all(begun)
    check("a request that was begun is answered, and is the last",
          statuses(answer) == ["200"] and b"\r\nConnection: close\r\n" in answer, f"{answer!r}")
    content = (head + read_all(slow)).partition(b"\r\n\r\n")[2]
    check("the transfer comes to its end", content == Path(root, "large").read_bytes(),
          f"{len(content)}")
    with server:
        check("then it ends by itself", until(lambda: server.process.poll() is not None))
    check("and says so", "0 connections cut off" in server.errors(), server.errors())
    for s in (idle, begun, slow):
        s.close()

    with late:
        check("a client that takes nothing does not hold it up",
              until(lambda: late.process.poll() is not None))
    check("it is cut off", "1 connections cut off" in late.errors(), late.errors())
    check("and sees that", is_cut_off(read_all(stuck)))
    stuck.close()


def test_slow_stop(program, root):
    """A client that takes an answer slowly, but takes it, has until --stop-s, whatever --send-s is. This one takes
    some 3 MB/s."""
    server = Server(program, "--root", root, "--send-s", "2", "--stop-s", str(3 * LONG))
    slow = server.connect(65536)
    slow.sendall(GET % b"/large")
    answer = slow.recv(200)
    server.process.send_signal(signal.SIGTERM)
    rests = len(answer)
    try:
        while piece := slow.recv(65536):
            answer += piece
            if len(answer) > rests:
                time.sleep(0.02)
                rests += 65536
    except (ConnectionResetError, secure.Truncated) as error:
        answer += type(error).__name__.encode()
    content = answer.partition(b"\r\n\r\n")[2]
    check("a transfer that takes longer than --send-s comes to its end behind SIGTERM",
          content == Path(root, "large").read_bytes(), f"{len(content)} {content[-20:]!r}")
    slow.close()
    with server:
        check("and the server behind it", until(lambda: server.process.poll() is not None))
    check("which has cut off none", "0 connections cut off" in server.errors(), server.errors())


def main():
    arguments = sys.argv[1:]
    has_tls = arguments[0] == "--tls"
    program, *wanted = arguments[has_tls:]
    program = os.path.abspath(program)
    with tempfile.TemporaryDirectory() as scratch:
        if has_tls:
            httpd_kit.certificate = secure.Certificate(scratch, "localhost")
        root = os.path.join(scratch, "site")
        os.mkdir(root)
        make_site(root)
        for name, test in list(globals().items()):
            if name.startswith("test_") and (not wanted or name[5:] in wanted):
                test(program, root)
    print(f"{httpd_kit.failures} checks failed" if httpd_kit.failures else "all passed")
    return httpd_kit.failures > 0


if __name__ == "__main__":
    sys.exit(main())
