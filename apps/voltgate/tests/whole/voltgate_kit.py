"""voltgate_kit.py: what the tests of voltgate share: servers started in a temporary directory on
ports of the kernel's choosing, the gate before them, clients of three protocols, and checks.

Nothing here depends on how fast anything is: what has to happen is waited for, for at most LIMIT
seconds. Whatever was started is stopped by its id, also if a test fails or is killed."""

import atexit
import contextlib
import ctypes
import fcntl
import http.client
import json
import os
import pwd
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../../../tests/support"))

from ports import keep_port

LIMIT = 60
failures = 0


# ---- checks ----

class Skip(Exception):
    """What a test needs is not there."""


def require(condition, what):
    if not condition:
        raise AssertionError(what)


def equal(found, expected, what):
    require(found == expected, f"{what}: {found!r}, not {expected!r}")


def wait_until(condition, what, within=LIMIT, pause=0.005):
    """Looks until the condition is true, and returns what it was."""
    end = time.monotonic() + within
    while True:
        found = condition()
        if found:
            return found
        require(time.monotonic() < end, f"not within {within} s: {what}")
        time.sleep(pause)


def check(name, run, *args, **named):
    """Runs one check and says a line; whatever goes wrong, the other checks follow."""
    global failures
    begun = time.monotonic()
    try:
        said = run(*args, **named)
        for gate in Gate.made:
            gate.finish()
        took = time.monotonic() - begun
        print(f"ok: {name}{f': {said}' if said else ''} ({took:.1f} s)", flush=True)
    except Skip as reason:
        print(f"skipped: {name} ({reason})", flush=True)
    except Exception as e:
        failures += 1
        where = ""
        trace = e.__traceback__
        while trace:
            where += f" {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
            trace = trace.tb_next
        print(f"FAILED: {name}: {type(e).__name__}: {e}\n  at{where}", flush=True)
    for gate in Gate.made:
        gate.kill()
    Gate.made.clear()


def whole():
    """Whether the long forms are asked for: by --whole, or by VOLT_TEST_SECONDS of 5 and more."""
    return "--whole" in sys.argv or float(os.environ.get("VOLT_TEST_SECONDS") or 0) >= 5


def many(short, long):
    return long if whole() else short


def in_time(took, seconds, what):
    """An upper bound of a duration. It is judged in the long forms only: any machine may stand still."""
    require(not whole() or took < seconds, f"{what} after {took:.2f} s, not {seconds}")


def run_tests(needs, *tests):
    """Runs the tests of a file: functions whose docstring is the name. Arguments: PROGRAM, the
    names of some of them, --whole."""
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} PROGRAM [--whole] [test]...")
    missing = [need for need in needs if not need()]
    if missing:
        print(f"skipped: there is no {', no '.join(need.__doc__ or need.__name__ for need in missing)}")
        sys.exit(77)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    only = [name for name in sys.argv[2:] if not name.startswith("-")]
    if unknown := set(only) - {test.__name__ for test in tests}:
        sys.exit(f"there is no test {', '.join(sorted(unknown))}, but {', '.join(test.__name__ for test in tests)}")
    for test in tests:
        if not only or test.__name__ in only:
            check(test.__doc__.strip().splitlines()[0], test)
    sys.exit(1 if failures else 0)


# ---- processes ----

at_end = contextlib.ExitStack()
atexit.register(at_end.close)
_libc = ctypes.CDLL(None, use_errno=True)


def scratch():
    """A new directory that everybody may look into; it goes with the test."""
    path = tempfile.mkdtemp(prefix="voltgate-test-")
    os.chmod(path, 0o755)
    at_end.callback(shutil.rmtree, path, ignore_errors=True)
    return path


