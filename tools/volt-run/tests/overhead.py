#!/usr/bin/env python3
"""overhead.py VOLT_RUN [ROUNDS] [PROGRAM]: what it costs programs of Debian to be watched, and to be served by volt's
locks (--fair): their CPU time, with volt-run and without, one after the other in each round; the median without, and of
the ratios the median and the range.

overhead.py VOLT_RUN starts [COUNT]: how much longer `volt-run true` takes than `true`, one after the other: medians, and
the median of the differences. 1,000 of each if nothing is said.

overhead.py VOLT_RUN instructions: how many instructions a lock and its unlock take together, without others, watched and
with glibc alone: callgrind's counts of the program `run_locks` beside VOLT_RUN's tests, of N and 2 N, and the difference."""

import os
import random
import re
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

RUN = sys.argv[1]
STARTS = sys.argv[2:3] == ["starts"]
INSTRUCTIONS = sys.argv[2:3] == ["instructions"]
ROUNDS = 1000 if STARTS else 5
if len(sys.argv) > 2 + STARTS and not INSTRUCTIONS:
    ROUNDS = int(sys.argv[2 + STARTS])
TICK = os.sysconf("SC_CLK_TCK")


def children_cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def whole(command, data):
    """A program from its start to its end."""
    before = children_cpu()
    subprocess.run(command, input=data, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return children_cpu() - before


def cpu_of(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def served(command, port, load):
    """A server while it is loaded."""
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.02)
        before = cpu_of(server.pid)
        load(port)
        return cpu_of(server.pid) - before
    finally:
        server.terminate()
        server.wait()


def memcached_client(port, seed):
    """Pipelines of 100: a tenth of them set, the others get."""
    chance = random.Random(seed)
    with socket.create_connection(("127.0.0.1", port)) as s:
        answers = s.makefile("rb")
        for _ in range(1500):
            wanted, text = 0, []
            for _ in range(100):
                key = chance.randrange(1000)
                if chance.random() < 0.1:
                    text.append(b"set k%d 0 0 8\r\n12345678\r\n" % key)
                else:
                    text.append(b"get k%d\r\n" % key)
            s.sendall(b"".join(text))
            while wanted < 100:
                line = answers.readline()
                wanted += line in (b"END\r\n", b"STORED\r\n")


def memcached_load(port):
    threads = [threading.Thread(target=memcached_client, args=(port, seed)) for seed in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def redis_load(port):
    subprocess.run(["redis-benchmark", "-p", str(port), "-n", "300000", "-P", "16", "-c", "32", "-t", "set,get",
                    "-q"], stdout=subprocess.DEVNULL, check=True)


def rows():
    data = b"".join(random.Random(1).randbytes(64).hex().encode() * 2 for _ in range(160000))
    for name, command in (("pigz -p 4", ["pigz", "-p", "4", "-c"]), ("xz -T2 -1", ["xz", "-T2", "-1", "-c"]),
                          ("zstd -T4 -9", ["zstd", "-T4", "-9", "-q", "-c"])):
        yield name, lambda before, c=command: whole([*before, *c], data)
    yield "memcached -t 4", lambda before: with_port(
        before, lambda p: ["memcached", "-u", "nobody", "-t", "4", "-p", str(p), "-U", "0"], memcached_load)
    yield "redis-server, 2 threads of I/O", lambda before: with_port(
        before, lambda p: ["redis-server", "--port", str(p), "--save", "", "--io-threads", "2"], redis_load)


def started(command):
    """How long it takes from its start to its end, in ms."""
    begun = time.perf_counter()
    subprocess.run(command, check=True)
    return (time.perf_counter() - begun) * 1000


def starts(count):
    pairs = [(started(["true"]), started([RUN, "true"])) for _ in range(count)]
    plain, watched = (statistics.median(pair[i] for pair in pairs) for i in (0, 1))
    more = statistics.median(pair[1] - pair[0] for pair in pairs)
    print(f"{count} starts, ms: true {plain:.2f}, volt-run true {watched:.2f}; {more:.2f} more")


def collected(what, count, environment):
    """All instructions of a run: the calls go through no dynamic linker, and nothing is said at the end."""
    program = os.path.join(os.path.dirname(RUN), "tests", "run_locks")
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, what, str(count)],
                          env={**os.environ, "LD_BIND_NOW": "1", **environment}, capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


def instructions(count=20000):
    library = os.path.join(os.path.dirname(RUN), "libvolt-pthread.so")
    ways = {"glibc": {}, "watched": {"LD_PRELOAD": library, "VOLT_RUN_PROGRAM": RUN}}
    print("| a lock and its unlock | glibc alone | watched |\n| --- | --: | --: |")
    for what in ("mutex", "waited", "second", "read", "write", "semaphore"):
        counts = [(collected(what, 2 * count, way) - collected(what, count, way)) / count for way in ways.values()]
        print(f"| {what} | {' | '.join(f'{n:.0f}' for n in counts)} |", flush=True)


def with_port(before, command, load):
    port = free_port()
    return served([*before, *command(port)], port, load)


ONLY = sys.argv[3] if len(sys.argv) > 3 else ""


def ratio(pairs, way):
    """Of the CPU time in this way to that without, round by round."""
    found = sorted(pair[way] / pair["without"] for pair in pairs)
    return f"{statistics.median(found):.2f} | {found[0]:.2f} to {found[-1]:.2f}"


def main():
    print("| program | without, CPU s | watched | | --fair | | --bypass 16 | |\n"
          "| --- | --: | --: | --- | --: | --- | --: | --- |")
    with tempfile.TemporaryDirectory() as directory:
        ways = [("without", []), ("watched", [RUN, "--output", f"{directory}/report"]),
                ("fair", [RUN, "--output", f"{directory}/report", "--fair"]),
                ("bypass", [RUN, "--output", f"{directory}/report", "--bypass", "16"])]
        for name, measure in (row for row in rows() if row[0].startswith(ONLY)):
            try:
                rounds = []
                for _ in range(ROUNDS):
                    random.shuffle(ways)
                    rounds.append({way: measure(before) for way, before in ways})
            except FileNotFoundError as missing:
                print(f"| {name} | | | | | | | there is no {missing.filename} |")
                continue
            without = statistics.median(found["without"] for found in rounds)
            print(f"| {name} | {without:.2f} | "
                  f"{' | '.join(ratio(rounds, way) for way in ('watched', 'fair', 'bypass'))} |", flush=True)


if INSTRUCTIONS:
    instructions()
elif STARTS:
    starts(ROUNDS)
else:
    main()
