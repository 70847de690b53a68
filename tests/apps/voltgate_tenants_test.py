#!/usr/bin/env python3
"""voltgate_tenants_test.py PROGRAM [--whole] [test]...: users of one gate that are told apart: turns,
weights, limits of their own."""

import collections

from voltgate_kit import *

HOLD = 0.005


class Crowd:
    """Connections of one tenant, each of which asks again as soon as it is answered. The server is
    an Upstream that answers after HOLD; a request says whose it is."""

    def __init__(self, gate, name, count, source=None, address=None):
        self.gate, self.name, self.count = gate, name, count
        self.source, self.address = source, address or gate.address
        self.stop = False
        self.served = 0
        self.thread = threading.Thread(target=self.run, daemon=True)

    def ask(self):
        s = connect(self.address, source=self.source)
        s.sendall(self.name)
        self.look.register(s, select.EPOLLIN)
        self.open[s.fileno()] = s

    def run(self):
        self.look, self.open = select.epoll(), {}
        for _ in range(self.count):
            self.ask()
        while not self.stop:
            for fd, _ in self.look.poll(0.05):
                s = self.open.pop(fd)
                try:
                    self.served += s.recv(100) == self.name
                except OSError:
                    pass
                s.close()
                if not self.stop:
                    self.ask()
        for s in self.open.values():
            s.close()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop = True
        self.thread.join(LIMIT)


def modest_turns(gate, upstream, tries, source=None, address=None):
    """How many of others are served between a modest client's arrival and its service, and how long
    it waits, in ms."""
    passed, waits = [], []
    for i in range(tries):
        s = connect(address or gate.address, source=source)
        begun = time.monotonic()
        before = len(upstream.arrived)
        s.sendall(b"modest %d" % i)
        equal(receive_all(s)[0], b"modest %d" % i, "answer")
        s.close()
        with upstream.lock:
            mine = next(c for c in reversed(upstream.arrived) if c.bytes == b"modest %d" % i)
            passed.append(max(0, mine.number - before))
        waits.append((mine.at - begun) * 1000)
    return sorted(passed), sorted(waits)


