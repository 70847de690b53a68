#!/usr/bin/env python3
"""cluster_test.py: one limit for several gates, with a real ZooKeeper: the server never has
more than the limit at once, over all gates, at any instant, while gates join, leave and die, the
limit changes, and the ensemble goes away.

With --whole three ZooKeepers serve, and PostgreSQL has 600 clients before three gates."""

import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../../../tests/cluster"))

import itertools

from zookeeper_kit import *

TICK = 0.5
SESSION = 2.0  # of a gate that is killed. All others are not to lose theirs on a machine that is busy.
LONG = 10.0
numbers = itertools.count(1)
the_ensemble = []
kept = []  # clients that stay until the server ends them


def built_with_cluster():
    told = subprocess.run([program(), "check", "--listen", ":1", "--to", "127.0.0.1:2", "--cluster",
                           "127.0.0.1:3"], capture_output=True, text=True)
    return "built without" not in told.stderr


def ensemble():
    """The one of the tests that leave it alone."""
    if not the_ensemble:
        the_ensemble.append(at_end.enter_context(
            ZooKeepers(many(1, 3), tick_ms=int(TICK * 1000), fsync=False)))
    return the_ensemble[0]


def new_name():
    return f"test-{next(numbers)}"


def gate(up, name, zks=None, **options):
    """A gate of that cluster-name before a server; its host's name is its number."""
    options = {"limit": 4, "queue_timeout": "50s", "cluster_session": f"{LONG}s", **options}
    return Gate(f"127.0.0.1:{up.port}", cluster=(zks or ensemble()).address, cluster_name=name,
                cluster_host=f"host-{next(numbers)}", **options)


def ask(address, word=b"x", source=None):
    """One connection: sends a word, and is answered by the same, or was refused."""
    with contextlib.closing(connect(address, source=source)) as s:
        s.sendall(word)
        data, end = receive_all(s)
        require(data == word, f"{address}: {data!r}, {end}")


def lease(gate, name=None):
    return gate.status(name)["cluster"]


def leased(gates):
    return sum(lease(g)["leased"] for g in gates)


def waits(gate, count):
    wait_until(lambda: gate.queue_length() == count, f"{count} wait, of {gate.queue_length()}")


def at_gate(gate):
    """Clients that it has: admitted, or in its queue."""
    status = gate.status()
    return status["held"] + status["queue"]["length"]


def hold(gate, up, count, total=None):
    """So many connections that the server has, until it releases them."""
    total = (total or 0) + count
    clients = [connect(gate.address) for _ in range(count)]
    kept.extend(clients)
    for s in clients:
        s.sendall(b"x")
    wait_until(lambda: up.asked() == total, f"the server has {total}")
    return clients


class Load:
    """Threads that ask the gates that are there, in turn, again and again. Nobody may be refused."""

    def __init__(self, threads, gates, what=ask):
        self.gates, self.done, self.failures, self.ended = list(gates), 0, [], False
        self.busy = {g: 0 for g in gates}
        self.lock = threading.Lock()
        self.what = what
        self.threads = [threading.Thread(target=self.run, args=(i,), daemon=True)
                        for i in range(threads)]
        for thread in self.threads:
            thread.start()

    def run(self, i):
        for n in itertools.count(i):
            with self.lock:
                if self.ended:
                    return
                g = self.gates[n % len(self.gates)]
                self.busy[g] += 1
            try:
                self.what(g.address)
                self.done += 1
            except Exception as e:  # of any kind: no client may notice anything
                self.failures.append(f"{g.address}: {e!r}")
            with self.lock:
                self.busy[g] -= 1
                self.ended = self.ended or bool(self.failures)

    def join(self, g):
        with self.lock:
            self.busy[g] = 0
            self.gates.append(g)

    def leave(self, g):
        """No new request for it; some may still be under way."""
        with self.lock:
            self.gates.remove(g)

    def go_on(self, count):
        begun = self.done
        wait_until(lambda: self.done >= begun + count or self.failures, f"{count} more are served")
        equal(self.failures, [], "clients that have failed")

    def fill(self, up, most):
        """Until the server has had so many at once. More is wrong; with a permit lost, it never has."""
        wait_until(lambda: up.most >= most or self.failures, f"{most} at once, of {up.most}")
        equal(self.failures, [], "clients that have failed")

    def stop(self):
        with self.lock:
            self.ended = True
        for thread in self.threads:
            thread.join(LIMIT)
        equal(self.failures, [], "clients that have failed")


