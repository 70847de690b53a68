#!/usr/bin/env python3
"""quiet.py VOLT_RUN MINUTES [PROGRAM]...: programs of Debian under volt-run and a load, on loopback, for so long in all: no
deadlock may be reported, because there is none. Prints a table; exits with 1 if one was reported, or if a program
did not end as it should. A program that is not installed has a row that says so."""

import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

RUN = os.path.realpath(sys.argv[1])
PACE = 0.01  # a client rests so long between requests, so that other work of the machine goes on


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def is_up(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
        return True
    except OSError:
        return False


class Missing(Exception):
    pass


class Watched:
    """A program under volt-run."""

    def __init__(self, directory, command, **how):
        if not shutil.which(command[0]):
            raise Missing(command[0])
        self.path = f"{directory}/report-{time.monotonic_ns()}"
        self.err = open(self.path + ".err", "w+")
        self.process = subprocess.Popen([RUN, "--children", "--json", self.path, "--output", self.path + ".text", *command],
                                        stdout=subprocess.DEVNULL, stderr=self.err, **how)

    def wait_for(self, port):
        end = time.monotonic() + 120
        while not is_up(port):
            if self.process.poll() is not None or time.monotonic() > end:
                self.err.seek(0)
                raise RuntimeError(f"it does not serve: {self.process.poll()} {self.err.read()[-2000:]}")
            time.sleep(0.05)

    def reports(self):
        if not os.path.exists(self.path):
            return []
        with open(self.path) as lines:
            return [json.loads(line) for line in lines]

    def end(self, codes=(0,)):
        self.process.terminate()
        return self.join(codes)

    def join(self, codes=(0,)):
        code = self.process.wait(timeout=600)
        if code not in codes:
            self.err.seek(0)
            raise RuntimeError(f"exit code {code}: {self.err.read()[-2000:]}")
        return self.reports()


def clients(count, until, work):
    """count threads that call work(their number) again and again. Raises what one of them has met."""
    wrong = []

    def run(number):
        try:
            while time.monotonic() < until and not wrong:
                work(number)
                time.sleep(PACE)
        except Exception as e:
            wrong.append(e)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if wrong:
        raise wrong[0]


# ---- programs: each returns its reports ----

def memcached(directory, until):
    port = free_port()
    server = Watched(directory, ["memcached", "-u", "root", "-t", "4", "-p", str(port), "-U", "0", "-m", "8"])
    server.wait_for(port)

    def work(number):
        with socket.create_connection(("127.0.0.1", port)) as s:
            answers = s.makefile("rb")
            for _ in range(20):
                text = [b"set k%d 0 0 400\r\n%s\r\n" % (random.randrange(50000), b"x" * 400) if i % 3 else
                        b"get k%d\r\n" % random.randrange(50000) for i in range(60)]
                s.sendall(b"".join(text))
                wanted = 0
                while wanted < 60:
                    wanted += answers.readline() in (b"END\r\n", b"STORED\r\n")

    clients(8, until, work)
    return server.end()


def redis(directory, until):
    port = free_port()
    server = Watched(directory, ["redis-server", "--port", str(port), "--dir", directory, "--save", "1 100",
                                 "--appendonly", "yes", "--io-threads", "2", "--lazyfree-lazy-user-flush", "yes"])
    server.wait_for(port)
    while time.monotonic() < until:
        subprocess.run(["redis-benchmark", "-p", str(port), "-n", "20000", "-P", "8", "-c", "16", "-t", "set,get,lpush",
                        "-r", "10000", "-q"], stdout=subprocess.DEVNULL, check=True)
        subprocess.run(["redis-cli", "-p", str(port), "flushall", "async"], stdout=subprocess.DEVNULL, check=True)
        time.sleep(0.5)
    return server.end()


NGINX = """daemon off; master_process off; pid {d}/nginx.pid; error_log {d}/error.log; worker_processes 1;
thread_pool default threads=8 max_queue=1024;
events {{ worker_connections 512; }}
http {{ access_log off; sendfile off; aio threads; aio_write on; client_body_temp_path {d}/body; proxy_temp_path {d}/proxy;
  fastcgi_temp_path {d}/fcgi; uwsgi_temp_path {d}/uwsgi; scgi_temp_path {d}/scgi;
  server {{ listen 127.0.0.1:{port}; root {d}; output_buffers 1 16k; }} }}
"""


def nginx(directory, until):
    port = free_port()
    with open(f"{directory}/nginx.conf", "w") as conf:
        conf.write(NGINX.format(d=directory, port=port))
    body = os.urandom(1 << 20)
    with open(f"{directory}/file", "wb") as file:
        file.write(body)
    server = Watched(directory, ["nginx", "-c", f"{directory}/nginx.conf"])
    server.wait_for(port)

    def work(number):
        with socket.create_connection(("127.0.0.1", port)) as s:
            s.sendall(b"GET /file HTTP/1.0\r\n\r\n")
            answer = s.makefile("rb").read()
        if not answer.endswith(body):
            raise RuntimeError("nginx: another answer")

    clients(8, until, work)
    return server.end()


def python(directory, until):
    tests = ("test_thread", "test_threading", "test_queue", "test_threading_local", "test_threadsignals",
             "test_concurrent_futures")
    if subprocess.run(["python3", "-c", "import test.test_threading"], capture_output=True).returncode:
        raise Missing("Python's own tests")
    found = []
    while time.monotonic() < until:
        for test in tests:
            if time.monotonic() > until:
                break
            done = Watched(directory, ["timeout", "-s", "KILL", "400", "python3", "-m", "test", "-q", test],
                           cwd=directory)
            found += done.join((0, 1, 2, 3, 4, 5, -9, 137))  # that a test of Python's fails is its own matter: glibc's fail, too
    return found


def packer(*command):
    def run(directory, until):
        data = b"".join(random.randbytes(64).hex().encode() * 2 for _ in range(40000))
        with open(f"{directory}/data", "wb") as file:
            file.write(data)
        found = []
        while time.monotonic() < until:
            with open(f"{directory}/data", "rb") as file:
                found += Watched(directory, list(command), stdin=file).join()
            time.sleep(0.5)
        return found
    return run


def mariadb(directory, until):
    for needed in ("mariadbd", "mariadb-install-db", "sysbench"):
        if not shutil.which(needed):
            raise Missing(needed)
    port, place = free_port(), f"{directory}/db"
    subprocess.run(["mariadb-install-db", "--user=root", f"--datadir={place}", "--auth-root-authentication-method=normal"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    server = Watched(directory, ["mariadbd", "--no-defaults", "--user=root", f"--datadir={place}", f"--port={port}",
                                 "--bind-address=127.0.0.1", f"--socket={directory}/socket", "--innodb-buffer-pool-size=32M",
                                 "--innodb-flush-log-at-trx-commit=2"])
    server.wait_for(port)
    client = ["mariadb", "-u", "root", f"--socket={directory}/socket"]
    subprocess.run([*client, "-e", "create database sbtest"], check=True)
    load = ["sysbench", "oltp_read_write", "--db-driver=mysql", f"--mysql-socket={directory}/socket", "--mysql-user=root",
            "--tables=2", "--table-size=2000", "--threads=6", "--rate=60"]
    subprocess.run([*load, "prepare"], stdout=subprocess.DEVNULL, check=True)
    seconds = max(1, int(until - time.monotonic()))
    subprocess.run([*load, f"--time={seconds}", "--mysql-ignore-errors=all", "run"], stdout=subprocess.DEVNULL, check=True)
    return server.end()


PROGRAMS = {"memcached": memcached, "redis-server": redis, "nginx": nginx, "python3": python, "mariadbd": mariadb,
            "xz": packer("xz", "-T2", "-1", "-c"), "pigz": packer("pigz", "-p", "4", "-c")}


# ---- the table ----

def row(name, seconds):
    """Whether nothing was reported."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        try:
            reports = PROGRAMS[name](directory, begun + seconds)
        except Missing as missing:
            print(f"| {name} | | | | | there is no {missing} |", flush=True)
            return True
        except Exception as e:
            print(f"| {name} | | | | | {type(e).__name__}: {e} |", flush=True)
            return False
    deadlocks = [r for r in reports if r["why"] == "deadlock"]
    ends = [r for r in reports if r["why"] == "end"]
    faults = {lock["fault"] for r in ends for lock in r["locks"] if lock["faults"]}
    print(f"| {name} | {time.monotonic() - begun:.0f} s | {len(ends)} | {sum(r['waits'] for r in ends)} | {len(deadlocks)} | "
          f"{'; '.join(sorted(faults))} |", flush=True)
    for report in deadlocks:
        print(json.dumps(report), file=sys.stderr)
    return not deadlocks


def main():
    os.nice(10)
    names = sys.argv[3:] or list(PROGRAMS)
    seconds = float(sys.argv[2]) * 60 / len(names)
    print("| program | watched for | reports | waits for locks | deadlocks reported | what else was said |\n|---|--:|--:|--:|--:|---|")
    results = [row(name, seconds) for name in names]
    sys.exit(0 if all(results) else 1)


main()