class Process:
    """A program of which the standard error can be read while it runs."""

    def __init__(self, command, descriptors=None, user=None, fds=(), env=None, death=signal.SIGKILL,
                 before=None):
        parent = os.getpid()

        def prepare():
            if before:
                before()
            if descriptors:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
            _libc.prctl(1, death)  # PR_SET_PDEATHSIG: also if the test is killed
            if os.getppid() != parent:
                os._exit(1)
        identity = {}
        if user and os.getuid() == 0:
            entry = pwd.getpwnam(user)
            identity = dict(user=entry.pw_uid, group=entry.pw_gid, extra_groups=[])
        self.errors = tempfile.TemporaryFile()
        self.command = command
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors,
            preexec_fn=prepare, pass_fds=fds, start_new_session=True,
            env={**os.environ, "LC_ALL": "C", **(env or {})}, **identity)
        self.pid = self.process.pid
        at_end.callback(self.kill)

    def said(self):
        return os.pread(self.errors.fileno(), 1 << 24, 0).decode(errors="replace")

    def alive(self):
        return self.process.poll() is None

    def send_signal(self, number):
        self.process.send_signal(number)

    def kill(self, number=signal.SIGKILL):
        """Ends it and what it has started, now."""
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, number)
                os.killpg(self.pid, signal.SIGCONT)
            self.process.wait(LIMIT)

    def stop(self, number=signal.SIGTERM, within=LIMIT):
        """Asks it to end and returns the exit code."""
        self.send_signal(number)
        return self.process.wait(within)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def sockets(self):
        """How many of them are sockets: those that listen, and those that are accepted or connected."""
        count = 0
        for number in os.listdir(f"/proc/{self.pid}/fd"):
            with contextlib.suppress(FileNotFoundError):
                count += os.readlink(f"/proc/{self.pid}/fd/{number}").startswith("socket:")
        return count

    def cpu_seconds(self):
        with open(f"/proc/{self.pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# ---- the gate ----

def program():
    return sys.argv[1]


def gate_is_there():
    """voltgate (it needs libinih-dev and libssl-dev)"""
    return os.path.exists(program())


class Gate(Process):
    """The gate, when it listens. Options by name: limit=3 is --limit 3, a list is several of it;
    ini: a configuration's text in their place. Its admin side allows changes."""

    TOKEN = "a-token-of-the-test-0123456789"
    made = []  # by the test that runs

    def __init__(self, to=None, ini=None, admin=True, arguments=(), descriptors=None, fds=(),
                 env=None, listen="127.0.0.1:0", gates=1, before=None, wait=True, workers=2,
                 user=None, wrap=(), **options):
        command = [*wrap, program(), "run", *arguments]
        self.directory = scratch()
        if user and os.getuid() == 0:
            os.chown(self.directory, pwd.getpwnam(user).pw_uid, -1)
        self.file = os.path.join(self.directory, "gate.ini")
        if ini is not None:
            self.configure(ini)
            command += ["--config", self.file]
        else:
            options = {"listen": listen, "to": to, **options}
        for name, value in options.items():
            for one in value if isinstance(value, (list, tuple)) else [value]:
                command += ["--" + name.replace("_", "-"), str(one)]
        command += ["--workers", str(workers)]
        # As in VOLTGATE_TEST_OPTIONS="--io uring --sandbox yes": every test with these, too.
        command += os.environ.get("VOLTGATE_TEST_OPTIONS", "").split()
        if admin:
            command += ["--metrics", "127.0.0.1:0"]
        super().__init__(command, descriptors=descriptors, fds=fds, before=before, user=user,
                         env={"VOLTGATE_TOKEN": self.TOKEN, **(env or {})})
        self.gates = gates
        self.admin = admin
        Gate.made.append(self)
        if wait:
            self.ready()

    def configure(self, ini):
        with open(self.file + ".new", "w") as f:
            f.write(ini)
        os.chmod(self.file + ".new", 0o644)
        os.rename(self.file + ".new", self.file)

    def ready(self):
        wait_until(self.is_ready, f"{self.command} listens")

    def is_ready(self):
        said = self.said()
        addresses = re.findall(r"gate (\S+): listening on (\S+)", said)
        admin = re.search(r"admin on (\S+)", said)
        require(self.alive() or (addresses and admin), f"{self.command} ended: {said}")
        if len(addresses) < self.gates or (self.admin and not admin):
            return False
        self.addresses = [address for _, address in addresses]
        self.by_name = dict(reversed(addresses))
        self.address = self.addresses[0]
        self.port = self.port_of(self.address)
        self.admin_port = self.port_of(admin[1]) if admin else None
        return True

    @staticmethod
    def port_of(address):
        return None if address.startswith("unix:") else int(address.rpartition(":")[2])

    def finish(self):
        """It ends when it is asked, and no sanitizer has found anything."""
        if self.alive():
            self.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(0.5)
        if self.alive():
            self.send_signal(signal.SIGTERM)
            self.process.wait(LIMIT)
        said = self.said()
        found = re.search(r"\w*Sanitizer|runtime error:", said)
        if found:
            raise AssertionError(f"{said[max(0, found.start() - 200):found.start() + 6000]}")

    # What it says.

    def http(self, method, path, body=None, headers=None, token=True):
        connection = http.client.HTTPConnection("127.0.0.1", self.admin_port, timeout=LIMIT)
        try:
            all_headers = dict(headers or {})
            if token and (method != "GET" or path.startswith("/dump")):
                all_headers.setdefault("Authorization", f"Bearer {self.TOKEN}")
            connection.request(method, path, body=body, headers=all_headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def status(self, name=None):
        code, text = self.http("GET", "/status")
        equal(code, 200, "GET /status")
        gates = json.loads(text)["gates"]
        return gates[0] if name is None else next(g for g in gates if g["name"] == name)

    def whole_status(self):
        return json.loads(self.http("GET", "/status")[1])

    def queue_length(self):
        return self.status()["queue"]["length"]

    def limit_to(self, value, name="main", what="limit"):
        code, text = self.http("PUT", f"/gates/{name}/{what}", str(value))
        equal(code, 200, f"PUT {what} {value}: {text}")
        return json.loads(text)

    def refused(self, reason, name=None):
        return self.status(name)["totals"]["refused"].get(reason, 0)

    def metrics(self):
        """Every sample, {name and labels: value}, after a strict look at the text."""
        code, text = self.http("GET", "/metrics")
        equal(code, 200, "GET /metrics")
        return strict_metrics(text)

    def settle(self, name=None):
        """Everything has been given back: nobody holds, waits or is connected."""
        def calm():
            s = self.status(name)
            return not (s["held"] or s["queue"]["length"] or s["clients"] or s["excess"])
        try:
            wait_until(calm, "nothing is held and nobody waits")
        except AssertionError as e:
            raise AssertionError(f"{e}; it is {self.status(name)}") from None


SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*)\})?'
                    r' (-?[0-9.]+(?:e[-+]?[0-9]+)?|\+Inf)$')


