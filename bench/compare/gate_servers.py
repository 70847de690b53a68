"""A PostgreSQL of its own, and what is put in front of it: each in a temporary directory, on
loopback, and stopped by its process id."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from run import Failure

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../tests/support"))

from ports import keep_port

START_SECONDS = 30
USER = "bench"


def pg_bin() -> str:
    """The directory of PostgreSQL's programs; Debian does not put it into PATH."""
    found = shutil.which("postgres")
    if found:
        return os.path.dirname(os.path.realpath(found))
    versions = [f"/usr/lib/postgresql/{n}/bin" for n in range(30, 9, -1)]
    for place in versions:
        if os.path.exists(f"{place}/postgres"):
            return place
    raise Failure("there is no PostgreSQL: apt-get install postgresql")


def unprivileged() -> list[str]:
    """PostgreSQL and PgBouncer refuse to run as root."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]


def cpu_seconds(pid: int) -> float:
    """What all threads of a process have used, to the nanosecond."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/schedstat") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def resident_bytes(pid: int) -> int:
    with open(f"/proc/{pid}/smaps_rollup") as file:
        for line in file:
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    raise Failure(f"process {pid} has no Pss")


@dataclass
class Front:
    """What clients connect to. process: None: PostgreSQL itself."""

    name: str
    port: int
    process: subprocess.Popen | None = None
    log: str = ""
    admin: int = 0
    tls: bool = False  # towards clients and to the server

    def cpu(self) -> float:
        return cpu_seconds(self.process.pid) if self.process else 0.0

    def stop(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()


def wait_for(port: int, process: subprocess.Popen | None, log: str) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if process and process.poll() is not None:
            break
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    with open(log) as file:
        raise Failure(f"nothing answers on port {port}: {file.read()[-2000:]}")


@dataclass
class Database:
    """PostgreSQL with pgbench's tables."""

    directory: str
    port: int
    certificate: tuple[str, str]  # its file, and that of its key
    fronts: list[Front] = field(default_factory=list)

    def tool(self, *command: str, port: int | None = None) -> list[str]:
        return [f"{pg_bin()}/{command[0]}", "-h", "127.0.0.1", "-p", str(port or self.port), "-U",
                USER, *command[1:]]  # fmt: skip

    def start(self, name: str, command: list[str], port: int, admin: int = 0,
              drops_root: bool = False) -> Front:
        log = f"{self.directory}/{name}.log"
        with open(log, "w") as file:
            process = subprocess.Popen((unprivileged() if drops_root else []) + command,
                                       stdout=file, stderr=file, cwd=self.directory)
        front = Front(name, port, process, log, admin)
        self.fronts.append(front)
        wait_for(port, process, log)
        return front

    def write(self, name: str, text: str) -> str:
        path = f"{self.directory}/{name}"
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o644)
        return path

    def haproxy(self, limit: int, threads: int = 2) -> Front:
        port = keep_port()
        path = self.write(f"haproxy-{port}.cfg", f"""global
  nbthread {threads}
  maxconn 9900
defaults
  mode tcp
  timeout connect 5s
  timeout client 1h
  timeout server 1h
  timeout queue 1h
listen it
  bind 127.0.0.1:{port}
  server s 127.0.0.1:{self.port} maxconn {limit}
""")
        return self.start("HAProxy", ["haproxy", "-db", "-f", path], port)

    def pgbouncer(self, mode: str, limit: int, tls: bool = False) -> Front:
        port, (certificate, key) = keep_port(), self.certificate
        by_tls = f"""client_tls_sslmode = require
client_tls_cert_file = {certificate}
client_tls_key_file = {key}
server_tls_sslmode = require
""" if tls else "server_tls_sslmode = disable\n"
        users = self.write(f"users-{port}", f'"{USER}" ""\n')
        path = self.write(f"pgbouncer-{port}.ini", f"""[databases]
* = host=127.0.0.1 port={self.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
auth_type = trust
auth_file = {users}
pool_mode = {mode}
default_pool_size = {limit}
max_client_conn = 12000
query_wait_timeout = 0
unix_socket_dir =
ignore_startup_parameters = extra_float_digits
listen_backlog = 4096
{by_tls}""")
        front = self.start(f"PgBouncer, {mode}", ["pgbouncer", path], port, drops_root=True)
        front.tls = tls
        return front

    def voltgate(self, program: str, limit: int, protocol: str = "postgres",
                 extra: tuple[str, ...] = (), tls: bool = False) -> Front:
        port, admin, (certificate, key) = keep_port(), keep_port(), self.certificate
        if tls:
            extra += ("--tls", "server", "--tls-cert", certificate, "--tls-key", key, "--server-tls", "require")
        command = [program, "--listen", f"127.0.0.1:{port}", "--to", f"127.0.0.1:{self.port}",
                   "--protocol", protocol, "--limit", str(limit), "--queue", "20000", "--clients",
                   "20000", "--queue-timeout", "0", "--metrics", f"127.0.0.1:{admin}",
                   *extra]  # fmt: skip
        front = self.start("voltgate", command, port, admin)
        front.tls = tls
        return front


def make_certificate(directory: str) -> tuple[str, str]:
    certificate, key = f"{directory}/certificate.pem", f"{directory}/key.pem"
    subprocess.run([*unprivileged(), "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-nodes", "-subj", "/CN=localhost", "-days", "2", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)  # fmt: skip
    os.chmod(key, 0o600)
    return certificate, key


@contextlib.contextmanager
def database(scale: int, connections: int) -> Iterator[Database]:
    """What does not come from waiting is taken away: the disk is not waited for."""
    directory = tempfile.mkdtemp(prefix="gate-bench-")
    os.chmod(directory, 0o777)
    data, port, (certificate, key) = f"{directory}/data", keep_port(), make_certificate(directory)
    with open(f"{directory}/postgres.log", "w") as log:
        subprocess.run([*unprivileged(), f"{pg_bin()}/initdb", "-D", data, "-U", USER, "-A", "trust",
                        "--no-sync"], stdout=log, stderr=log, check=True)  # fmt: skip
        server = subprocess.Popen(
            [*unprivileged(), f"{pg_bin()}/postgres", "-D", data, "-p", str(port), "-c",
             "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={directory}", "-c",
             f"max_connections={connections}", "-c", "fsync=off", "-c", "shared_buffers=256MB",
             "-c", "autovacuum=off", "-c", "ssl=on", "-c", f"ssl_cert_file={certificate}", "-c",
             f"ssl_key_file={key}"],
            stdout=log, stderr=log)  # fmt: skip
    db = Database(directory, port, (certificate, key))
    try:
        wait_for(port, server, f"{directory}/postgres.log")
        until = time.monotonic() + START_SECONDS
        while subprocess.run(db.tool("createdb", USER), capture_output=True).returncode:
            if time.monotonic() > until:
                raise Failure("PostgreSQL does not start")
            time.sleep(0.1)
        subprocess.run(db.tool("pgbench", "-i", "-q", "-s", str(scale), USER), capture_output=True,
                       check=True)  # fmt: skip
        yield db
    finally:
        for front in db.fronts:
            front.stop()
        server.send_signal(signal.SIGINT)  # a fast shutdown
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        shutil.rmtree(directory, ignore_errors=True)


def is_there(program: str) -> bool:
    return bool(shutil.which(program) or os.path.exists(f"/usr/sbin/{program}"))