# ---- the limit ----

def over_all_gates():
    """three gates, one limit: the server never has more, all are served, numbers agree"""
    name, up = new_name(), Upstream(hold=0.004)
    gates = [gate(up, name) for _ in range(3)]
    load = Load(30, gates)
    load.go_on(many(600, 6000))
    seen = [0, 0]
    for _ in range(50):
        states = [lease(g) for g in gates]
        seen[0] = max(seen[0], sum(s["leased"] for s in states))
        seen[1] = max(seen[1], max(s["hosts"] for s in states))
        for s in states:
            equal((s["limit"], s["name"], s["mode"]), (4, name, "leased"), "what is shown")
    load.fill(up, 4)
    load.stop()
    equal(up.most, 4, "connections at once")
    require(seen[1] == 3, f"hosts: {seen[1]}")
    fewest, most = sorted(g.status()["totals"]["admitted"] for g in gates)[::2]
    for g in gates:
        g.settle()
        status, process, metrics = g.status(), g.whole_status()["cluster"], g.metrics()
        equal(process["state"], "connected", "the ensemble")
        require(int(process["session"], 16) > 0, process)
        for key, metric in (("limit", "limit"), ("leases", "leases_total"), ("era", "era"),
                            ("epoch", "epoch"), ("revoked", "revoked_total")):
            equal(metrics[f'voltgate_cluster_{metric}{{gate="main"}}'], status["cluster"][key], metric)
        equal(metrics['voltgate_cluster_mode{gate="main",mode="leased"}'], 1, "the mode")
        equal(metrics["voltgate_cluster_connected"], 1, "connected")
        equal((status["limit"], metrics['voltgate_limit{gate="main"}']), (4, 4), "the limit")
        equal(g.http("GET", "/health"), (200, "ok\n"), "health")
        queue = json.loads(g.http("GET", "/queue?gate=main")[1])
        equal((queue["cluster"]["limit"], queue["cluster"]["mode"]), (4, "leased"), "/queue")
    wait_until(lambda: leased(gates) == 0, "idle gates give back what they had leased")
    writes = [g.whole_status()["cluster"]["writes"] for g in gates]
    time.sleep(1.5 * SESSION)  # what does not happen cannot be waited for
    equal([g.whole_status()["cluster"]["writes"] for g in gates], writes, "writes while all are idle")
    return f"{load.done} served, admitted by the gates {fewest} to {most}"


def join_and_leave():
    """gates join and leave under load: nobody is refused, and the limit holds"""
    name, up = new_name(), Upstream(hold=0.004)
    gates = [gate(up, name) for _ in range(2)]
    load = Load(24, gates)
    load.go_on(100)
    for _ in range(many(2, 8)):
        new = gate(up, name)
        load.join(new)
        load.go_on(100)
        wait_until(lambda: new.status()["totals"]["admitted"] > 0, "the new one serves")
        old = gates.pop(0)
        load.leave(old)
        wait_until(lambda: at_gate(old) == load.busy[old], "all that have chosen it have come")
        old.send_signal(signal.SIGTERM)  # with clients in its queue: they are served
        equal(old.process.wait(LIMIT), 0, f"its exit code: {old.said()}")
        wait_until(lambda: load.busy[old] == 0, "clients that it had: each has its answer")
        equal(load.failures, [], "clients that have failed")
        gates.append(new)
        load.go_on(100)
    load.fill(up, 4)
    load.stop()
    equal(up.most, 4, "connections at once")


