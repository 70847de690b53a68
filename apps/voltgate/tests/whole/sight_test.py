#!/usr/bin/env python3
"""sight_test.py VOLTGATE: what voltgate says of its own waits: the dump by the admin side, by
the command and by a signal; counters and waits in the metrics; reports in the log; the socket of
volt-top."""
import json
import os
import re
import signal
import socket
import stat
import subprocess

from voltgate_kit import (Gate, Skip, Upstream, connect, equal, gate_is_there, program, require, run_tests,
                          scratch, wait_until)

CLIENTS, LIMIT_OF_IT = 7, 4


def crowded(**options):
    """A gate with 4 permits, and 7 clients that want one."""
    upstream = Upstream()
    gate = Gate(to=f"127.0.0.1:{upstream.port}", **{"limit": LIMIT_OF_IT, "queue": 50, **options})
    clients = [connect(gate.port) for _ in range(CLIENTS)]
    for c in clients:
        c.sendall(b"x")
    wait_until(lambda: upstream.count() == LIMIT_OF_IT and gate.queue_length() == CLIENTS - LIMIT_OF_IT,
               "4 permits are held, 3 clients wait")
    return gate, upstream, clients


def leave(gate, upstream, clients):
    """Those that hold a permit hang up, and the others get one."""
    for c in clients[:LIMIT_OF_IT]:
        c.close()
    wait_until(lambda: upstream.count() == CLIENTS - LIMIT_OF_IT and gate.queue_length() == 0,
               "each was admitted")
    for c in clients[LIMIT_OF_IT:]:
        c.close()
    gate.settle()


def says_who_waits(text):
    require(re.search(r"^runtime 0x[0-9a-f]+ 'gate': \d+ workers?, \d+ tasks?", text, re.M), text)
    require(re.search(r"^worker 0: ", text, re.M), text)
    require("of 'main' (semaphore 0x" in text, text)
    require("0 of 4 free, 3 wait" in text, text)
    require(re.search(r"session\w*\.c:\d+ ", text), text)


def by_admin():
    """the dump needs the token, and says which clients wait for a permit, and where"""
    gate, upstream, clients = crowded()
    code, said = gate.http("GET", "/dump", token=False)
    equal((code, json.loads(said)["error"][:21]), (401, "a dump needs the toke"), said)
    code, said = gate.http("GET", "/dump")
    equal(code, 200, said)
    says_who_waits(said)
    code, each = gate.http("GET", "/dump?each=1")
    equal(code, 200, each)
    equal(len(re.findall(r"of 'main' ", each)), CLIENTS - LIMIT_OF_IT, "a line for each that waits")
    for at in range(CLIENTS - LIMIT_OF_IT):
        require(re.search(r"\b%d(st|nd|rd|th) in line" % (at + 1), each), each)
    equal(gate.http("POST", "/dump")[0], 405, "POST")
    equal(gate.queue_length(), CLIENTS - LIMIT_OF_IT, "they still wait")
    leave(gate, upstream, clients)


def by_command():
    """voltgate dump prints it; its errors say what is missing"""
    gate, upstream, clients = crowded()

    def dump(*words, token=Gate.TOKEN):
        environment = {**os.environ, "VOLTGATE_TOKEN": token}
        return subprocess.run([program(), "dump", *words, "--admin", f"127.0.0.1:{gate.admin_port}"],
                              text=True, capture_output=True, timeout=60, env=environment,
                              stdin=subprocess.DEVNULL)
    done = dump()
    if "built without" in done.stderr:
        raise Skip("built without libjansson")
    equal((done.returncode, done.stderr), (0, ""), "dump")
    says_who_waits(done.stdout)
    done = dump("--each")
    equal((done.returncode, len(re.findall(r"of 'main' ", done.stdout))),
          (0, CLIENTS - LIMIT_OF_IT), done.stdout)
    done = dump(token="")
    equal((done.returncode, done.stdout), (1, ""), "without a token")
    require("needs the token" in done.stderr, done.stderr)
    leave(gate, upstream, clients)


def by_signal():
    """SIGUSR2 writes the numbers of the gates, and the dump, to the log"""
    gate, upstream, clients = crowded()
    gate.send_signal(signal.SIGUSR2)
    said = wait_until(lambda: "0 of 4 free, 3 wait" in gate.said() and gate.said(),
                      "the dump is in the log")
    require(re.search(r"limit 4, held 4, excess 0, queued 3 of 50", said), said)
    leave(gate, upstream, clients)


def in_metrics():
    """what was counted, and how long clients have waited for the permits, is in the metrics"""
    gate, upstream, clients = crowded()
    before = gate.metrics()
    waits = before['voltgate_volt_waits_total{kind="semaphore"}']
    require(waits >= CLIENTS - LIMIT_OF_IT, f"{waits} waits")
    leave(gate, upstream, clients)
    after = gate.metrics()
    grants = 'voltgate_volt_grants_total{kind="semaphore"}'
    require(after[grants] - before[grants] >= CLIENTS - LIMIT_OF_IT, "grants")
    equal(after['voltgate_object_wait_seconds_count{object="main"}'], CLIENTS - LIMIT_OF_IT,
          "waits for the permits")
    equal(after["voltgate_reports_total"], 0, "nothing looked wrong")


def threads(gate):
    names = []
    for task in os.listdir(f"/proc/{gate.pid}/task"):
        with open(f"/proc/{gate.pid}/task/{task}/comm") as comm:
            names.append(comm.read().strip())
    return names


def watched():
    """a thread watches the workers"""
    upstream = Upstream()
    gate = Gate(to=f"127.0.0.1:{upstream.port}")
    wait_until(lambda: "volt-sight" in threads(gate), "it is there")


def for_volt_top():
    """the socket of volt-top is ours alone, and answers, in the sandbox, too"""
    path = os.path.join(scratch(), "sight.sock")
    # The sanitizer's search for leaks stops the program by calls that the sandbox does not allow.
    gate, upstream, clients = crowded(sight=path, sandbox="yes", env={"ASAN_OPTIONS": "detect_leaks=0"})
    mode = os.stat(path).st_mode
    require(stat.S_ISSOCK(mode), "a socket")
    equal(stat.S_IMODE(mode), 0o600, "its mode")
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(30)
        s.connect(path)
        s.sendall(b'{"volt":1,"q":"tasks"}\n')
        said = b""
        while said.count(b'"main"') < CLIENTS - LIMIT_OF_IT:
            piece = s.recv(65536)
            require(piece, said)
            said += piece
    for line in said.split(b"\n")[:-1]:
        equal(json.loads(line)["volt"], 1, line)
    leave(gate, upstream, clients)


if __name__ == "__main__":
    run_tests([gate_is_there], by_admin, by_command, by_signal, in_metrics, watched, for_volt_top)
