#!/usr/bin/env python3
"""usage: ./x cluster demo [--clients N] [--limit N] [--no-browser]

Starts three ZooKeepers, a PostgreSQL, and three voltgates in front of it with one limit for all of them;
pgbench goes through each gate. On the way one gate is killed, comes back, and the limit is changed.
Says each second what each gate leases, and how many transactions PostgreSQL runs at once. It takes about
a minute, ends by itself, and leaves nothing.

  --clients N     clients of each pgbench (40)
  --limit N       transactions at once, over all gates (16)
  --no-browser    say where the page is, do not open it"""

import tempfile

from zookeeper_kit import *

SESSION, TICK = 4.0, 0.5
BUILD = os.path.normpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../build"))

# Those that had begun before this statement, and are seen by it: they ran at once when it began. What
# pg_stat_activity shows is not one instant, and would count one that ends and one that begins meanwhile.
RUNNING = """SELECT count(*) FROM pg_stat_activity WHERE usename = 'shop' AND state <> 'idle'
             AND xact_start <= statement_timestamp()"""
LOAD = """\\set a random(1, 100000)
BEGIN;
SELECT abalance FROM pgbench_accounts WHERE aid = :a;
\\sleep 5 ms
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :a;
COMMIT;
"""


def wrong(text):
    print(f"cluster demo: {text}", file=sys.stderr)
    sys.exit(2)


def options():
    """What was asked for. The first argument is the gate's program."""
    found, words = {"clients": 40, "limit": 16, "browser": True}, sys.argv[2:]
    while words:
        word = words.pop(0)
        if word in ("-h", "--help"):
            print(__doc__)
            sys.exit(0)
        elif word == "--no-browser":
            found["browser"] = False
        elif word in ("--clients", "--limit"):
            value = words.pop(0) if words else ""
            if not re.fullmatch(r"[1-9][0-9]{0,3}", value):
                wrong(f"{word}: '{value}' is no number")
            found[word[2:]] = int(value)
        else:
            wrong(f"there is no option {word}: see ./x cluster demo --help")
    if found["clients"] > 300:
        wrong(f"--clients: {found['clients']}: want 1 to 300")
    return found


def enters(directory):
    """Whether PostgreSQL, which does not run as root, may enter this directory."""
    if not unprivileged():
        return True
    while os.stat(directory).st_mode & 1:
        if directory == "/":
            return True
        directory = os.path.dirname(directory)
    return False