def leases_go_back_at_the_end():
    """a gate that ends gives its permits back: others have them long before its session would end"""
    name, up = new_name(), Upstream()
    one, other = (gate(up, name, cluster_session="10s") for _ in range(2))
    hold(one, up, 4)
    late = connect(other.address)
    late.sendall(b"late")
    waits(other, 1)
    one.send_signal(signal.SIGTERM)  # it drains: clients that hold permits may finish
    wait_until(lambda: "drains" in one.said(), "it drains")
    equal((up.count(), other.queue_length()), (4, 1), "nothing has changed")
    begun = time.monotonic()
    one.send_signal(signal.SIGTERM)  # now they are cut off
    wait_until(lambda: up.asked() == 1, "the other has one")
    took = time.monotonic() - begun
    in_time(took, 4, "the other has it")
    up.release()
    equal(receive_all(late)[0], b"late", "the answer")
    equal(one.process.wait(LIMIT), 0, f"the exit code: {one.said()}")
    require("all leases are given back" in one.said(), one.said())
    equal(up.most, 4, "connections at once")
    return f"after {took:.2f} s"


def killed():
    """a gate is killed: its permits serve others within its session and a tick, and a follower's half"""
    name, up = new_name(), Upstream()
    one, other = gate(up, name, cluster_session=f"{SESSION}s"), gate(up, name)
    waited = []
    for _ in range(many(1, 5)):
        hold(one, up, 4)
        late = [connect(other.address) for _ in range(6)]
        for s in late:
            s.sendall(b"late")
        waits(other, 6)
        time.sleep(0.3)  # the session has heartbeats behind it
        begun = time.monotonic()
        one.kill()
        wait_until(lambda: up.count() == 0, "its connections have ended")
        wait_until(lambda: up.asked() == 4, "the other has all")
        waited.append(time.monotonic() - begun)
        one = gate(up, name, cluster_session=f"{SESSION}s")
        up.release(4)
        wait_until(lambda: up.asked() == 2, "the last two")
        up.release()
        for s in late:
            equal(receive_all(s)[0], b"late", "the answer")
        equal(up.most, 4, "connections at once")
    # A follower reports to the leader each half tick which sessions it has heard.
    in_time(max(waited), SESSION + TICK * 1.5, f"of a session of {SESSION} s, others are served")
    return f"after at most {max(waited):.2f} s"


def changed():
    """the limit changed on one gate holds on all; a configured one that differs does not"""
    name, up = new_name(), Upstream(hold=0.004)
    one = gate(up, name)
    wait_until(lambda: lease(one)["era"] == 1, "it has made the node")
    other = gate(up, name, limit=9)
    wait_until(lambda: "the limit of" in other.said(), "the difference is said")
    require(f"the limit of {name} is 4 at the ensemble, and that holds; 9 is configured" in other.said(),
            other.said())
    equal(lease(other)["limit"], 4, "the limit of both")
    load = Load(24, [one, other])
    load.go_on(100)
    load.fill(up, 4)
    equal(up.most, 4, "connections at once")
    equal(one.limit_to(7)["limit"], 7, "PUT")
    equal(one.status()["limit"], 7, "here")
    wait_until(lambda: other.status()["limit"] == 7, "there")
    wait_until(lambda: up.most == 7, "as many at once")
    told = subprocess.run([program(), "limit", "main", "2", "--admin", f"127.0.0.1:{other.admin_port}"],
                          env={**os.environ, "VOLTGATE_TOKEN": Gate.TOKEN}, capture_output=True, text=True)
    if "libjansson" not in told.stderr:
        equal(told.returncode, 0, f"voltgate limit: {told.stdout}{told.stderr}")
    else:
        other.limit_to(2)
    wait_until(lambda: one.status()["limit"] == 2, "the other way")
    wait_until(lambda: leased([one, other]) <= 2, "what is above goes back")
    load.go_on(20)
    up.most = 0
    load.go_on(100)
    load.fill(up, 2)
    equal(up.most, 2, "connections at once")
    load.stop()
    third = gate(up, name, limit=2)
    wait_until(lambda: third.status()["limit"] == 2, "one that comes later")
    return f"{load.done} served"