def median(values):
    return values[len(values) // 2]


def greedy_and_modest(tenant_by, greedy, modest, tries=None, **options):
    upstream = Upstream(hold=HOLD)
    gate = Gate(f"127.0.0.1:{upstream.port}", limit=4, tenant_by=tenant_by, queue_timeout="60s",
                **options)
    if tenant_by == "port":
        greedy, modest = {"address": gate.addresses[0]}, {"address": gate.addresses[1]}
    with Crowd(gate, b"greedy", 64, **greedy):
        wait_until(lambda: gate.queue_length() >= 50, "the greedy one's queue")
        passed, waits = modest_turns(gate, upstream, tries or many(25, 200), **modest)
    gate.settle()
    require(upstream.most <= 4, f"{upstream.most} at once")
    return passed, waits, gate


def test_fair_turn():
    """by source and by port: a modest client beside 64 greedy ones waits for its turn, not for them"""
    said = []
    for tenant_by, greedy, modest, more in (
            ("source", {"source": "127.0.0.2"}, {"source": "127.0.0.3"}, {}),
            ("port", {}, {}, {"listen": ["127.0.0.1:0", "127.0.0.1:0"], "gates": 2})):
        passed, waits, _ = greedy_and_modest(tenant_by, greedy, modest, **more)
        # Its turn is the next permit that is free: one of four every HOLD / 4, and those that were
        # admitted while it was being accepted.
        require(median(passed) <= 5, f"{tenant_by}: passed by {passed}")
        said.append(f"{tenant_by}: passed by {median(passed)} (at most {passed[-1]}), "
                    f"p50 {median(waits):.1f} ms")
    return "; ".join(said)


def test_one_fifo():
    """without tenants the modest one waits behind all (so the test before can fail)"""
    passed, waits, _ = greedy_and_modest("none", {"source": "127.0.0.2"}, {"source": "127.0.0.3"},
                                         tries=8)
    require(median(passed) >= 50, f"passed by {passed}")
    return f"passed by {median(passed)}, p50 {median(waits):.1f} ms"


def test_prefix():
    """source/24: neighbours are one tenant"""
    upstream = Upstream(hold=HOLD)
    gate = Gate(f"127.0.0.1:{upstream.port}", limit=4, tenant_by="source/24")
    for source in ("127.0.7.1", "127.0.7.2", "127.0.8.1"):
        s = connect(gate.address, source=source)
        s.sendall(b"x")
        receive_all(s)
        s.close()
    gate.settle()
    found = {t["name"]: t["admitted"] for t in gate.status()["tenants"] if t["admitted"]}
    equal(sorted(found.values()), [1, 2], f"tenants {found}")
    require(any("127.0.7" in name for name in found), f"names {found}")
    return str(found)


def shares(ini_tenants, sources, seconds, limit=3, more="", least=0):
    """Who arrives in so many seconds, or until more than `least` of each source have."""
    upstream = Upstream(hold=HOLD)
    gate = Gate(ini=f"""[gate main]
listen = 127.0.0.1:0
to = 127.0.0.1:{upstream.port}
limit = {limit}
queue-timeout = 60s
tenant-by = source
{more}
{ini_tenants}
""")
    with contextlib.ExitStack() as stack:
        crowds = [stack.enter_context(Crowd(gate, source.encode(), 24, source=source))
                  for source in sources]
        wait_until(lambda: gate.queue_length() >= 24 * len(sources) - 10 * limit, "queues")
        begun = len(upstream.arrived)
        time.sleep(seconds)

        def count(source):
            with upstream.lock:
                return sum(c.bytes == source.encode() for c in upstream.arrived[begun:])
        for source in sources:
            wait_until(lambda: count(source) > least, f"more than {least} of {source}")
        with upstream.lock:
            arrived = list(upstream.arrived[begun:])
        tenants = {t["name"]: t for t in gate.status()["tenants"]}
        del crowds
    gate.settle()
    found = collections.Counter(c.bytes.decode() for c in arrived if c.bytes)
    return found, tenants, gate, upstream, arrived


def test_weights():
    """weights 1 and 3: shares of 1 and 3, also within short spans"""
    found, tenants, _, _, arrived = shares(
        "[tenant main/127.0.0.2]\nweight = 1\n[tenant main/127.0.0.3]\nweight = 3\n",
        ["127.0.0.2", "127.0.0.3"], many(1, 10))
    ratio = found["127.0.0.3"] / max(1, found["127.0.0.2"])
    require(2.7 < ratio < 3.3, f"{ratio:.2f}: {found}")
    equal(tenants["127.0.0.3"]["weight"], 3, "weight in /status")
    # Nobody has its share in one heap at the end of a round.
    order = [c.bytes.decode() for c in arrived if c.bytes]
    for i in range(0, len(order) - 40, 40):
        part = order[i:i + 40].count("127.0.0.3")
        require(24 <= part <= 36, f"{part} of 40 at {i}")
    return f"1 : {ratio:.2f} of {sum(found.values())}"


def test_equal_turns():
    """three tenants of different size: equal shares"""
    found, _, _, _, _ = shares("", ["127.0.0.2", "127.0.0.3", "127.0.0.4"], many(1, 5))
    most, least = max(found.values()), min(found.values())
    require(len(found) == 3 and least / most > 0.9, f"{found}")
    return str(dict(found))


def test_limits():
    """a tenant's limit holds, its clients do not keep others from permits that are free"""
    found, tenants, _, upstream, _ = shares("[tenant main/127.0.0.2]\nlimit = 1\n",
                                            ["127.0.0.2", "127.0.0.3"], many(0.7, 3), limit=6,
                                            more="tenant-limit = 4")
    require(upstream.most <= 5, f"{upstream.most} at once: 1 and 4 are the tenants' limits")
    ratio = found["127.0.0.3"] / max(1, found["127.0.0.2"])
    require(3 < ratio < 5, f"1 : {ratio:.2f} {found}")
    equal((tenants["127.0.0.2"]["limit"], tenants["127.0.0.3"]["limit"]), (1, 4), "in /status")
    return f"1 : {ratio:.2f}"


def test_cost():
    """cost: a tenant's connection takes several permits, and never more than there are"""
    found, _, gate, upstream, _ = shares("[tenant main/127.0.0.2]\ncost = 3\n",
                                         ["127.0.0.2"], 0.3, limit=4, least=20)
    equal(upstream.most, 1, "at once, each of 3 permits of 4")
    require(found["127.0.0.2"] > 20, f"{found}")
    equal(gate.status()["held"], 0, "held at the end")
    # Costs and others mixed: both go on.
    found, _, gate, _, _ = shares("[tenant main/127.0.0.2]\ncost = 3\n", ["127.0.0.2", "127.0.0.3"],
                                  0.5, limit=4, least=10)
    require(min(found.values()) > 10, f"{found}")
    equal(gate.status()["held"], 0, "held at the end")


def test_limit_changes():
    """a tenant's limit is changed by HTTP while it is in use"""
    upstream = Upstream(hold=HOLD)
    gate = Gate(f"127.0.0.1:{upstream.port}", limit=8, tenant_by="source", queue_timeout="60s",
                tenant_limit=6)
    with Crowd(gate, b"x", 30, source="127.0.0.2"):
        wait_until(lambda: upstream.most == 6, "it uses its limit")
        code, text = gate.http("PUT", "/gates/main/tenants/127.0.0.2/limit", "2")
        equal(code, 200, text)
        wait_until(lambda: upstream.count() <= 2, "down to the new limit")
        time.sleep(0.06)
        with upstream.lock:
            upstream.most = 0
        time.sleep(0.2)
        equal(upstream.most, 2, "at once")
        gate.http("PUT", "/gates/main/tenants/127.0.0.2/limit", "0")
        wait_until(lambda: upstream.most == 8, "without one of its own")
    gate.settle()


def test_many_tenants():
    """more tenants than tenant-max at once: the later ones share one"""
    upstream = Upstream()
    gate = Gate(f"127.0.0.1:{upstream.port}", limit=100, tenant_by="source", tenant_max=10)
    crowd = []
    for i in range(40):
        s = connect(gate.address, source=f"127.0.9.{i + 1}")
        s.sendall(b"x")
        crowd.append(s)
    wait_until(lambda: upstream.count() == 40, "all are served")
    tenants = {t["name"]: t["held"] for t in gate.status()["tenants"]}
    require(len(tenants) in (10, 11), f"{len(tenants)} tenants")
    require(tenants["other"] in (30, 31), f"others of {tenants}")
    equal(sum(tenants.values()), 40, f"held, of {tenants}")
    equal(sum(v for k, v in gate.metrics().items() if k.startswith("voltgate_tenant_held")), 40,
          "held, of /metrics")
    for s in crowd:
        s.close()
    gate.settle()
    tenants = {t["name"]: t for t in gate.status()["tenants"]}
    equal(sum(t["held"] for t in tenants.values()), 0, "held at the end")


def test_postgres_users():
    """postgres, by user and by database: the modest user's transactions take turns with the greedy one's"""
    if not postgres():
        raise Skip("there is no PostgreSQL")
    server = Postgres(settings={"max_connections": 120})
    odd = 'we"ird\\na me'
    server.run("CREATE ROLE greedy LOGIN", "CREATE ROLE modest LOGIN", "CREATE DATABASE other",
               "CREATE ROLE " + '"' + odd.replace('"', '""') + '"' + " LOGIN",
               "CREATE SEQUENCE turn", "GRANT ALL ON SEQUENCE turn TO PUBLIC")
    said = []
    for tenant_by in ("user", "none"):
        gate = Gate(f"127.0.0.1:{server.port}", protocol="postgres", limit=4, tenant_by=tenant_by,
                    queue_timeout="60s")
        crowd = [Pg(gate.address, user="greedy") for _ in range(40)]
        sql = "SELECT nextval('turn') FROM pg_sleep(0.003)"
        stop = threading.Event()

        def greedy():
            look = {pg.s: pg for pg in crowd}
            for pg in crowd:
                pg.send(sql)
            while not stop.is_set():
                for s in select.select(list(look), [], [], 0.05)[0]:
                    look[s].until_ready()
                    look[s].send(sql)
        thread = threading.Thread(target=greedy, daemon=True)
        thread.start()
        passed = []
        with Pg(gate.address, user="modest") as modest:
            wait_until(lambda: gate.queue_length() >= 30, "the greedy one's queue")
            for _ in range(many(20, 100)):
                before = int(server.run("SELECT last_value FROM turn")[0][0][0])
                modest.send("SELECT nextval('turn')")
                passed.append(int(modest.until_ready()[0][0]) - before)
        stop.set()
        thread.join(LIMIT)
        for pg in crowd:
            pg.close()
        gate.settle()
        passed.sort()
        said.append(f"{tenant_by}: passed by {median(passed)}")
        if tenant_by == "user":
            require(median(passed) <= 10, f"by user: passed by {passed}")
            names = {t["name"] for t in gate.status()["tenants"]}
            require({"greedy", "modest"} <= names, f"{names}")
        else:
            require(median(passed) >= 25, f"one FIFO: passed by {passed}")
    gate = Gate(f"127.0.0.1:{server.port}", protocol="postgres", limit=4, tenant_by="database")
    for database in ("postgres", "other"):
        with Pg(gate.address, database=database) as pg:
            pg.query("SELECT 1")
    with Pg(gate.address, user=odd) as pg:
        pg.query("SELECT 1")
    equal({t["name"]: t["admitted"] for t in gate.status()["tenants"]}, {"postgres": 2, "other": 1},
          "tenants")
    gate = Gate(f"127.0.0.1:{server.port}", protocol="postgres", limit=4, tenant_by="user")
    with Pg(gate.address, user=odd) as pg:
        pg.query("SELECT 1")
    equal([t["name"] for t in gate.status()["tenants"] if t["admitted"]], [odd],
          "a strange name in /status")
    require(any('tenant="we\\"ird\\\\na me"' in name for name in gate.metrics()),
            f"a strange name in /metrics {[n for n in gate.metrics() if 'tenant' in n][:3]}")
    return "; ".join(said)


run_tests([gate_is_there], test_fair_turn, test_one_fifo, test_prefix, test_weights, test_equal_turns,
          test_limits, test_cost, test_limit_changes, test_many_tenants, test_postgres_users)