def strict_metrics(text):
    require(text.endswith("\n"), "/metrics ends in a newline")
    samples, types, family = {}, {}, None
    done = set()
    for line in text.splitlines():
        if line.startswith("#"):
            word, _, rest = line[2:].partition(" ")
            require(word in ("HELP", "TYPE"), f"a comment of an unknown kind: {line}")
            name, _, rest = rest.partition(" ")
            if word == "TYPE":
                require(name not in types, f"two families {name}")
                types[name] = rest
            if name != family:
                require(name not in done, f"family {name} comes twice")
                done.add(name)
                family = name
            continue
        match = SAMPLE.match(line)
        require(match, f"no sample: {line!r}")
        name = match[1]
        base = re.sub(r"_(bucket|sum|count)$", "", name) if types.get(family) == "histogram" else name
        require(base == family, f"{line!r} stands in the family {family}")
        key = f"{name}{{{match[2]}}}" if match[2] else name
        require(key not in samples, f"twice: {key}")
        samples[key] = float(match[3].replace("+Inf", "inf"))
    require(samples, "no samples")
    return samples


# ---- PostgreSQL and redis ----

def postgres_directory():
    found = [os.path.join("/usr/lib/postgresql", v, "bin") for v in
             sorted(os.listdir("/usr/lib/postgresql"), key=float, reverse=True)
             ] if os.path.isdir("/usr/lib/postgresql") else []
    found += os.environ["PATH"].split(":")
    return next((d for d in found if os.path.exists(os.path.join(d, "initdb"))), None)