def reloaded():
    """a reload: the cluster's limit stays, cluster-away changes, other options need a restart"""
    name, up = new_name(), Upstream()
    ini = f"""[voltgate]
cluster = {ensemble().address}
cluster-session = {LONG}s
[gate main]
listen = 127.0.0.1:0
to = 127.0.0.1:{up.port}
cluster-name = {name}
limit = 3
"""
    g = Gate(ini=ini)
    wait_until(lambda: g.whole_status()["cluster"]["state"] == "connected", "connected")
    hold(g, up, 2)
    g.configure(ini.replace("limit = 3", "limit = 5\ncluster-away = keep").replace("main", "main")
                .replace(f"{LONG}s", "9s") + f"[gate second]\nlisten = 127.0.0.1:0\n"
                f"to = 127.0.0.1:{up.port}\ncluster-name = {name}-b\nlimit = 2\n")
    equal(g.http("POST", "/reload")[0], 200, "the reload")
    wait_until(lambda: "needs a restart: cluster-session" in g.said(), "that it needs a restart")
    wait_until(lambda: "and that holds; 5 is configured" in g.said(), "that the ensemble's holds")
    status = g.status("main")
    equal((status["limit"], status["held"], status["cluster"]["away"]), (3, 2, "keep"), "what is so")
    g.gates = 2
    g.ready()
    late = connect(g.by_name["second"])
    late.sendall(b"x")
    wait_until(lambda: up.asked() == 3, "a gate that a reload brought leases")
    g.configure(ini)  # the second goes, and comes again
    equal(g.http("POST", "/reload")[0], 200, "it goes")
    up.release()
    wait_until(lambda: "gate=second msg=drained" in g.said(), "it is over")
    g.configure(ini + f"[gate second]\nlisten = 127.0.0.1:0\nto = 127.0.0.1:{up.port}\n"
                f"cluster-name = {name}-b\nlimit = 2\n")
    equal(g.http("POST", "/reload")[0], 200, "it comes again")
    address = wait_until(lambda: [a for n, a in re.findall(r"gate (\S+): listening on (\S+)", g.said())
                                  if n == "second"][1:], "it listens")[0]
    up.hold = 0
    ask(address)


def tenants():
    """a tenant's limit holds over all gates, too, and the gates' limit beside it"""
    name, up = new_name(), Upstream(hold=0.01)
    gates = [gate(up, name, limit=6, tenant_by="source", tenant_limit=2) for _ in range(2)]
    most, now, lock = {}, {}, threading.Lock()

    def watch():
        while not stopped.is_set():
            with up.lock:
                seen = {}
                for c in up.open.values():
                    if c.bytes and not c.finished:
                        seen[c.bytes] = seen.get(c.bytes, 0) + 1
            for tenant, count in seen.items():
                most[tenant] = max(most.get(tenant, 0), count)
            time.sleep(0.0005)
    stopped = threading.Event()
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    served = {}

    def from_source(address):
        with lock:
            i = now["i"] = now.get("i", 0) + 1
        source = f"127.0.0.{2 + i % 4}"
        ask(address, source.encode(), source)
        with lock:
            served[source] = served.get(source, 0) + 1
    load = Load(40, gates, from_source)
    load.go_on(many(300, 3000))
    states = [{t["name"]: t for t in g.status()["tenants"]} for g in gates]
    for state in states:
        for source in served:
            equal(state[source]["limit"], 2, f"the limit of {source}")
            require(state[source]["leased"] <= 2, state[source])
    load.fill(up, 6)
    load.stop()
    stopped.set()
    watcher.join()
    equal(up.most, 6, "connections at once")
    equal({tenant: count for tenant, count in most.items() if count > 2}, {}, "tenants above theirs")
    equal(len(served), 4, "tenants")
    require(min(served.values()) * 3 >= max(served.values()), f"all are served: {served}")
    code, text = gates[0].http("PUT", "/gates/main/tenants/127.0.0.2/limit", "1")
    equal(code, 200, text)
    wait_until(lambda: {t["name"]: t for t in gates[1].status()["tenants"]}["127.0.0.2"]["limit"] == 1,
               "a tenant's limit, changed for all gates")
    equal(gates[0].http("PUT", "/gates/main/tenants/127.0.0.2/limit", "0")[0], 409, "none at all")
    return f"{load.done} served"


