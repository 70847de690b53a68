#!/usr/bin/env python3
"""echo_test.py PROGRAM: volt-echo against clients that are slow, rude, or many; as an echo and as a
relay, with each back end. After each check the server has as many descriptors as before.

Prints a line per check: ok, FAILED or skipped. Exit code 0 if none failed. Nothing depends on how
fast anything is: what has to happen is waited for, for at most LIMIT seconds."""

import os
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager

LIMIT = 60
WORD = b"0123456789abcdef"
failures = 0


def check(name, run, *args, **named):
    global failures
    try:
        run(*args, **named)
        print("ok:", name, flush=True)
    except Exception as e:  # whatever it is, the other checks follow
        failures += 1
        print(f"FAILED: {name}: {type(e).__name__}: {e}", flush=True)


def require(condition, what):
    if not condition:
        raise AssertionError(what)


def wait_until(condition, what):
    end = time.monotonic() + LIMIT
    while not condition():
        require(time.monotonic() < end, f"not within {LIMIT} s: {what}")
        time.sleep(0.005)


# ---- the server ----

class Server:
    def __init__(self, back_end, *arguments, descriptors=None):
        def limit():
            if descriptors:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [program, *arguments], stdout=subprocess.PIPE, stderr=self.errors, preexec_fn=limit,
            env={**os.environ, "VOLT_IO": back_end})
        line = self.process.stdout.readline().decode()
        if not line.startswith("listening on "):
            self.process.wait(LIMIT)
            raise RuntimeError(f"it did not start: {self.said()}")
        self.address = line[len("listening on "):].rstrip("\n")
        self.idle = self.descriptors()

    def said(self):
        return os.pread(self.errors.fileno(), 1 << 20, 0).decode()  # the server shares the offset

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def memory_kib(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1])

    def connect(self):
        if self.address.startswith("unix:"):
            s = socket.socket(socket.AF_UNIX)
            name = self.address[len("unix:"):]
            to = "\0" + name[1:] if name.startswith("@") else name
        else:
            host, port = self.address.rsplit(":", 1)
            s = socket.socket(socket.AF_INET6 if host.startswith("[") else socket.AF_INET)
            to = ({"[::]": "::1"}.get(host, host.strip("[]")), int(port))
        s.settimeout(LIMIT)
        s.connect(to)
        return s

    def end(self, number=signal.SIGTERM):
        """Returns its exit code, connections and bytes."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(LIMIT)
        served = re.search(r"served (\d+) connections, (\d+) bytes", self.process.stdout.read().decode())
        return (code, int(served[1]), int(served[2])) if served else (code, None, None)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


@contextmanager
def serving(back_end, *arguments, **how):
    server = Server(back_end, *arguments, **how)
    try:
        yield server
    finally:
        server.kill()


# ---- clients ----

def read_exactly(s, size):
    got = bytearray()
    while len(got) < size:
        part = s.recv(min(size - len(got), 1 << 20))
        require(part, f"the end after {len(got)} of {size} bytes")
        got += part
    return bytes(got)


def read_to_end(s):
    got = bytearray()
    while part := s.recv(1 << 16):
        got += part
    return bytes(got)


def pattern(size, seed=0):
    return bytes((seed + i * 7 + (i >> 8)) & 0xff for i in range(min(size, 1 << 16))) * (
        -(-size // (1 << 16)))


def exchange(s, data):
    """Send and receive at the same time, so that neither side fills up."""
    sender = threading.Thread(target=s.sendall, args=(data,))
    sender.start()
    got = read_exactly(s, len(data))
    sender.join()
    require(got == data, "other bytes came back")


def sizes(server):
    for size in (1, 64, 16384, 16385, 1 << 20):
        with server.connect() as s:
            exchange(s, pattern(size)[:size])
            exchange(s, pattern(size, 1)[:size])


def one_byte_writer(server):
    with server.connect() as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for i in range(500):
            s.sendall(WORD[i % 16:i % 16 + 1])
        require(read_exactly(s, 500) == (WORD * 32)[:500], "other bytes came back")


def many(server):
    with_all = [server.connect() for _ in range(200)]
    for i, s in enumerate(with_all):
        s.sendall(b"%04d" % i)
    for i, s in reversed(list(enumerate(with_all))):
        require(read_exactly(s, 4) == b"%04d" % i, "another connection's bytes")
        s.close()


def half_closed(server):
    for size in (0, 5, 300000):
        with server.connect() as s:
            data = pattern(size)[:size]
            sender = threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR)))
            sender.start()
            require(read_to_end(s) == data, "not all came back before the end")
            sender.join()


def slow_reader(server):
    """Sends and does not read until nothing more goes out: the server waits, and stores nothing."""
    with server.connect() as s:
        before = server.memory_kib()
        s.setblocking(False)
        data, sent, since = pattern(1 << 22), 0, time.monotonic()
        while time.monotonic() - since < 0.5 and sent < 1 << 28:
            try:
                at = sent % len(data)
                sent += s.send(data[at:at + (1 << 16)])
                since = time.monotonic()
            except BlockingIOError:
                time.sleep(0.01)
        require(sent < 1 << 28, "the server takes all that comes, and stores it")
        require(server.memory_kib() - before < 8192, "the server's memory grows")
        s.settimeout(LIMIT)
        s.shutdown(socket.SHUT_WR)
        got = read_to_end(s)
        require(len(got) == sent, f"{len(got)} of {sent} bytes came back")
        require(got == (data * (sent // len(data) + 1))[:sent], "other bytes came back")


def aborts(server):
    """Resets connections at every stage."""
    for size in (0, 1, 100000):
        for _ in range(20):
            s = server.connect()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.setblocking(False)
            if size:
                s.send(pattern(size))
            s.close()
    with server.connect() as s:
        exchange(s, WORD)


def same_descriptors(server, run):
    run(server)
    wait_until(lambda: server.descriptors() == server.idle,
               f"{server.idle} descriptors, as in the beginning (now {server.descriptors()})")


RUNS = [sizes, one_byte_writer, many, half_closed, slow_reader, aborts]


# ---- echo ----

def test_echo(back_end):
    for workers in ("1", "2"):
        with serving(back_end, "--workers", workers) as server:
            for run in RUNS:
                check(f"{back_end}, {workers} workers: {run.__name__}", same_descriptors, server, run)
            check("ends with 0", ends_with_zero, server)


def test_fibers(back_end):
    for workers in ("1", "2"):
        with serving(back_end, "--workers", workers, "--fibers") as server:
            for run in RUNS:
                check(f"{back_end}, fibers, {workers} workers: {run.__name__}", same_descriptors,
                      server, run)
            check("ends with 0", ends_with_zero, server)


def ends_with_zero(server):
    code, connections, sent = server.end()
    require(code == 0, f"exit code {code}: {server.said()}")
    require(connections > 200 and sent > 1 << 20, f"it says {connections} connections, {sent} bytes")
    require(server.said() == "", server.said())


def test_addresses(back_end):
    def echoes(address):
        with serving(back_end, "--listen", address) as server, server.connect() as s:
            exchange(s, WORD)
            s.close()
            require(server.end()[:2] == (0, 1), "it says so")
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/s"
        check("[::1]", echoes, "[::1]:0")
        check("every address", echoes, ":0")
        check("unix", echoes, f"unix:{path}")
        check("its path is removed", require, not os.path.exists(path), "it is there")
        with serving(back_end, "--listen", f"unix:{path}") as server:
            server.kill()
            wait_until(lambda: refused(server), "the system has closed all that it had")
        check("a path that was left behind is taken over", echoes, f"unix:{path}")
    check("abstract", echoes, f"unix:@volt-echo-test.{os.getpid()}")


def test_buffer(back_end):
    with serving(back_end, "--buffer", "1") as server:
        check("a buffer of one byte", lambda: exchange(server.connect(), pattern(5000)[:5000]))


def without_descriptors(back_end):
    with serving(back_end, "--workers", "1", descriptors=40) as server:
        clients = [server.connect() for _ in range(60)]  # the system's queue takes the others
        for s in clients:
            s.sendall(WORD)
        wait_until(lambda: server.said() != "", "the server says that it cannot accept")
        for s in clients:
            require(read_exactly(s, len(WORD)) == WORD, "other bytes")
            s.close()
        require(server.said().startswith("volt-echo: cannot accept a connection: Too many open files"),
                server.said())
        require(server.said().count("\n") < 60, "it says so again and again")
        ended = server.end()
        require(ended[:2] == (0, 60), f"it has served all: {ended} {server.said()}")


def ended_while_it_waits(back_end):
    """A signal comes while it cannot accept: that is no failure."""
    with serving(back_end, "--workers", "1", "--grace", "0", descriptors=40) as server:
        clients = [server.connect() for _ in range(60)]
        wait_until(lambda: server.said() != "", "the server says that it cannot accept")
        code, connections, _ = server.end()
        require(code == 0 and 0 < connections < 60, f"exit code {code}, {connections} served: {server.said()}")
        for s in clients:
            s.close()


def graceful(back_end):
    with serving(back_end, "--grace", "1000") as server:
        with server.connect() as s:
            exchange(s, WORD)
            server.process.send_signal(signal.SIGTERM)
            wait_until(lambda: refused(server), "no more connections are accepted")
            exchange(s, WORD)
            require(server.process.poll() is None, "it has ended with a connection")
        require(server.process.wait(LIMIT) == 0, "exit code")
        require(server.end()[2] == 32, "it says so")


def refused(server):
    try:
        server.connect().close()
        return False
    except ConnectionResetError:  # it came as the listener was closed
        return False
    except ConnectionRefusedError:
        return True


def cut_off(back_end):
    with serving(back_end, "--grace", "0") as server, server.connect() as s:
        exchange(s, WORD)
        require(server.end(signal.SIGINT) == (0, 1, 16), "it says so")
        require(s.recv(1) == b"", "the connection is closed")


def second_signal(back_end):
    with serving(back_end, "--grace", "1000") as server, server.connect() as s:
        exchange(s, WORD)
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: refused(server), "no more connections are accepted")
        require(server.end()[0] == -signal.SIGTERM, "the second signal ends it")


# ---- relay ----

def test_relay(back_end):
    with serving(back_end) as behind:
        for workers in ("1", "2"):
            with serving(back_end, "--workers", workers, "--relay-to", behind.address) as server:
                for run in RUNS:
                    check(f"{back_end}, relay, {workers} workers: {run.__name__}", same_descriptors,
                          server, run)
                check("ends with 0", ends_with_zero, server)
    check("to a name", relay_to_name, back_end)
    check("to no server", relay_to_nothing, back_end)
    check("each side ends by itself", relay_half_closed, back_end)
    check("an abort is passed on", relay_aborted, back_end)


def relay_to_name(back_end):
    with serving(back_end, "--listen", ":0") as behind:
        port = behind.address.rsplit(":", 1)[1]
        with serving(back_end, "--relay-to", f"localhost:{port}") as server, server.connect() as s:
            exchange(s, WORD)


def relay_to_nothing(back_end):
    with serving(back_end, "--listen", f"unix:@volt-echo-test.gone.{os.getpid()}") as gone:
        gone.end()
    with serving(back_end, "--relay-to", f"unix:@volt-echo-test.gone.{os.getpid()}") as server:
        for _ in range(3):
            with server.connect() as s:
                require(s.recv(1) == b"", "it is closed")
        require(server.end()[:2] == (0, 3), "it goes on")
        require(f"volt-echo: unix:@volt-echo-test.gone.{os.getpid()}: Connection refused"
                in server.said(), server.said())


@contextmanager
def relayed(back_end):
    """Yields both ends of a connection through the relay."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        to = "127.0.0.1:%d" % listener.getsockname()[1]
        with serving(back_end, "--relay-to", to) as server, server.connect() as client:
            listener.settimeout(LIMIT)
            behind, _ = listener.accept()
            with behind:
                behind.settimeout(LIMIT)
                yield client, behind


