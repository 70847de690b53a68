#!/usr/bin/env python3
"""tenants_test.py PROGRAM [--whole] [test]...: users of one gate that are told apart: turns,
weights, limits of their own."""

import collections
import itertools

from voltgate_kit import *

HOLD = 0.005


# ---- turns, one by one: the server ends a connection when it is told to ----

class Turns:
    """Connections that wait until one after the other is admitted. Each says whose it is."""

    def __init__(self, gate, upstream, at_once):
        self.gate, self.upstream = gate, upstream
        self.clients = []
        self.add(b"first", at_once, "127.0.0.99")
        wait_until(lambda: upstream.count() == at_once, f"{at_once} are held")

    def add(self, name, count, source=None, address=None):
        for _ in range(count):
            self.clients.append(connect(address or self.gate.address, source=source))
            self.clients[-1].sendall(name)

    def wait(self, count):
        wait_until(lambda: self.gate.queue_length() == count, f"{count} wait")

    def open(self):
        """Whose connections the server has."""
        with self.upstream.lock:
            return collections.Counter(c.bytes.decode() for c in self.upstream.open.values())

    def next(self):
        """Ends the oldest connection. Returns whose comes for it."""
        before = len(self.upstream.arrived)
        self.upstream.release(1)
        wait_until(lambda: len(self.upstream.arrived) > before
                   and self.upstream.arrived[before].bytes, "the next is admitted")
        equal(len(self.upstream.arrived), before + 1, "for one that has ended")
        return self.upstream.arrived[before].bytes.decode()

    def end(self):
        def ended():
            self.upstream.release()
            return not self.gate.queue_length() and not self.upstream.count()
        wait_until(ended, "all are served")
        for s in self.clients:
            s.close()
        self.gate.settle()


def passed(tenant_by, greedy, modest, **options):
    """How many of 40 that wait are admitted before one of another tenant that comes after them."""
    upstream = Upstream()
    gate = Gate(f"127.0.0.1:{upstream.port}", limit=4, tenant_by=tenant_by, queue_timeout="0", **options)
    if tenant_by == "port":
        greedy, modest = {"address": gate.addresses[0]}, {"address": gate.addresses[1]}
    turns = Turns(gate, upstream, 4)
    turns.add(b"greedy", 40, **greedy)
    turns.wait(40)
    found = []
    for i in range(3):
        turns.add(b"modest", 1, **modest)
        turns.wait(41 - sum(found))
        found.append(next(n for n in itertools.count() if turns.next() == "modest"))
    turns.end()
    require(upstream.most <= 4, f"{upstream.most} at once")
    return found


# ---- under load ----

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


WAYS = (("source", {"source": "127.0.0.2"}, {"source": "127.0.0.3"}, {}),
        ("port", {}, {}, {"listen": ["127.0.0.1:0", "127.0.0.1:0"], "gates": 2}))


def test_fair_turn():
    """by source and by port: one modest client beside 40 that wait waits for its turn, not for them"""
    said = []
    for tenant_by, greedy, modest, more in WAYS:
        found = passed(tenant_by, greedy, modest, **more)
        require(max(found) <= 1, f"{tenant_by}: passed by {found}")
        said.append(f"{tenant_by}: passed by {found}")
    return "; ".join(said)


def test_one_fifo():
    """without tenants the modest one waits behind all (so the test before can fail)"""
    found = passed("none", {"source": "127.0.0.2"}, {"source": "127.0.0.3"})
    equal(found[0], 40, "passed by")


def test_fair_turn_under_load():
    """the same beside 64 greedy clients that come again and again"""
    if not whole():
        raise Skip("only in the long form: it depends on how soon this machine does what")
    said = []
    for tenant_by, greedy, modest, more in WAYS:
        passed, waits, _ = greedy_and_modest(tenant_by, greedy, modest, **more)
        # Its turn is the next permit that is free: one of four every HOLD / 4, and those that were
        # admitted while it was being accepted.
        require(median(passed) <= 5, f"{tenant_by}: passed by {passed}")
        said.append(f"{tenant_by}: passed by {median(passed)} (at most {passed[-1]}), "
                    f"p50 {median(waits):.1f} ms")
    return "; ".join(said)


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


def order_of(ini_tenants, sources, each, admitted):
    """Whose connections come one after the other while all of these sources have some that wait."""
    upstream = Upstream()
    gate = Gate(ini=f"""[gate main]
listen = 127.0.0.1:0
to = 127.0.0.1:{upstream.port}
limit = 3
queue-timeout = 0
tenant-by = source
{ini_tenants}
""")
    turns = Turns(gate, upstream, 3)
    for source in sources:
        turns.add(source.encode(), each, source)
    turns.wait(each * len(sources))
    order = [turns.next() for _ in range(admitted)]
    tenants = {t["name"]: t for t in gate.status()["tenants"]}
    turns.end()
    return order, tenants