# ---- the ensemble is away ----

def goes_away(away, expected):
    """Two gates have 3 and 1 of 4 permits; the ensemble ends."""
    name, up = new_name(), Upstream()
    with ZooKeepers(1, tick_ms=int(TICK * 1000), fsync=False) as zks:
        gates = [gate(up, name, zks, cluster_away=away, queue_timeout="60s", cluster_session="5s")
                 for _ in range(2)]
        hold(gates[1], up, 1)
        hold(gates[0], up, 3, 1)
        wait_until(lambda: all(lease(g)["hosts"] == 2 for g in gates), "they see each other")
        zks.kill()
        begun = time.monotonic()
        equal([lease(g)["mode"] for g in gates], ["leased", "leased"], "at once")
        for g, had, in_force in zip(gates, (3, 1), expected):
            wait_until(lambda: lease(g)["mode"] == away, f"{away}: {lease(g)}")
            took = time.monotonic() - begun
            s = lease(g)
            equal((s["in_force"], s["leased"], s["used"], s["lost"], g.status()["held"]),
                  (in_force, 0, had, had, had), "in force")
            equal(g.status()["limit"], 4, "the limit")
            code, words = g.http("GET", "/health")
            if away == "closed":
                require(code == 503 and words in ("cluster: away\n", "cluster: connecting\n"), words)
            else:
                equal((code, words), (200, "ok\n"), "health")
            wait_until(lambda: "leases lost" in g.said(), "the log says it")
            equal(g.metrics()[f'voltgate_cluster_mode{{gate="main",mode="{away}"}}'], 1, "the mode")
        # Those that hold finish. Then as many are served as the mode says, and the others wait.
        up.release()
        wait_until(lambda: up.count() == 0, "they finish")
        clients = []
        for g, in_force in zip(gates, expected):
            for _ in range(5):
                s = connect(g.address)
                s.sendall(b"y")
                clients.append(s)
        wait_until(lambda: up.asked() == sum(expected), f"{expected} are served")
        for g, in_force in zip(gates, expected):
            waits(g, 5 - in_force)
        impatient = gate(up, name, zks, cluster_away=away, queue_timeout="300ms", refuse="http")
        equal(lease(impatient)["mode"], "closed", "one that has never reached it")
        with contextlib.closing(connect(impatient.address)) as s:
            s.sendall(b"z")
            data = receive_all(s)[0]
        require(data.startswith(b"HTTP/1.1 503 ") and b"no permit within 300 ms" in data, data)
        code, text = gates[0].http("PUT", "/gates/main/limit", "9")
        equal((code, "the ensemble is away" in text), (503, True), text)
        equal(gates[0].status()["limit"], 4, "and nothing was changed")
        equal(up.count(), sum(expected), "still")
        zks[1].start()
        wait_until(lambda: all(lease(g)["mode"] == "leased" for g in gates), "it is back")
        up.hold = 0.002  # from now on all are answered
        up.release()
        for s in clients:
            equal(receive_all(s)[0], b"y", "each that waited is served")

        def is_served():
            with contextlib.closing(connect(impatient.address)) as s:
                s.sendall(b"z")
                return receive_all(s)[0] == b"z"
        wait_until(is_served, "the one that had not reached it serves, too")
        up.most = 0
        load = Load(16, gates)
        load.go_on(100)
        load.fill(up, 4)
        load.stop()
        equal(up.most, 4, "connections at once, afterwards")
    return f"not valid after {took:.2f} s"


def away_closed():
    """the ensemble is away, closed: nobody is admitted, and those that wait go on waiting"""
    return goes_away("closed", (0, 0))


def away_keep():
    """the ensemble is away, keep: each gate goes on with what it had"""
    return goes_away("keep", (3, 1))


def away_share():
    """the ensemble is away, share: each gate goes on with its share"""
    return goes_away("share", (2, 1))


