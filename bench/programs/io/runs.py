"""That bench-io measures, and is not to be deceived: runs.py DIRECTORY, where its programs are.

It runs each workload for some milliseconds; it has servers that send back what is wrong, and asks
for a failure; and it has a client that is busy, and asks ../../compare for the word "refused"."""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{HERE}/../../compare")

import servers  # noqa: E402
from run import Measured, Sample  # noqa: E402
from suite import Arm  # noqa: E402

WHERE = os.path.abspath(sys.argv[1])
NO_CORES = 77

# How a server answers: what it sends, of what has come so far and of all that came before.
ANSWERS = {
    "a bit is wrong": "data[:-1] + bytes([data[-1] ^ 1])",
    "a byte is lost": "data[:-1] if total > 1000 else data",
    "a byte comes twice": "data + data[-1:]",
    "an answer of before": "first",
    "nothing, and closes": "b''",
}
TOLD = {"a byte is lost": "do not come", "nothing, and closes": "has closed a connection"}
WRONG_SERVER = """
import socket, sys, threading
def serve(c):
    first, total = b'', 0
    while data := c.recv(65536):
        first, total = first or data, total + len(data)
        answer = {answer} if total > 300 else data
        if not answer: break
        c.sendall(answer)
    c.close()
s = socket.create_server(('127.0.0.1', int(sys.argv[1])))
while True: threading.Thread(target=serve, args=s.accept()[:1], daemon=True).start()
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run([f"{WHERE}/bench-io", *arguments], capture_output=True, text=True,
                           timeout=60)  # fmt: skip
    if ended.returncode == NO_CORES:
        sys.exit(NO_CORES)
    return ended


def measured(*arguments: str) -> dict[str, float]:
    ended = run(*arguments)
    assert ended.returncode == 0, (arguments, ended.stderr)
    said = json.loads(ended.stdout)
    assert said["ns"] > 0 and 0 <= said["client_idle"] <= 1, said
    return said


def ours(name: str, more: str = "") -> tuple[str, str]:
    return "--server", f"{WHERE}/bench-io-{name} @{more}"


def limits() -> list[str]:
    """io_uring, if it was built and the system does not refuse it."""
    ended = run("echo", *ours("uring"), "--operations", "1")
    built = os.access(f"{WHERE}/bench-io-uring", os.X_OK)
    refused = "io_uring_queue_init_params" in ended.stderr
    return ["epoll", "uring"] if built and not refused else ["epoll"]


def workloads() -> None:
    short = ("--operations", "200")
    origin = ("--origin", f"{WHERE}/bench-io-epoll @")
    for name in limits():
        for more in ((), ("--amount", "16384", "--tasks", "8"), ("--tasks", "512")):
            for milliseconds in ("200", "1000", "5000"):  # until the server has had a core
                cpu_ns = measured("echo", *ours(name), "--operations", milliseconds, *more)["cpu_ns"]
                if cpu_ns > 0:
                    break
            assert cpu_ns > 0
        measured("echo", *ours(name, " %"), *origin, *short, "--tasks", "4")
        measured("echo", *ours(name, " %"), *origin, *short, "--tasks", "4", "--amount", "16384")
        measured("connects", *ours(name), *short)
        idle = measured("idle", *ours(name), *short, "--tasks", "400")
        assert idle["client_idle"] > 0.5 and 0 <= idle["cores"] < 0.5 and idle["bytes"] >= 0, idle
        at_rate = measured("echo", *ours(name), "--operations", "300", "--rate", "1000")
        assert at_rate["of_rate"] < 1.2, at_rate


def wrong_bytes(directory: str) -> None:
    for what, answer in ANSWERS.items():
        script = f"{directory}/wrong.py"
        with open(script, "w") as file:
            file.write(WRONG_SERVER.format(answer=answer))
        for milliseconds in ("200", "1000", "5000"):  # until it has sent what is wrong
            ended = run("echo", "--server", f"{sys.executable} {script} @", "--tasks", "2",
                        "--operations", milliseconds)  # fmt: skip
            if ended.returncode != 0:
                break
        assert ended.returncode == 1 and TOLD.get(what, "wrong bytes") in ended.stderr, ended
    ended = run("echo", "--server", "true")
    assert ended.returncode == 1 and "ended at once" in ended.stderr, ended


def busy_client() -> None:
    """Closed loop: the rates are refused, the CPU time stands. Fixed rate: all is refused."""
    for doubled in range(8):  # until the client was, though the server may wait for a core
        busy = measured("echo", *ours("epoll"), "--tasks", "4", "--work", str(1000000 << doubled), "--operations",
                        "200")  # fmt: skip
        if busy["client_idle"] < servers.IDLE_LEAST:
            break
    for _ in range(20):  # until the machine has been calm, too
        calm = measured("echo", *ours("epoll"), "--tasks", "1", "--rate", "20", "--operations", "500")
        if calm["client_idle"] > servers.IDLE_LEAST:
            break
    assert busy["client_idle"] < servers.IDLE_LEAST < calm["client_idle"], (busy, calm)
    calm.pop("of_rate")
    arm = Arm("a server", "echo")
    for fields, key, seen in (
        (busy, "echo-64-4", {"cpu_ns": False, "per_second": True, "p99_ns": True}),
        (busy, "rate", {"cpu_ns": True, "per_second": True, "p99_ns": True}),
        (calm, "rate", {"cpu_ns": False, "per_second": False, "p99_ns": False}),
        (calm | {"of_rate": 0.9}, "rate", {"cpu_ns": True, "per_second": True, "p99_ns": True}),
    ):
        row = servers.IoRow(key, key, "echo", (arm,))
        numbers = {name: value for name, value in fields.items() if name != "version"}
        pair = servers.IoPair(row, Measured({arm.label: [Sample(numbers, 0, 0)]}))
        told = servers.arm_dict(pair, arm)
        for name, is_refused in seen.items():
            text = servers.figure(told, name)
            assert (text == "refused") == is_refused, (key, name, text)


def main() -> None:
    workloads()
    with tempfile.TemporaryDirectory() as directory:
        wrong_bytes(directory)
    busy_client()


main()