def test_weights():
    """weights 1 and 3: shares of 1 and 3, also within short spans"""
    order, tenants = order_of("[tenant main/127.0.0.2]\nweight = 1\n[tenant main/127.0.0.3]\nweight = 3\n",
                              ["127.0.0.2", "127.0.0.3"], many(40, 200), many(50, 260))
    equal(tenants["127.0.0.3"]["weight"], 3, "weight in /status")
    # Neither has its share in one heap at the end of a round.
    for i in range(len(order) - 8):
        part = order[i:i + 8].count("127.0.0.3")
        require(5 <= part <= 7, f"{part} of 8 at {i}: {order}")
    share = order.count("127.0.0.3") / len(order)
    require(abs(share - 0.75) < 2 / len(order), f"{share:.3f}: {order}")
    return f"{share:.3f} of {len(order)}"


def test_equal_turns():
    """three tenants: equal shares"""
    order, _ = order_of("", ["127.0.0.2", "127.0.0.3", "127.0.0.4"], many(15, 100), many(36, 270))
    found = collections.Counter(order)
    require(len(found) == 3 and max(found.values()) - min(found.values()) <= 1, f"{order}")
    return str(dict(found))


def test_limits():
    """a tenant's limit holds, its clients do not keep others from permits that are free"""
    upstream = Upstream()
    gate = Gate(ini=f"""[gate main]
listen = 127.0.0.1:0
to = 127.0.0.1:{upstream.port}
limit = 6
queue-timeout = 0
tenant-by = source
tenant-limit = 4
[tenant main/127.0.0.2]
limit = 1
""")
    turns = Turns(gate, upstream, 0)
    for source in ("127.0.0.2", "127.0.0.3"):
        turns.add(source.encode(), many(20, 200), source)
    wanted = {"127.0.0.2": 1, "127.0.0.3": 4}
    for _ in range(many(16, 160)):
        wait_until(lambda: turns.open() == wanted, f"1 and 4 are the tenants' limits: {turns.open()}")
        turns.next()
    tenants = {t["name"]: t for t in gate.status()["tenants"]}
    equal((tenants["127.0.0.2"]["limit"], tenants["127.0.0.3"]["limit"]), (1, 4), "in /status")
    turns.end()
    require(upstream.most <= 5, f"{upstream.most} at once")


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
    upstream = Upstream()
    gate = Gate(f"127.0.0.1:{upstream.port}", limit=8, tenant_by="source", queue_timeout="0",
                tenant_limit=6)
    turns = Turns(gate, upstream, 0)
    turns.add(b"x", 30, "127.0.0.2")
    wait_until(lambda: upstream.count() == 6, "it uses its limit")
    turns.wait(24)
    code, text = gate.http("PUT", "/gates/main/tenants/127.0.0.2/limit", "2")
    equal(code, 200, text)
    upstream.release(4)
    for _ in range(10):
        equal(turns.next(), "x", "one comes for one that has ended")
        equal(upstream.count(), 2, "the new limit")
    gate.http("PUT", "/gates/main/tenants/127.0.0.2/limit", "0")
    wait_until(lambda: upstream.count() == 8, "without one of its own")
    turns.end()
    require(upstream.most <= 8, f"{upstream.most} at once")


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
        gate = Gate(f"127.0.0.1:{server.port}", protocol="postgres", limit=1, tenant_by=tenant_by,
                    queue_timeout="0")
        holder, *crowd = [Pg(gate.address, user="greedy") for _ in range(40)]
        modest = Pg(gate.address, user="modest")
        holder.query("BEGIN")
        before = int(holder.one("SELECT nextval('turn')"))
        for pg in crowd:
            pg.send("SELECT nextval('turn')")
        wait_until(lambda: gate.queue_length() == len(crowd), "the greedy one's queue")
        modest.send("SELECT nextval('turn')")
        wait_until(lambda: gate.queue_length() == len(crowd) + 1, "the modest one waits, too")
        holder.query("COMMIT")
        passed = int(modest.until_ready()[0][0]) - before - 1
        for pg in (holder, modest, *crowd):
            pg.close()
        gate.settle()
        said.append(f"{tenant_by}: passed by {passed}")
        if tenant_by == "user":
            require(passed <= 1, f"by user: passed by {passed}")
            names = {t["name"] for t in gate.status()["tenants"]}
            require({"greedy", "modest"} <= names, f"{names}")
        else:
            equal(passed, len(crowd), "one FIFO: passed by")
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


run_tests([gate_is_there], test_fair_turn, test_one_fifo, test_fair_turn_under_load, test_prefix,
          test_weights, test_equal_turns,
          test_limits, test_cost, test_limit_changes, test_many_tenants, test_postgres_users)