def short_absence():
    """the ensemble is away for less than the leases are valid: nobody notices"""
    name, up = new_name(), Upstream(hold=0.005)
    with ZooKeepers(1, tick_ms=int(TICK * 1000), fsync=False) as zks:
        g = gate(up, name, zks, cluster_session="6s")
        load = Load(8, [g])
        load.go_on(50)
        zks[1].pause()
        time.sleep(0.7)
        zks[1].go_on()
        load.go_on(50)
        load.fill(up, 4)
        load.stop()
        equal(lease(g)["lost_ever"], 0, "leases lost")
        equal(up.most, 4, "connections at once")


# ---- restarts, rights ----

def hot_restart():
    """one voltgate takes over from another: no client is refused, the limit holds, slots go back"""
    name, up = new_name(), Upstream(hold=0.004)
    at = os.path.join(scratch(), "handover")
    port = keep_port()
    listen = f"127.0.0.1:{port}"
    old = gate(up, name, handover=at, listen=listen)
    other = gate(up, name)
    load = Load(24, [old, other])
    load.go_on(100)
    for _ in range(many(2, 6)):
        new = gate(up, name, handover=at, take_over=at, listen=listen)
        equal(old.process.wait(LIMIT), 0, f"the exit code of the old one: {old.said()}")
        load.go_on(100)
        wait_until(lambda: new.status()["totals"]["admitted"] > 0, "the new one serves")
        old = new
    load.fill(up, 4)
    load.stop()
    equal(up.most, 4, "connections at once")
    return f"{load.done} served"


def cluster_comes_and_goes():
    """hot restarts to a configuration with a cluster, and to one without: no client is refused"""
    name, up = new_name(), Upstream(hold=0.004)
    at = os.path.join(scratch(), "handover")
    listen = f"127.0.0.1:{keep_port()}"
    plain = dict(handover=at, listen=listen, limit=4, queue_timeout="50s")
    old = Gate(f"127.0.0.1:{up.port}", **plain)
    load = Load(16, [old])
    load.go_on(100)
    new = gate(up, name, take_over=at, **plain)
    equal(old.process.wait(LIMIT), 0, f"the exit code of the first: {old.said()}")
    require("has a cluster, and this one has none" in old.said(), old.said())
    load.go_on(100)
    last = Gate(f"127.0.0.1:{up.port}", take_over=at, **plain)
    equal(new.process.wait(LIMIT), 0, f"the exit code of the second: {new.said()}")
    require("has no cluster, and this one has one" in new.said(), new.said())
    load.go_on(100)
    load.stop()
    last.settle()
    equal(last.status()["away"], 0, "permits that were lent")
    require(up.most <= 8, f"two limits of 4, while both run: {up.most}")


def commands():
    """voltgate status and voltgate top have the lease"""
    name, up = new_name(), Upstream()
    g = gate(up, name)
    hold(g, up, 2)
    ask_it = ["--admin", f"127.0.0.1:{g.admin_port}"]
    told = subprocess.run([program(), "status", *ask_it], capture_output=True, text=True)
    if "libjansson" in told.stderr:
        raise Skip("built without libjansson")
    equal(told.returncode, 0, told.stderr)
    require(f"cluster {ensemble().address}: connected, session 0x" in told.stdout, told.stdout)
    require(re.search(rf"of the cluster's {name}: (\d) leased \(leased\), \1 in force, \d hosts?\n",
                      told.stdout), told.stdout)
    told = subprocess.run([program(), "top", "--once", *ask_it], capture_output=True, text=True)
    require("cluster connected  in force " in told.stdout, told.stdout + told.stderr)


