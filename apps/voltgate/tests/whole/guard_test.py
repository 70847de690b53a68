"""What somebody tries who means harm: as a client without a password, as a web page, as a name.

    python3 guard_test.py PROGRAM [test]...
"""
import os
import pwd
import select
import shutil
import signal
import socket
import ssl
import struct
import subprocess

from voltgate_kit import (Gate, Redis, Resp, Skip, Upstream, connect, equal, gate_is_there, program,
                          receive_all, redis, require, run_tests, scratch, wait_until)


# ---- the admin side ----

def ask(gate, request):
    """Sends bytes to the admin side. Returns the statuses of the answers."""
    with socket.create_connection(("127.0.0.1", gate.admin_port), timeout=5) as s:
        s.sendall(request.replace(b"PORT", str(gate.admin_port).encode()))
        s.shutdown(socket.SHUT_WR)
        answer = b""
        try:
            while piece := s.recv(65536):
                answer += piece
        except ConnectionResetError:
            pass
    return [int(line[9:12]) for line in answer.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]


HOSTS = [  # Host, status of GET /health
    ("localhost", 200), ("127.0.0.1:PORT", 200), ("[::1]:PORT", 200), ("LOCALHOST:1", 200),
    ("evil.example", 403), ("127.0.0.1.evil.example", 403), ("localhost.evil.example", 403),
    ("2130706433", 403), ("0x7f.1", 403), ("", 400), ("evil@127.0.0.1", 400),
    ("127.0.0.1@evil.example", 400), ("[::1]evil.example", 400), ("[::1]:x", 400),
    ("127.0.0.1:1:2", 400), ("localhost\r\nHost: evil.example", 400),
]
ORIGINS = [  # Origin, status of a change with the right token
    (None, 200), ("http://localhost:PORT", 200), ("http://evil.example", 403), ("null", 403),
    ("http://localhost", 403), ("https://localhost:PORT", 403), ("http://localhost:PORT.evil", 403),
    ("http://evil.example\r\nOrigin: http://localhost:PORT", 403),
]
TOKENS = [  # Authorization, status of a change
    (None, 401), ("Bearer", 401), ("Bearer ", 401), ("Basic dTpw", 401), ("Bearer TOKE", 401),
    ("Bearer TOKENx", 401), ("Bearer TOKEN\r\nAuthorization: Bearer TOKEN", 401),
    ("Bearer TOKEN\0", 400),
]
FRAMINGS = [  # fields that say where the request ends, status; nothing behind it is taken for one
    ("Content-Length: 1\r\nContent-Length: 2", 400), ("Content-Length: +1", 400),
    ("Content-Length: 1, 1", 400), ("Content-Length: 0x1", 400),
    ("Transfer-Encoding: chunked\r\nContent-Length: 5", 400), ("Transfer-Encoding: chunked", 411),
    ("Transfer-Encoding : chunked", 400), ("Transfer-Encoding: xchunked", 400),
    ("X: y\r\n folded", 400), ("X: a\rb", 400), ("X\0: y", 400),
    ("Content-Length: 18446744073709551617", 413), ("X: " + 100000 * "a", 431),
    (5000 * "a: b\r\n" + "b: c", 431),
]
OTHERS = [  # request line, status
    ("OPTIONS /gates/main/limit", 405), ("TRACE /status", 405), ("POST /gates/main/limit", 405),
    ("GET /reload", 405), ("HEAD /drain", 405), ("CONNECT /status", 501), ("get /status", 501),
    ("GET /../status", 400), ("GET /%2e%2e/status", 400), ("GET /status%00", 400),
    ("GET /etc/passwd", 404), ("GET /queue?limit=10001", 400), ("GET /queue?limit=-1", 400),
]


