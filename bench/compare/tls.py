"""TLS: servers beside OpenSSL on raw epoll, and what is demanded of libvolt-tls's.

Each run starts one server on one core and loads it from the other one (bench/programs/io), by TLS 1.3 with a key on
P-256. The first figure is the CPU time of the server for one operation, by the server's own clock; its ratio to the
first line of the table is taken within rounds.

A client that slept for less than 5 % of a run was as busy as the server: how many operations a second went round, and
how long they took, says more of the client than of the server. Those figures of such a run are refused; the CPU time
stands. Of a handshake a client computes more than a server that has a key on P-256, so it is always as busy.

A connection that is resumed has the session of the one before; every server has tickets. Of a row "on all cores" no one
is bound to a core: what is demanded there is that a worker more costs nothing. stunnel passes what comes on to an echo
server without TLS, whose time is not counted.
"""

import os
import subprocess
import sys
from collections.abc import Iterable

import servers
from demands import Verdict
from servers import Bench, Demands, IoPair, IoRow, Server, Where, bytes_text, volts, workers_text
from suite import LIMIT

LARGE = "1m"

EPOLL = Server("OpenSSL, raw epoll", "limits", "{ours}/bench-io-tls-epoll @", LIMIT)
STUNNEL = Server("stunnel", "stunnel4", "{scripts}/stunnel.sh @ %")


def volt(workers: int) -> list[Server]:
    return volts(f"{{ours}}/bench-io-tls-volt @ {workers}")


PEERS = (
    Server("tokio-rustls", "tokio-tls", "{peers}/bench-io-tokio-tls @"),
    Server("Go", "go-tls", "{peers}/bench-io-go-tls @"),
)  # fmt: skip
ECHO = (EPOLL, *volt(1), *PEERS, STUNNEL)
HANDSHAKES = (EPOLL, *volt(1), *PEERS)
SPREAD = (
    EPOLL,
    *(Server(f"{s.label}, {workers_text(n)}", s.peer, s.command, s.kind)
      for n in (1, 2) for s in volt(n)),
    *(Server(f"{s.label}, 2 workers", s.peer, f"env BENCH_WORKERS=2 {s.command}") for s in PEERS),
)  # fmt: skip
HTTPS = (
    Server("nginx", "nginx", "{scripts}/nginx.sh @ tls"),
    Server("nginx, files kept open", "nginx", "{scripts}/nginx.sh @ cached tls"),
    *volts("{apps}/volt-httpd --listen 127.0.0.1:@ --workers 1 --connections 16000 --tls {www}/../tls.pem {www}/../tls.key"
           " --requests 1000000000 --idle-s 3600 --root {www}"),
)  # fmt: skip


def rows(where: Where, ms: int) -> list[IoRow]:
    def row(key: str, title: str, workload: str, of: Iterable[Server], tasks: int, amount: int = 0,
            tls: int = 1, options: tuple[str, ...] = ()) -> IoRow:  # fmt: skip
        arms = tuple(where.arm(key, server, ("--tls", str(tls), *options)) for server in of)
        return IoRow(key, title, workload, arms, tasks=tasks, amount=amount, operations=ms)

    origin = ("--origin", where.filled(servers.EPOLL.command))
    out = [row(f"echo-{size}", f"echo, {bytes_text(size)}, 64 connections", "echo", ECHO, 64, size,
               options=origin) for size in (64, 16384)]  # fmt: skip
    out += [row(f"spread-{size}", f"echo, {bytes_text(size)}, 64 connections, on all cores", "echo",
                SPREAD, 64, size, options=("--all-cores", "1")) for size in (64, 16384)]  # fmt: skip
    out += [row(key, f"handshake{more}, echo of 64 B, close; 16 at a time", "connects", HANDSHAKES, 16,
                64, tls) for key, more, tls in (("full", "", 1), ("resumed", " that is resumed", 2))]
    out += [row(f"https-{name}", f"HTTPS, a file of {title}, {n} connections, kept alive", "http",
                HTTPS, n, options=("--path", f"/{name}"))
            for name, title, n in (("1k", "1 KiB", 16), (LARGE, "1 MiB", 4))]  # fmt: skip
    return out


def judge(pairs: dict[str, IoPair]) -> list[Verdict]:
    d = Demands(pairs)
    d.all_end_well()
    for size in (64, 16384):
        d.beside(f"echo-{size}", EPOLL.label, 1.05)
        for other in (*(s.label for s in PEERS), STUNNEL.label):
            d.beside(f"echo-{size}", other, 1)
        for back_end in ("epoll", "uring"):
            d.workers(f"spread-{size}", back_end, 2, f"volt, {back_end}, {workers_text(1)}", 1.15)
    for key in ("full", "resumed"):
        d.beside(key, EPOLL.label, 1.05)
    for name in ("1k", LARGE):
        d.beside(f"https-{name}", "nginx", 1)
    return d.out


def serve(directory: str) -> None:
    """The files that servers serve, and the certificate of all."""
    servers.serve(directory)
    with open(f"{directory}/www/{LARGE}", "wb") as file:
        file.write(bytes((i * i * 31 + i // 7) % 256 for i in range(1 << 16)) * 16)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                    "/CN=localhost", "-days", "2", "-keyout", f"{directory}/tls.key", "-out", f"{directory}/tls.pem"],
                   check=True, stderr=subprocess.DEVNULL)  # fmt: skip
    os.chmod(directory, 0o755)


if __name__ == "__main__":
    sys.exit(servers.run_bench(Bench("tls", "TLS, measured", __doc__ or "", serve, rows, judge)))