class Demo:
    def __init__(self, clients, limit, browser):
        self.clients, self.limit, self.begun = clients, limit, time.monotonic()
        self.most, self.most_since, self.samples, self.load = 0, 0, 0, []
        self.servers()
        self.gates = [self.gate(number) for number in (1, 2, 3)]
        self.over, self.lock = threading.Event(), threading.Lock()
        self.show(browser)

    # What runs.

    def servers(self):
        print("== three ZooKeepers, PostgreSQL", flush=True)
        self.zks = ZooKeepers(3, tick_ms=int(TICK * 1000))
        self.zks.serving(3)
        self.pg = Postgres(settings={"max_connections": 3 * self.clients + 100, "shared_buffers": "64MB",
                                     "unix_socket_directories": ""})
        made = Process([self.tool("pgbench"), "-h", "127.0.0.1", "-p", str(self.pg.port), "-U", "postgres", "-i",
                        "-q", "-s", "1", "postgres"])
        equal(made.process.wait(LIMIT), 0, f"pgbench -i: {made.said()}")
        self.pg.run("CREATE ROLE shop LOGIN", "GRANT ALL ON ALL TABLES IN SCHEMA public TO shop")

    def tool(self, name):
        return os.path.join(self.pg.bin, name) if os.path.exists(os.path.join(self.pg.bin, name)) else name

    def gate(self, number):
        return Gate(to=f"127.0.0.1:{self.pg.port}", protocol="postgres", limit=self.limit, cluster=self.zks.address,
                    cluster_name="demo", cluster_session=f"{SESSION:.0f}s", cluster_host=f"gate{number}",
                    queue_timeout="60s")

    def show(self, browser):
        for number, gate in enumerate(self.gates, 1):
            page = f"http://127.0.0.1:{gate.admin_port}/"
            print(f"   gate {number}: page {page}   psql -h 127.0.0.1 -p {gate.port} -U shop postgres")
        print(f"   token of the pages, to change the limit there: {Gate.TOKEN}", flush=True)
        if browser and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")) and shutil.which("xdg-open"):
            subprocess.run(["xdg-open", f"http://127.0.0.1:{self.gates[0].admin_port}/"], check=False)

    def pgbench(self, gate, seconds):
        """A thread of pgbench for each client: it must not block for one while another is in a transaction."""
        script = os.path.join(scratch(), "load.sql")
        with open(script, "w") as f:
            f.write(LOAD)
        return Process([self.tool("pgbench"), "-h", "127.0.0.1", "-p", str(gate.port), "-U", "shop", "-n", "-f", script,
                        "-c", str(self.clients), "-j", str(self.clients), "-T", str(seconds), "postgres"])

    # What is seen.

    def watch(self):
        """Counts transactions at once, straight at PostgreSQL, all the time."""
        with Pg(self.pg.port) as pg:
            while not self.over.is_set():
                found = int(pg.one(RUNNING))
                with self.lock:
                    self.samples += 1
                    self.most, self.most_since = max(self.most, found), max(self.most_since, found)
                time.sleep(0.01)

    def at_once(self):
        with self.lock:
            found, self.most_since = self.most_since, 0
        return found

    def leases(self):
        return [gate.status()["cluster"]["leased"] if gate.alive() else None for gate in self.gates]

    def line(self, what=""):
        leases = "".join(f"{'-' if n is None else n:>8}" for n in self.leases())
        print(f"{time.monotonic() - self.begun:6.0f} s{leases}{self.at_once():>14}   {what}", flush=True)

    def look(self, seconds):
        for _ in range(seconds):
            time.sleep(1)
            self.line()

    # What happens.

    def run(self):
        threading.Thread(target=self.watch, daemon=True).start()
        self.load = [self.pgbench(gate, 300) for gate in self.gates]
        print(f"== pgbench with {self.clients} clients through each gate; the limit of all is {self.limit}\n"
              f"         gate 1  gate 2  gate 3  transactions\n"
              f"               slots leased      at once, most", flush=True)
        wait_until(lambda: sum(self.leases()) == self.limit, "all slots are leased")
        self.look(12)
        took = self.kill_one()
        self.look(6)
        self.gates[1] = self.gate(2)
        self.load[1] = self.pgbench(self.gates[1], 300)
        self.line("gate 2 is started again")
        self.look(8)
        before, half = self.most, max(1, self.limit // 2)
        self.gates[0].limit_to(half)
        wait_until(lambda: all(gate.status()["cluster"]["limit"] == half for gate in self.gates), "all know the limit")
        wait_until(lambda: sum(self.leases()) <= half, "what is above the limit has been given back")
        self.line(f"the limit is {half} now, said to gate 1, for all")
        with self.lock:
            self.most = self.most_since = 0
        self.look(8)
        return took, before, half

    def kill_one(self):
        had = self.leases()[1]
        self.gates[1].kill()
        killed = time.monotonic()
        self.line(f"gate 2 was killed, with {had} slots")
        shown = killed
        while sum(filter(None, self.leases())) < self.limit:
            require(time.monotonic() < killed + LIMIT, "nobody gets the slots of the gate that was killed")
            time.sleep(0.05)
            if time.monotonic() > shown + 1:
                shown = time.monotonic()
                self.line()
        took = time.monotonic() - killed
        self.line(f"its slots serve others after {took:.1f} s (session {SESSION:.0f} s, tick {TICK} s)")
        return took

    def end(self):
        self.over.set()
        for load in self.load:
            load.kill(signal.SIGINT)
        for gate in self.gates:
            gate.kill()


def main():
    asked = options()
    if sys.argv[1] == "--check":
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    need_servers()
    os.makedirs(BUILD, exist_ok=True)
    if enters(BUILD):
        tempfile.tempdir = BUILD
    demo = Demo(**asked)
    try:
        took, most, half = demo.run()
    finally:
        demo.end()
    print(f"== at most {most} transactions at once while the limit was {asked['limit']}, {demo.most} while it was {half};"
          f" {demo.samples} looks\n   the slots of the gate that was killed served others after {took:.1f} s\n"
          f"   more: docs/cluster/README.md, docs/voltgate/README.md", flush=True)
    if most > asked["limit"] or demo.most > half:
        sys.exit("cluster demo: that is above the limit")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