def sandboxed():
    """with --sandbox require, names to look up, a file of secrets, and few descriptors"""
    name, up = new_name(), Upstream(hold=0.002)
    directory = scratch()
    secret = os.path.join(directory, "secret")
    with open(secret, "w") as f:
        f.write("digest:gate:wide-open\n")
    os.chmod(secret, 0o600)
    port = ensemble().address.split(",")[0].rpartition(":")[2]

    class Named:
        address = f"localhost:{port}"
    try:
        g = gate(up, name, Named, sandbox="require", cluster_auth_file=secret, cluster_acl="creator",
                 nofile=256, env={"ASAN_OPTIONS": "detect_leaks=0"})  # as that needs ptrace
    except AssertionError as e:
        if "sandbox" in str(e):
            raise Skip("no sandbox here") from None
        raise
    load = Load(8, [g])
    load.go_on(50)
    equal(g.http("POST", "/reload")[0], 200, "a reload reads the secret again")
    load.go_on(50)
    load.fill(up, 4)
    load.stop()
    equal(up.most, 4, "connections at once")
    require("wide-open" not in g.said(), "the secret is not said")
    stranger = gate(up, name)
    wait_until(lambda: lease(stranger)["wrong"] or stranger.whole_status()["cluster"]["state"] != "connected",
               f"who has no secret leases nothing: {lease(stranger)}")
    equal(lease(stranger)["leased"], 0, "leased by a stranger")


# ---- PostgreSQL ----

# The view is read row by row: a transaction may end behind the reader and let another begin before it.
# Those that had begun when the reader began, and go on when their row is read, are at once.
WATCHED = ("SELECT count(*) FILTER (WHERE xact_start <= now()), count(*) FROM pg_stat_activity "
           "WHERE application_name = 'pgbench' AND "
           "state IN ('active', 'idle in transaction', 'idle in transaction (aborted)')")


def postgres_bar():
    """PostgreSQL: never more transactions at once than the limit, in pg_stat_activity, over the run"""
    if not postgres() or not pgbench():
        raise Skip("no PostgreSQL, or no pgbench")
    limit, clients, seconds = many((6, 24, 6), (64, 600, 60))
    name = new_name()
    pg = Postgres(settings={"max_connections": clients + 30})
    tool = shutil.which("pgbench")
    env = {**os.environ, "PGUSER": "postgres", "PGDATABASE": "postgres"}
    subprocess.run([tool, "-i", "-q", "-s", "10", "-h", "127.0.0.1", "-p", str(pg.port)], env=env,
                   check=True, capture_output=True)
    zks = ensemble()
    gates = [gate(pg, name, limit=limit, protocol="postgres", clients=clients, queue=clients)
             for _ in range(3)]
    runs = [subprocess.Popen([tool, "-n", "-c", str(clients // 3), "-j", "2", "-T", str(seconds), "-h",
                              "127.0.0.1", "-p", str(g.port)], env=env, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True) for g in gates]
    at_end.callback(lambda: [run.kill() for run in runs])
    most, looks, sums, rows = 0, 0, 0, 0
    with Pg(pg.port) as look:
        while any(run.poll() is None for run in runs):
            now, seen = (int(count) for count in look.query(WATCHED)[0])
            most, looks, sums, rows = max(most, now), looks + 1, sums + now, max(rows, seen)
            require(now <= limit, f"{now} transactions at once, the limit is {limit}")
    said = [run.communicate()[0] for run in runs]
    for run, text in zip(runs, said):
        equal(run.returncode, 0, text)
        require("number of failed transactions: 0" in text or "failed" not in text, text)
    done = [int(re.search(r"transactions actually processed: (\d+)", text)[1]) for text in said]
    require(looks > many(10, 100), f"{looks} looks")
    require(most == limit, f"at most {most} at once: the limit is used")
    for g in gates:
        g.settle()
    return (f"{clients} clients, limit {limit}, {seconds} s: at most {most} in {looks} looks, "
            f"{sums / looks:.1f} on average (rows of one reading: {rows}); {done} transactions, {len(zks.numbers())} ZooKeeper")


if __name__ == "__main__":
    run_tests([gate_is_there, built_with_cluster, java, zookeeper],
              over_all_gates, join_and_leave, leases_go_back_at_the_end, killed, changed, reloaded,
              tenants, away_closed, away_keep, away_share, short_absence, hot_restart,
              cluster_comes_and_goes, commands, sandboxed, postgres_bar)