def postgres():
    """PostgreSQL (./x test fetches it)"""
    return postgres_directory() is not None


def psql():
    return shutil.which("psql") is not None


def pgbench():
    return shutil.which("pgbench") is not None


def redis():
    """redis (./x test fetches it)"""
    return shutil.which("redis-server") is not None and shutil.which("redis-cli") is not None


def unprivileged():
    """Whom PostgreSQL may run as; None: as whoever runs the test."""
    if os.getuid():
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise Skip("no user that PostgreSQL may run as")


class Postgres:
    """A PostgreSQL of its own: superuser `postgres` is trusted; others as hba says."""

    def __init__(self, hba="", settings=None):
        self.directory = scratch()
        self.data = os.path.join(self.directory, "data")
        self.bin = postgres_directory()
        self.port = keep_port()
        self.user = unprivileged()
        if self.user:
            os.chown(self.directory, pwd.getpwnam(self.user).pw_uid, -1)
        self.make()
        with open(os.path.join(self.data, "pg_hba.conf"), "r+") as f:
            text = f.read()
            f.seek(0)
            f.write(hba + "\n" + text)
        self.settings = {"fsync": "off", "full_page_writes": "off",
                         "shared_buffers": "16MB", "max_connections": 100, "autovacuum": "off",
                         "jit": "off", "log_min_messages": "fatal", "max_wal_size": "256MB",
                         **(settings or {})}
        self.start()

    def make(self):
        """A copy of what initdb made the first time, beside the program, if that may be kept there."""
        version = re.sub(r"\W+", "-", self.bin.strip("/"))
        kept = os.path.join(os.path.dirname(os.path.realpath(program())), f"voltgate-{version}")
        try:
            with open(kept + ".lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not os.path.isdir(kept):
                    self.initdb()
                    shutil.rmtree(kept + ".new", ignore_errors=True)
                    shutil.copytree(self.data, kept + ".new")
                    os.rename(kept + ".new", kept)
                    return
            shutil.copytree(kept, self.data)
            os.chmod(self.data, 0o700)
            if self.user:
                own = pwd.getpwnam(self.user).pw_uid
                for path, _, files in os.walk(self.data):
                    for name in [path, *(os.path.join(path, file) for file in files)]:
                        os.chown(name, own, -1)
        except PermissionError:
            shutil.rmtree(self.data, ignore_errors=True)
            self.initdb()

    def initdb(self):
        made = Process([os.path.join(self.bin, "initdb"), "-D", self.data, "--no-sync", "-A", "trust",
                        "--no-locale", "-E", "UTF8", "-U", "postgres"], user=self.user)
        equal(made.process.wait(LIMIT), 0, f"initdb: {made.said()}")

    def start(self):
        command = [os.path.join(self.bin, "postgres"), "-D", self.data, "-k", self.directory,
                   "-p", str(self.port), "-h", "127.0.0.1"]
        for name, value in self.settings.items():
            command += ["-c", f"{name}={value}"]

        def started():
            self.server = Process(command, user=self.user, death=signal.SIGQUIT)

            def answers():
                return not self.server.alive() or self.answers()
            wait_until(answers, f"PostgreSQL answers: {self.server.said()}")
            return self.server.alive()
        # After a kill the processes of the one before may still be ending.
        wait_until(started, "PostgreSQL starts", pause=0.05)

    def answers(self):
        try:
            Pg(self.port).close()
            return True
        except (OSError, PgError):
            return False

    @property
    def socket(self):
        return os.path.join(self.directory, f".s.PGSQL.{self.port}")

    def kill(self):
        """As a machine that is gone: the postmaster and every process of it."""
        children = self.processes()
        self.server.kill()
        for pid in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def processes(self):
        with open(f"/proc/{self.server.pid}/task/{self.server.pid}/children") as f:
            return [int(pid) for pid in f.read().split()]

    def hang(self, number=signal.SIGSTOP):
        """Nothing of it runs; the kernel still takes connections for it."""
        for pid in [self.server.pid, *self.processes()]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def go_on(self):
        self.hang(signal.SIGCONT)

    def run(self, *statements):
        with Pg(self.port) as pg:
            return [pg.query(statement) for statement in statements]


class Redis:
    def __init__(self):
        self.directory = scratch()
        self.port = keep_port()
        self.start()

    def start(self):
        self.server = Process(["redis-server", "--bind", "127.0.0.1", "--port", str(self.port),
                               "--save", "", "--appendonly", "no", "--dir", self.directory,
                               "--maxclients", "2000"])

        def answers():
            require(self.server.alive(), self.server.said())
            try:
                with Resp(self.port) as r:
                    return r("PING") == "PONG"
            except OSError:
                return False
        wait_until(answers, "redis answers")


# ---- clients ----

def connect(address, source=None, timeout=LIMIT, receive=None):
    """To a port of 127.0.0.1, "host:port", "[::1]:port" or "unix:path"."""
    if isinstance(address, int):
        address = f"127.0.0.1:{address}"
    if address.startswith("unix:"):
        s = socket.socket(socket.AF_UNIX)
        name = address[5:]
        target = "\0" + name[1:] if name.startswith("@") else name
    else:
        host, _, port = address.rpartition(":")
        host = host.strip("[]")
        s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        target = (host, int(port))
    s.settimeout(timeout)
    if receive:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    if source:
        s.bind((source, 0))
    try:
        s.connect(target)
    except BaseException:
        s.close()
        raise
    return s


def reset(s):
    """Closes by RST."""
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def receive(s, count):
    """Exactly that many bytes, or fewer if it ends."""
    data = b""
    while len(data) < count:
        more = s.recv(min(count - len(data), 1 << 20))
        if not more:
            break
        data += more
    return data


def receive_all(s, within=LIMIT):
    """To the end; a reset ends, too, and is told: (bytes, how it ended)."""
    s.settimeout(within)
    data = b""
    while True:
        try:
            more = s.recv(1 << 20)
        except ConnectionResetError:
            return data, "reset"
        except TimeoutError:
            return data, "timeout"
        if not more:
            return data, "end"
        data += more


class PgError(Exception):
    """An ErrorResponse."""

    def __init__(self, body):
        self.fields = {part[:1].decode(): part[1:].decode(errors="replace")
                       for part in body.split(b"\0") if part}
        super().__init__(f"{self.fields.get('S')} {self.code}: {self.fields.get('M')}")

    @property
    def code(self):
        return self.fields.get("C")

    @property
    def message(self):
        return self.fields.get("M", "")


def pg_message(kind, body=b""):
    return kind + struct.pack("!i", len(body) + 4) + body


def pg_startup(version=196608, **parameters):
    body = struct.pack("!i", version)
    for name, value in parameters.items():
        body += name.encode() + b"\0" + str(value).encode() + b"\0"
    body += b"\0"
    return struct.pack("!i", len(body) + 4) + body


class Pg:
    """A client that is trusted and sees each message. `s`: a connection that is there already."""

    def __init__(self, address, user="postgres", database="postgres", source=None, s=None,
                 timeout=LIMIT, start=True, **parameters):
        self.s = s or connect(address, source=source, timeout=timeout)
        self.buffer = b""
        self.status = None
        self.key = None
        self.parameters = {}
        if start:
            try:
                self.s.sendall(pg_startup(user=user, database=database, **parameters))
                self.until_ready()
            except BaseException:
                self.s.close()
                raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def message(self):
        """(kind, body) of the next message, or None at the end."""
        while True:
            if len(self.buffer) >= 5:
                length = struct.unpack("!i", self.buffer[1:5])[0]
                if len(self.buffer) > length:
                    kind, body = self.buffer[:1], self.buffer[5:length + 1]
                    self.buffer = self.buffer[length + 1:]
                    return kind, body
            more = self.s.recv(1 << 20)
            if not more:
                return None
            self.buffer += more

    def until_ready(self):
        """The rows up to ReadyForQuery; the first error is raised then."""
        rows, error = [], None
        while True:
            try:
                message = self.message()
            except ConnectionResetError:
                message = None
            if message is None:
                raise error or ConnectionError("the server ended the connection")
            kind, body = message
            if kind == b"D":
                rows.append(self.row(body))
            elif kind == b"E":
                error = error or PgError(body)
                if error.fields.get("S") in ("FATAL", "PANIC"):
                    raise error
            elif kind == b"K":
                self.key = body
            elif kind == b"S":
                name, value = body.split(b"\0")[:2]
                self.parameters[name.decode()] = value.decode()
            elif kind == b"Z":
                self.status = body.decode()
                if error:
                    raise error
                return rows

    @staticmethod
    def row(body):
        count, at, row = struct.unpack("!h", body[:2])[0], 2, []
        for _ in range(count):
            length = struct.unpack("!i", body[at:at + 4])[0]
            at += 4
            row.append(None if length < 0 else body[at:at + length].decode(errors="replace"))
            at += max(length, 0)
        return row

    def send(self, sql):
        self.s.sendall(pg_message(b"Q", sql.encode() + b"\0"))

    def query(self, sql):
        self.send(sql)
        return self.until_ready()

    def one(self, sql):
        return self.query(sql)[0][0]

    def close(self):
        with contextlib.suppress(OSError):
            self.s.sendall(pg_message(b"X"))
        self.s.close()


class RespError(Exception):
    def __eq__(self, other):
        return isinstance(other, RespError) and str(self) == str(other)

    __hash__ = Exception.__hash__


class Resp:
    """A client of redis."""

    def __init__(self, address, source=None):
        self.s = connect(address, source=source)
        self.file = self.s.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @staticmethod
    def encode(*words):
        out = b"*%d\r\n" % len(words)
        for word in words:
            word = word if isinstance(word, bytes) else str(word).encode()
            out += b"$%d\r\n%s\r\n" % (len(word), word)
        return out

    def send(self, *words):
        self.s.sendall(self.encode(*words))

    def reply(self):
        line = self.file.readline()
        if not line:
            raise ConnectionError("the server ended the connection")
        kind, rest = line[:1], line[1:].rstrip(b"\r\n")
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            return RespError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if int(rest) < 0 else self.file.read(int(rest) + 2)[:-2].decode()
        if kind == b"*":
            return None if int(rest) < 0 else [self.reply() for _ in range(int(rest))]
        raise RespError(f"no reply of RESP 2: {line!r}")

    def __call__(self, *words):
        self.send(*words)
        answer = self.reply()
        if isinstance(answer, RespError):
            raise answer
        return answer

    def close(self):
        self.file.close()
        self.s.close()


# ---- a server of the test's own ----

class Upstream:
    """Takes connections and keeps them: what it does with one is the test's to say. Each has a
    number in the order of arrival, the bytes it has sent, and whether it has ended.

    hold: None, or the seconds after which a connection that has sent something is answered with
    the same bytes and ended; release(n) does so at once."""

    def __init__(self, hold=None, source="127.0.0.1"):
        self.port = keep_port()  # also when it has stopped
        self.listener = socket.create_server((source, self.port), backlog=4096)
        self.listener.setblocking(False)
        self.hold = hold
        self.arrived = []      # every connection, in order
        self.open = {}         # by socket
        self.most = 0          # at once
        self.held = []         # (when, connection): to be released
        self.lock = threading.RLock()
        self.wake_out, self.wake_in = socket.socketpair()
        self.wake_out.setblocking(False)
        self.epoll = select.epoll()
        self.epoll.register(self.listener, select.EPOLLIN)
        self.epoll.register(self.wake_out, select.EPOLLIN)
        self.ended = False
        self.listening = True
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()
        at_end.callback(self.stop)

    class Connection:
        def __init__(self, s, number):
            self.s, self.number, self.bytes, self.done = s, number, b"", False
            self.finished = False  # the other side sends no more
            self.at = time.monotonic()

    def serve(self):
        while not self.ended:
            timeout = -1
            with self.lock:
                now = time.monotonic()
                while self.held and self.held[0][0] <= now:
                    self.answer(self.held.pop(0)[1])
                if self.held:
                    timeout = max(self.held[0][0] - now, 0)
            for fd, _ in self.epoll.poll(timeout):
                with self.lock:
                    if fd == self.wake_out.fileno():
                        self.wake_out.recv(4096)
                    elif fd == self.listener.fileno():
                        self.accept()
                    elif fd in self.open:
                        self.read(self.open[fd])

    def accept(self):
        while True:
            try:
                s, _ = self.listener.accept()
            except OSError:
                return
            s.setblocking(False)
            c = self.Connection(s, len(self.arrived))
            self.arrived.append(c)
            self.open[s.fileno()] = c
            self.epoll.register(s, select.EPOLLIN)
            if len(self.open) > self.most:
                self.end_the_dead()
            # Without those that the other side has finished: it may have ended them altogether.
            self.most = max(self.most, sum(not c.finished for c in self.open.values()))

    def end_the_dead(self):
        """Those that the other side has ended, which is still to be read."""
        look = select.poll()
        for fd in self.open:
            look.register(fd, select.POLLRDHUP)
        for fd, _ in look.poll(0):
            c = self.open[fd]
            self.read(c)  # what it has sent,
            if not c.done and not c.finished:
                self.read(c)  # and its end

    def read(self, c):
        try:
            data = c.s.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            c.finished = True
            if c.bytes and not c.done and self.hold is not None:
                self.epoll.modify(c.s, 0)  # it is still to be answered
                return
            self.end(c)
            return
        if not c.bytes and self.hold is not None:
            self.held.append((time.monotonic() + self.hold, c))
        c.bytes += data

    def answer(self, c):
        if not c.done:
            with contextlib.suppress(OSError):
                c.s.send(c.bytes)
            self.end(c)

    def end(self, c):
        c.done = True
        self.open.pop(c.s.fileno(), None)
        with contextlib.suppress(OSError, ValueError):
            self.epoll.unregister(c.s)
        c.s.close()

    def release(self, count=1 << 30):
        """Answers and ends the oldest ones."""
        with self.lock:
            for c in list(self.open.values())[:count]:
                self.answer(c)

    def release_one(self, c):
        with self.lock:
            self.answer(c)

    def count(self):
        with self.lock:
            return len(self.open)

    def asked(self):
        """Of those that count() counts, the ones whose request is there: release() answers them."""
        with self.lock:
            return sum(bool(c.bytes) for c in self.open.values())

    def requests(self):
        with self.lock:
            return [c.bytes for c in self.arrived]

    def stop(self):
        if not self.ended:
            self.ended = True
            self.wake_in.send(b".")
            self.thread.join(LIMIT)
            self.listener.close()  # first: who is connected now is refused
            for c in list(self.open.values()):
                c.s.close()