def admin_side():
    """the admin side: foreign hosts, pages and framings; nothing is changed by them"""
    upstream = Upstream()
    gate = Gate(to=f"127.0.0.1:{upstream.port}", limit=2)

    def change(fields, body="3"):
        fields += f"\r\nContent-Length: {len(body)}"
        return (f"PUT /gates/main/limit HTTP/1.1\r\n{fields}\r\n\r\n{body}"
                .replace("TOKEN", gate.TOKEN).encode())

    for host, status in HOSTS:
        equal(ask(gate, f"GET /health HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()), [status],
              f"Host: {host}")
    for token, status in TOKENS:
        fields = "Host: localhost" + (f"\r\nAuthorization: {token}" if token else "")
        equal(ask(gate, change(fields)), [status], f"Authorization: {token!r}")
    behind = "0\r\n\r\nPOST /drain HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\n\r\n"
    for framing, status in FRAMINGS:
        request = (f"PUT /gates/main/limit HTTP/1.1\r\nHost: localhost\r\n"
                   f"Authorization: Bearer TOKEN\r\n{framing}\r\n\r\n{behind}")
        equal(ask(gate, request.replace("TOKEN", gate.TOKEN).encode()), [status], framing[:60])
    for line, status in OTHERS:
        equal(ask(gate, f"{line} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()), [status], line)
    equal(gate.status()["limit"], 2, "the limit")
    equal(gate.whole_status()["state"], "running", "the state")
    for origin, status in ORIGINS:
        fields = "Host: localhost:PORT\r\nAuthorization: Bearer TOKEN"
        fields += f"\r\nOrigin: {origin}" if origin else ""
        equal(ask(gate, change(fields)), [status], f"Origin: {origin}")
    require(gate.TOKEN not in gate.said(), "the log does not have the token")


# ---- names ----

NAMES = [b"<script>alert(1)</script>", b"a\nlevel=error gate=x", b"\x1b[2J\x1b]0;x\x07", b"\xc2\x9b2J",
         b"\xff\xfe\x80", b'a"b\\c', b"x" * 63, b"\xe2\x80\xae", b"a\rb", b"other", b" ", b"\x7f"]


def startup(user):
    packet = struct.pack("!I", 196608) + b"user\0" + user + b"\0\0"
    return struct.pack("!I", len(packet) + 4) + packet


def controls(raw):
    return [byte for byte in raw if (byte < 32 and byte != 10) or byte == 127] or b"\xc2\x9b" in raw


def names():
    """users' names: no control byte and no tag in logs, JSON, metrics and top; tenant-max holds"""
    upstream = Upstream()
    where = scratch()
    gate = Gate(to=f"127.0.0.1:{upstream.port}", protocol="postgres", tenant_by="user",
                tenant_max=len(NAMES) + 5,
                arguments=["--access-log", f"{where}/text", "--log", f"{where}/log"])
    clients = []
    for name in [*NAMES, *(b"user%d" % i for i in range(100))]:
        clients.append(connect(gate.port))
        clients[-1].sendall(startup(name))
    wait_until(lambda: len(upstream.arrived) == len(clients), "all have come")
    for path in "/status", "/queue", "/metrics":
        code, text = gate.http("GET", path)
        equal(code, 200, path)
        require(not controls(text.encode()), f"{path} has no control byte")
        require(path == "/metrics" or "<script" not in text, f"{path} has no tag")
    gate.metrics()
    tenants = [t["name"] for t in gate.status()["tenants"]]
    require(len(NAMES) <= len(tenants) <= len(NAMES) + 6, f"tenants: {len(tenants)}")
    top = subprocess.run([program(), "top", "--once", "--admin", f"127.0.0.1:{gate.admin_port}"],
                         capture_output=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    require(not controls(top.stdout), f"top has no control byte: {top.stdout!r}")
    for client in clients:
        client.close()
    gate.settle()
    equal(gate.stop(), 0, "the exit")
    with open(f"{where}/text", "rb") as log:
        lines = log.read()
    require(not controls(lines), "the access log has no control byte")
    equal(lines.count(b"\n"), len(clients), "a line of each client")


# ---- what comes before a password ----

FIRST = [  # what a client sends, what it hears at first
    (b"\0\0\0\x08\x04\xd2\x16\x2f" + startup(b"a"), b"E"),        # behind SSLRequest
    (b"\0\0\0\x08\x04\xd2\x16\x30" + startup(b"a"), b"E"),        # behind GSSENCRequest
    (b"\x16\x03\x01", b""),                                       # TLS to a gate that has none
    (struct.pack("!II", 0x7fffffff, 196608), b"E"),
    (struct.pack("!II", 9, 196608) + b"u", b"E"),
    (b"GET / HTTP/1.1\r\n\r\n", b"E"),
]


def before_the_password():
    """PostgreSQL: what is sent ahead of an answer or is too long is refused, and holds nothing"""
    upstream = Upstream()
    gate = Gate(to=f"127.0.0.1:{upstream.port}", protocol="postgres", limit=1)
    for sent, heard in FIRST:
        with connect(gate.port) as client:
            client.sendall(sent)
            answer, _ = receive_all(client)
            equal(answer[:1], heard, f"the answer to {sent!r}")
    equal(len(upstream.arrived), 0, "connections to the server")
    gate.settle()
    gate = Gate(to=f"127.0.0.1:{upstream.port}", protocol="postgres", limit=1, login_timeout="200ms")
    slow = [connect(gate.port) for _ in range(50)]
    for client in slow:
        client.sendall(startup(b"slow")[:-1])
    wait_until(lambda: gate.refused("login-timeout") == 50, "clients that stop in their login go")
    equal(gate.status()["held"], 0, "held")
    gate.settle()


UNASKED = [  # without a password; each is a connection that would like to hold the only permit
    b"*1\r\n$4\r\nPI", b"P", b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$9\r\n", b"CLIENT REPLY OFF\r\nPING\r\n",
    b"MULTI\r\nSUBSCRIBE a\r\n", b"MULTI\r\n", b"WATCH a\r\n", b"CLIENT REPLY SKIP\r\nPING\r\n",
]


def redis_without_a_password():
    """redis: who has not said the password keeps no permit, whatever it sends"""
    if not redis():
        raise Skip("no redis-server")
    server = Redis()
    admin = Resp(server.port)
    admin("CONFIG", "SET", "requirepass", "secret")
    gate = Gate(to=f"127.0.0.1:{server.port}", protocol="redis", limit=1, queue_timeout="60s")

    def has_come(client):
        """Its bytes are at the server, or it was answered."""
        lines = admin("CLIENT", "LIST").splitlines()
        lines = [line for line in lines if "cmd=client|list" not in line]
        idle = (" qbuf=0 ", " cmd=NULL ", " argv-mem=0 ")
        return (select.select([client], [], [], 0)[0]
                or any(word not in line for line in lines for word in idle))
    for sent in UNASKED:
        with connect(gate.port) as client, Resp(gate.port) as other:
            client.sendall(sent)
            wait_until(lambda: has_come(client), f"{sent!r} has come")
            equal(other("AUTH", "secret"), "OK", f"beside {sent!r}")
            equal(other("PING"), "PONG", f"beside {sent!r}")
        gate.settle()
    admin.close()


# ---- the process ----

def sandboxed():
    """sandbox require, as another user: TLS, a unix socket, logs, reload and metrics go on"""
    where, upstream = scratch(), Upstream(hold=0)
    user = "nobody" if os.getuid() == 0 else None
    if not shutil.which("openssl"):
        raise Skip("there is no openssl")
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-subj", "/CN=x", "-keyout", f"{where}/key", "-out", f"{where}/cert"],
        capture_output=True)
    equal(made.returncode, 0, f"openssl: {made.stderr}")
    os.chmod(f"{where}/key", 0o600)
    if user:
        for path in where, f"{where}/key", f"{where}/cert":
            os.chown(path, pwd.getpwnam(user).pw_uid, -1)
    process = f"sandbox = require\nlog = {where}/log\naccess-log = {where}/access\n"
    process += f"user = {user}\n" if user else ""
    tls = f"tls = server\ntls-cert = {where}/cert\ntls-key = {where}/key\n"
    ini = (f"[voltgate]\n{process}[gate main]\nlisten = 127.0.0.1:0, unix:{where}/socket\n"
           f"to = localhost:{upstream.port}\n"
           f"[gate tls]\nlisten = 127.0.0.1:0\nto = 127.0.0.1:{upstream.port}\n{tls}")
    # The sanitizer's search for leaks stops the program by calls that the sandbox does not allow.
    gate = Gate(ini=ini, gates=3, wait=False, env={"ASAN_OPTIONS": "detect_leaks=0"})
    wait_until(lambda: not gate.alive() or gate.said().count("listening") == 3, "it listens or ends")
    if not gate.alive():
        require("sandbox" in gate.said(), gate.said())
        raise Skip(gate.said().strip())
    gate.ready()
    with open(f"/proc/{gate.pid}/status") as file:
        status = dict(line.split(":", 1) for line in file.read().splitlines())
    equal(status["NoNewPrivs"].strip(), "1", "NoNewPrivs")
    equal(status["Seccomp"].strip(), "2", "Seccomp")
    if user:
        equal(status["Uid"].split(), [str(pwd.getpwnam(user).pw_uid)] * 4, "Uid")
        equal(status["Groups"].strip(), "", "Groups")
        owner = os.stat(f"{where}/socket")
        equal(owner.st_uid, pwd.getpwnam(user).pw_uid, "the owner of the socket")
        equal(owner.st_mode & 0o777, 0o660, "its mode")
        equal(int(status["CapEff"], 16) | int(status["CapPrm"], 16), 0, "capabilities")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for at in gate.by_name["main"], f"unix:{where}/socket", gate.by_name["tls"]:
        client = connect(at)
        if at == gate.by_name["tls"]:
            client = context.wrap_socket(client)
        with client:
            client.sendall(b"x")
            equal(client.recv(10), b"x", f"an answer by {at}")
    require(gate.metrics()["process_open_fds"] > 0, "descriptors are counted")
    for name in "log", "access":
        os.rename(f"{where}/{name}", f"{where}/{name}.1")
    gate.send_signal(signal.SIGUSR1)
    wait_until(lambda: {"log", "access"} <= set(os.listdir(where)), "logs are made again")
    equal(gate.http("POST", "/reload"), (200, '{"ok":true}\n'), "reload")
    equal(gate.stop(), 0, "the exit")


run_tests([gate_is_there], admin_side, names, before_the_password, redis_without_a_password, sandboxed)
