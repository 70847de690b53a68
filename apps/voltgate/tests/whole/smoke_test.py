"""voltgate as a whole, on loopback: it starts, listens, queues, relays, reloads, drains and ends.

    python3 smoke_test.py PATH-OF-VOLTGATE
"""
import os
import re
import resource
import signal
import socket
import ssl
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../../../tests/support"))

from ports import keep_port

VOLTGATE = [sys.argv[1]]
PATIENCE = 60  # seconds: no check takes that long unless it fails


def until(what, holds):
    """Wait until holds() is true."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        value = holds()
        if value:
            return value
        time.sleep(0.005)
    raise AssertionError("never: " + what)


class Server:
    """Answers each piece that it receives in capitals; greets nobody."""

    def __init__(self, head=0):
        self.head = head  # bytes that come before all else
        self.heads = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1000)
        self.port = self.listener.getsockname()[1]
        self.connections = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection:
            try:
                if self.head:
                    self.heads.append(connection.recv(self.head, socket.MSG_WAITALL))
                while data := connection.recv(65536):
                    connection.sendall(data.upper())
            except OSError:
                pass


class Gate:
    """A voltgate that runs."""

    def __init__(self, *options, before=None, environment=None, pass_fds=(), listeners=1):
        self.lines = []
        self.process = subprocess.Popen(
            VOLTGATE + list(options), stderr=subprocess.PIPE, text=True, preexec_fn=before,
            env={**os.environ, **(environment or {})}, pass_fds=pass_fds)
        threading.Thread(target=self.read, daemon=True).start()
        until("it listens", lambda: len(self.addresses()) >= listeners or self.process.poll() is not None)
        assert self.process.poll() is None, self.said()

    def read(self):
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))

    def said(self):
        return "\n".join(self.lines)

    def addresses(self, gate="main"):
        found = re.compile(r"voltgate: gate %s: listening on (\S+)$" % re.escape(gate))
        return [m.group(1) for m in map(found.match, list(self.lines)) if m]

    def port(self, gate="main", nth=-1):
        return int(self.addresses(gate)[nth].rpartition(":")[2])

    def connect(self, gate="main"):
        return Client(socket.create_connection(("127.0.0.1", self.port(gate)), PATIENCE))

    def signal(self, number):
        self.process.send_signal(number)

    def says(self, words, times=1):
        until("it says: " + words, lambda: self.said().count(words) >= times)

    def end(self):
        self.signal(signal.SIGTERM)
        self.ended()

    def ended(self, code=0):
        try:
            got = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError("it does not end:\n" + self.said()) from None
        assert got == code, "exit code %d instead of %d:\n%s" % (got, code, self.said())


class Client:
    def __init__(self, connection):
        self.connection = connection
        self.connection.settimeout(PATIENCE)

    def send(self, data):
        self.connection.sendall(data)

    def receive(self, size):
        data = b""
        while len(data) < size and (piece := self.connection.recv(size - len(data))):
            data += piece
        return data

    def ask(self, data):
        self.send(data)
        got = self.receive(len(data))
        assert got == data.upper(), got

    def rest(self):
        """All that comes before the end."""
        data = b""
        while piece := self.connection.recv(65536):
            data += piece
        return data

    def is_quiet(self, seconds=0.05):
        """Nothing comes for a while, not even an end."""
        self.connection.settimeout(seconds)
        try:
            self.connection.recv(1)
            return False
        except TimeoutError:
            return True
        finally:
            self.connection.settimeout(PATIENCE)

    def close(self):
        self.connection.close()


def run(*options, **how):
    return subprocess.run(VOLTGATE + list(options), capture_output=True, text=True,
                          timeout=PATIENCE, **how)


# ---- each check ----


def check_commands(server, directory):
    assert run("--version").returncode == 0
    assert "usage" in run("--help").stdout.lower()
    assert run("--no-such-option").returncode == 2
    assert run("--listen", ":0").returncode == 2  # without --to
    taken = socket.create_server(("127.0.0.1", 0))
    address = "127.0.0.1:%d" % taken.getsockname()[1]
    refused = run("--listen", address, "--to", "127.0.0.1:1")
    assert refused.returncode == 1 and address in refused.stderr, refused
    taken.close()


def check_queue_and_relay(server, directory):
    log = os.path.join(directory, "access.log")
    gate = Gate("--listen", "127.0.0.1:0", "--to", "127.0.0.1:%d" % server.port, "--limit", "1",
                "--queue", "1", "--refuse", "http", "--access-log", log)
    first, second = gate.connect(), None
    first.ask(b"hello")
    second = gate.connect()
    second.send(b"queued")
    assert second.is_quiet()
    third = gate.connect()
    words = third.rest()
    assert words.startswith(b"HTTP/1.1 503") and b"Retry-After" in words, words
    third.close()
    first.close()
    assert second.receive(6) == b"QUEUED"
    large = os.urandom(1 << 16).hex().encode() * 8  # 1 MiB: more than the buffers on the way hold
    sender = threading.Thread(target=second.send, args=(large,))
    sender.start()
    assert second.receive(len(large)) == large.upper()
    sender.join()
    second.connection.shutdown(socket.SHUT_WR)
    assert second.rest() == b""
    second.close()
    gate.end()
    with open(log, encoding="ascii") as lines:
        ends = sorted(re.findall(r"end=(\S+)", lines.read()))
    assert ends == ["client", "client", "refused:queue-full"], ends


def check_drain(server, directory):
    to = "127.0.0.1:%d" % server.port
    gate = Gate("--listen", "127.0.0.1:0", "--to", to, "--limit", "1")
    first, second = gate.connect(), gate.connect()
    first.ask(b"here")
    second.send(b"in the queue")
    assert second.is_quiet()
    gate.signal(signal.SIGTERM)
    gate.says("drain")
    until("it refuses", lambda: is_refused(gate))
    first.ask(b"still here")
    first.close()
    assert second.receive(12) == b"IN THE QUEUE"
    second.close()
    gate.ended()

    gate = Gate("--listen", "127.0.0.1:0", "--to", to, "--drain-timeout", "200ms")
    first = gate.connect()
    first.ask(b"here")
    gate.signal(signal.SIGTERM)
    assert first.rest() == b""
    gate.ended()

    gate = Gate("--listen", "127.0.0.1:0", "--to", to, "--drain-timeout", "1h")
    first = gate.connect()
    first.ask(b"here")
    gate.signal(signal.SIGINT)
    gate.says("drain")
    gate.signal(signal.SIGINT)
    assert first.rest() == b""
    gate.ended()


def is_refused(gate):
    try:
        gate.connect().close()
        return False
    except ConnectionRefusedError:
        return True


def check_reload(server, directory):
    path = os.path.join(directory, "voltgate.ini")
    to = "to = 127.0.0.1:%d\n" % server.port

    def write(*sections):
        with open(path, "w", encoding="ascii") as file:
            file.write("".join(sections))

    write("[gate main]\nlisten = 127.0.0.1:0\nlimit = 1\n", to)
    gate = Gate("--config", path)
    first, second = gate.connect(), gate.connect()
    first.ask(b"first")
    second.send(b"second")
    assert second.is_quiet()

    write("[gate main]\nlisten = 127.0.0.1:0\nlimit = 2\n", to,
          "[gate shop]\nlisten = 127.0.0.1:0\n", to)
    gate.signal(signal.SIGHUP)
    assert second.receive(6) == b"SECOND"  # the limit is 2 now
    until("the new gate listens", lambda: gate.addresses("shop"))
    shop = gate.connect("shop")
    shop.ask(b"shop")

    write("[gate main]\nlisten = no address\nlimit = 1\n", to)
    gate.signal(signal.SIGHUP)
    gate.says("nothing was changed")
    gate.connect("shop").ask(b"there")

    here = gate.addresses()[0]  # the port that it got: written out, it is the same listener
    write("[gate main]\nlisten = %s\nlimit = 3\n" % here, to, "[gate shop]\nlisten = 127.0.0.1:0\n", to)
    gate.signal(signal.SIGHUP)
    gate.says("reload:", times=3)
    gate.connect().ask(b"where it was")

    write("[gate main]\nlisten = 127.0.0.1:0, [::1]:0\nlimit = 5\n", to)
    gate.signal(signal.SIGHUP)
    until("it listens at another address", lambda: len(gate.addresses()) == 2)
    until("the gate that is gone accepts no more", lambda: is_shop_gone(gate))
    shop.ask(b"who is here stays")
    shop.close()
    first.ask(b"first")
    first.close()
    second.close()
    gate.end()


def is_shop_gone(gate):
    try:
        gate.connect("shop").close()
        return False
    except ConnectionRefusedError:
        return True


def check_unix_sockets(server, directory):
    path = os.path.join(directory, "gate.sock")
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(path)
    stale.close()
    name = "@voltgate-smoke-%d" % os.getpid()
    gate = Gate("--listen", "unix:" + path, "--listen", "unix:" + name,
                "--to", "127.0.0.1:%d" % server.port, listeners=2)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o660, oct(os.stat(path).st_mode)
    for address in path, "\0" + name[1:]:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(address)
        client = Client(connection)
        client.ask(b"by a path or a name")
        client.close()
    gate.end()
    assert not os.path.exists(path)


def check_service_manager(server, directory):
    listener = socket.create_server(("127.0.0.1", 0))
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.settimeout(PATIENCE)
    path = os.path.join(directory, "notify")
    notify.bind(path)
    number = listener.fileno()

    def before():
        if number != 3:
            os.dup2(number, 3)
        os.set_inheritable(3, True)

    shell = 'LISTEN_PID=$$ exec "$@"'
    gate = Gate.__new__(Gate)
    gate.lines = []
    gate.process = subprocess.Popen(
        ["sh", "-c", shell, "sh", *VOLTGATE, "--listen", "fd:web", "--to",
         "127.0.0.1:%d" % server.port],
        stderr=subprocess.PIPE, text=True, preexec_fn=before, close_fds=False,
        env={**os.environ, "LISTEN_FDS": "1", "LISTEN_FDNAMES": "web", "NOTIFY_SOCKET": path})
    threading.Thread(target=gate.read, daemon=True).start()
    until("it listens", gate.addresses)
    assert b"READY=1" in notify.recv(4096)
    gate.connect().ask(b"inherited")
    gate.signal(signal.SIGHUP)
    assert b"RELOADING=1" in notify.recv(4096)
    assert b"READY=1" in notify.recv(4096)
    gate.signal(signal.SIGTERM)
    until("it says STOPPING=1", lambda: b"STOPPING=1" in notify.recv(4096))
    gate.ended()
    listener.close()
    notify.close()


def check_few_descriptors(server, directory):
    to = "127.0.0.1:%d" % server.port
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    refused = run("--listen", "127.0.0.1:0", "--to", to, "--limit", "100", preexec_fn=few)
    assert refused.returncode == 1 and "descriptors" in refused.stderr, refused
    gate = Gate("--listen", "127.0.0.1:0", "--to", to, "--limit", "4", before=few)
    clients = [gate.connect() for _ in range(60)]
    gate.says("accept pauses")
    for number, client in enumerate(clients):
        client.ask(b"client %d" % number)  # each is served when those before it have gone
        client.close()
    gate.says("accept goes on")
    gate.end()


def check_proxy_headers(server, directory):
    head = Server(head=28)
    gate = Gate("--listen", "127.0.0.1:0", "--to", "127.0.0.1:%d" % head.port, "--proxy-in", "v2",
                "--proxy-out", "v2")
    signature = b"\r\n\r\n\0\r\nQUIT\n"
    header = signature + struct.pack("!BBH4s4sHH", 0x21, 0x11, 12, bytes([192, 0, 2, 7]),
                                     bytes([192, 0, 2, 8]), 4711, 80)
    client = gate.connect()
    for byte in header:
        client.send(bytes([byte]))
    client.ask(b"after the header")
    assert head.heads[0][:24] == header[:16] + bytes([192, 0, 2, 7]) + head.heads[0][20:24]
    client.close()
    stranger = gate.connect()
    stranger.send(b"GET / HTTP/1.1\r\n\r\n")
    assert stranger.rest() == b""
    stranger.close()
    gate.end()


def check_tls(server, directory):
    cert, key = os.path.join(directory, "cert.pem"), os.path.join(directory, "key.pem")
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "1", "-subj", "/CN=localhost", "-keyout", key, "-out", cert],
        capture_output=True, check=False)
    assert made.returncode == 0, made.stderr
    gate = Gate("--listen", "127.0.0.1:0", "--to", "127.0.0.1:%d" % server.port, "--tls", "server",
                "--tls-cert", cert, "--tls-key", key)
    context = ssl.create_default_context(cafile=cert)
    plain = gate.connect()
    secure = Client(context.wrap_socket(plain.connection, server_hostname="localhost"))
    secure.ask(b"in secret")
    secure.ask(b"x" * 100000)
    secure.close()
    gate.end()
    gate = Gate("--listen", "127.0.0.1:0", "--to", "127.0.0.1:%d" % server.port, "--tls", "server",
                "--tls-cert", cert, "--tls-key", key, "--login-timeout", "300ms")
    silent = gate.connect()
    assert silent.rest() == b""  # login-timeout
    silent.close()
    gate.end()


def check_server_away(server, directory):
    port = keep_port()
    gate = Gate("--listen", "127.0.0.1:0", "--to", "127.0.0.1:%d" % port, "--refuse", "http")
    for _ in range(4):
        client = gate.connect()
        words = client.rest()
        assert b"503" in words and b"refused" in words, words
        client.close()
    gate.says("breaker open")
    back = socket.create_server(("127.0.0.1", port))
    gate.says("breaker closed")
    client = gate.connect()
    client.close()
    back.close()
    gate.end()


CHECKS = [check_commands, check_queue_and_relay, check_drain, check_reload, check_unix_sockets,
          check_service_manager, check_few_descriptors, check_proxy_headers, check_tls,
          check_server_away]


def main():
    server = Server()
    chosen = sys.argv[2:]
    for check in CHECKS:
        if chosen and check.__name__ not in chosen:
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as directory:
            check(server, directory)
        print("%-24s %.1f s" % (check.__name__, time.monotonic() - began), flush=True)


main()