def relay_half_closed(back_end):
    with relayed(back_end) as (client, behind):
        client.sendall(b"request")
        client.shutdown(socket.SHUT_WR)
        require(read_to_end(behind) == b"request", "the request, and its end")
        behind.sendall(b"answer")
        require(read_exactly(client, 6) == b"answer", "the answer, after that")
        behind.shutdown(socket.SHUT_WR)
        require(client.recv(1) == b"", "and its end")
    with relayed(back_end) as (client, behind):
        behind.sendall(b"greeting")
        behind.shutdown(socket.SHUT_WR)
        require(read_to_end(client) == b"greeting", "the greeting, and its end")
        client.sendall(b"still here")
        require(read_exactly(behind, 10) == b"still here", "the other way is open")


def relay_aborted(back_end):
    for which in (0, 1):
        with relayed(back_end) as ends:
            ends[0].sendall(WORD)
            read_exactly(ends[1], len(WORD))
            one, other = ends[which], ends[1 - which]
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.close()
            try:
                require(other.recv(1) == b"", "the other side sees an end")
            except ConnectionResetError:
                pass


# ---- the command line ----

def test_usage():
    def run(code, words, *arguments, back_end="epoll"):
        done = subprocess.run([program, *arguments], capture_output=True, timeout=LIMIT, text=True,
                              env={**os.environ, "VOLT_IO": back_end})
        require(done.returncode == code, f"exit code {done.returncode}, not {code}")
        said = done.stdout if code == 0 else done.stderr
        require(words in said, said)
    check("--help", run, 0, "usage: volt-echo", "--help")
    for option in ("--workers", "--buffer", "--grace"):
        for wrong in ("", "x", "-1", "1x", "99999999999"):
            check(f"{option} '{wrong}'", run, 2, f"volt-echo: {option} wants a number", option, wrong)
    check("an argument", run, 2, "'x' is no option", "x")
    check("an unknown option", run, 2, "usage:", "--unknown")
    check("no address", run, 1, "'nowhere' is no address to listen at", "--listen", "nowhere")
    check("not here", run, 1, "Cannot assign requested address", "--listen", "192.0.2.1:1")
    check("VOLT_IO", run, 1, "VOLT_IO is not 'uring' or 'epoll'", back_end="magic")
    with serving("epoll") as server:
        check("a port that is taken", run, 1, "Address already in use", "--listen", server.address)


def main():
    test_usage()
    for back_end in ("epoll", "uring"):
        try:
            with serving(back_end):
                pass
        except RuntimeError as e:
            if back_end == "epoll":
                raise
            print(f"skipped: {back_end} ({e})")
            continue
        test_echo(back_end)
        test_fibers(back_end)
        test_relay(back_end)
        test_addresses(back_end)
        test_buffer(back_end)
        check("descriptors run out, and no connection is lost", without_descriptors, back_end)
        check("a signal ends it meanwhile", ended_while_it_waits, back_end)
        check("a signal lets connections end", graceful, back_end)
        check("but not for longer than --grace", cut_off, back_end)
        check("a second signal does not wait", second_signal, back_end)
    if failures:
        print(failures, "checks failed")
    return 1 if failures else 0


if len(sys.argv) != 2:
    sys.exit(f"usage: {sys.argv[0]} PROGRAM")
program = os.path.realpath(sys.argv[1])
sys.exit(main())
