#!/usr/bin/env python3
"""restart_test.py: one voltgate takes over from another: no client is refused, the server
never has more than the limit, and whoever dies, the other goes on."""

from handover_kit import *


def path():
    return os.path.join(scratch(), "handover")


def start(up, at, take=False, **options):
    options = {"limit": 2, **options}
    if take:
        options["take_over"] = at
    return Gate(f"127.0.0.1:{up.port}", handover=at, **options)


def ask(address, word=b"x"):
    """One connection: sends a word, and is answered by the same."""
    with contextlib.closing(connect(address)) as s:
        s.sendall(word)
        return receive(s, len(word))


def ended(gate):
    equal(gate.process.wait(LIMIT), 0, f"the exit code of the old one: {gate.said()}")


# ---- a server that counts what it works on ----

class Counting:
    """Speaks enough of redis: answers each PING after a moment, and knows how many it worked on."""

    def __init__(self, hold=0.002):
        self.hold, self.now, self.most, self.done = hold, 0, 0, 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()
        at_end.callback(self.listener.close)

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                s, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(s,), daemon=True).start()

    def serve(self, s):
        with contextlib.suppress(OSError), s:
            while s.recv(4096):
                with self.lock:
                    self.now += 1
                    self.most = max(self.most, self.now)
                time.sleep(self.hold)
                with self.lock:
                    self.now -= 1
                    self.done += 1
                s.sendall(b"+PONG\r\n")


class Load:
    """Threads that do something again and again until they are stopped; what fails is kept."""

    def __init__(self, count, what):
        self.failures, self.done, self.stopped = [], 0, False
        self.threads = [threading.Thread(target=self.run, args=(what,), daemon=True)
                        for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def run(self, what):
        while not self.stopped:
            try:
                what()
                self.done += 1
            except Exception as e:  # of any kind: no client may notice anything
                self.failures.append(repr(e))
                return

    def stop(self):
        self.stopped = True
        for thread in self.threads:
            thread.join(LIMIT)
        equal(self.failures, [], "clients that have failed")


# ---- the protocol, by hand ----


# ---- tests ----

def test_connections():
    """restarts while clients connect: none is refused, and the server never has more than the limit"""
    up = Upstream(hold=0.001)
    at = path()
    gate = start(up, at, limit=3)
    address = gate.address
    load = Load(6, lambda: equal(ask(address), b"x", "the answer"))
    for _ in range(many(3, 20)):
        before, gate = gate, start(up, at, take=True, limit=3)
        equal(gate.address, address, "the address")
        ended(before)
        enough = load.done + 20
        wait_until(lambda: load.done > enough or load.failures, "clients are served")
    load.stop()
    require(up.most <= 3, f"the server had {up.most} connections, and the limit is 3")
    gate.settle()
    status = gate.status()
    equal((status["away"], status["totals"]["refused"]["draining"]), (0, 0), "away, refused")
    return f"{load.done} connections, {up.most} at once"


def test_transactions():
    """restarts while sessions of both processes have transactions: the limit holds for both together"""
    up = Counting()
    at = path()
    gate = start(up, at, protocol="redis")
    address = gate.address

    def session():
        with Resp(address) as r:
            for _ in range(8):
                equal(r("PING"), "PONG", "the answer")
    load = Load(8, session)
    for _ in range(many(3, 20)):
        before, gate = gate, start(up, at, take=True, protocol="redis")
        ended(before)
        enough = load.done + 10
        wait_until(lambda: load.done > enough or load.failures, "clients are served")
    wait_until(lambda: up.most >= 2 or load.failures, "the limit is used")
    load.stop()
    require(up.most <= 2, f"the server worked on {up.most} at once, and the limit is 2")
    equal(up.most, 2, "and on as many")
    gate.settle()
    return f"{up.done} transactions"


def test_old_session():
    """a session of the old process works on, with permits of the new one, and both show that"""
    up = Counting(hold=0)
    at = path()
    with contextlib.ExitStack() as stack:
        gate = start(up, at, protocol="redis")
        old = stack.enter_context(Resp(gate.address))
        equal(old("PING"), "PONG", "before")
        after = start(up, at, take=True, protocol="redis")
        new = stack.enter_context(Resp(after.address))
        for _ in range(20):
            equal((old("PING"), new("PING")), ("PONG", "PONG"), "in turns")
        wait_until(lambda: after.status()["away"] == 0, "what is free is in the new process")
        equal(after.whole_status()["state"], "taking over", "state")
        equal(after.metrics()['voltgate_away{gate="main"}'], 0, "the metric")
        require(gate.alive(), "the old one has a client")
        equal(after.limit_to(1)["limit"], 1, "the limit is changed at the new one")
        for _ in range(20):
            equal((old("PING"), new("PING")), ("PONG", "PONG"), "with one permit for both")
        old.close()
        ended(gate)
        wait_until(lambda: after.whole_status()["state"] == "running", "that is over")
        equal(new("PING"), "PONG", "after")


def test_service_manager():
    """the service manager is told who goes on, and never that the service stops"""
    up = Upstream(hold=0)
    at, name = path(), os.path.join(scratch(), "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(name)
        manager.settimeout(LIMIT)
        env = {"NOTIFY_SOCKET": name}

        def hear():
            """The next word that is not that it is alive, which comes each second."""
            while (word := manager.recv(4096).decode()) == "WATCHDOG=1\n":
                pass
            return word
        gate = start(up, at, env=env)
        require("READY=1" in hear(), "it is ready")
        after = start(up, at, take=True, env=env)
        ended(gate)
        said = [hear() for _ in range(2)]
        require(f"MAINPID={after.pid}\n" in said, f"who goes on: {said}")
        require(any(f"READY=1\nMAINPID={after.pid}" in one for one in said), f"ready: {said}")
        equal(after.stop(), 0, "the exit code")
        equal(hear(), "STOPPING=1\n", "that comes in the end only")


def test_queue():
    """who waits in the old process is admitted before who comes to the new one"""
    up = Upstream()
    at = path()
    gate = start(up, at, limit=1)
    clients = [connect(gate.address)]
    wait_until(lambda: up.count() == 1, "the first has the permit")
    for i in range(1, 3):
        clients.append(connect(gate.address))
        wait_until(lambda: gate.queue_length() == i, "it waits")
    after = start(up, at, take=True, limit=1)
    clients.append(connect(after.address))
    wait_until(lambda: after.queue_length() == 1, "one waits in the new process")
    for i, s in enumerate(clients):
        s.sendall(b"%d" % i)
        wait_until(lambda: len(up.arrived) == i + 1 and up.arrived[i].bytes, f"client {i} is served")
        equal(up.requests()[i], b"%d" % i, "the order")
        equal(up.count(), 1, "connections of the server")
        up.release(1)
        s.close()
    ended(gate)


def test_new_dies_early():
    """a successor dies before it is ready: nothing has changed"""
    up = Upstream(hold=0)
    at = path()
    gate = start(up, at)
    one = Successor(at)
    offers = one.offered()
    equal([(m[1], m[2], m[3]) for m in offers],
          [(0, "main", "127.0.0.1:0"), (1, "", "127.0.0.1:0"), (2, "", at)], "what is offered")
    wait_until(lambda: len(one.fds) == 3, "descriptors")
    one.die()
    wait_until(lambda: "nothing has changed" in gate.said(), "it is noticed")
    equal(ask(gate.address), b"x", "it serves")
    equal(gate.whole_status()["state"], "running", "state")
    after = start(up, at, take=True)
    ended(gate)
    equal(ask(after.address), b"x", "the next one takes over")


def test_new_dies_late():
    """a successor dies after it was told to go on: the old one accepts again, with all permits"""
    up = Upstream(hold=0)
    at = path()
    gate = start(up, at, limit=2)
    held = connect(gate.address)  # so that it does not end at once
    wait_until(lambda: up.count() == 1, "a client is there")
    one = Successor(at)
    one.ready((Successor.GATE, 2, "main"))
    said = one.until(Successor.GO)
    require((Successor.PERMITS, 2, "main", "") in said, f"permits: {said}")
    require((Successor.GIVE, 1, "main", "") in said, f"what is free: {said}")
    waits = connect(gate.address)  # in the backlog: nobody accepts
    waits.sendall(b"y")
    one.die()
    equal(receive(waits, 1), b"y", "who came meanwhile is served")
    equal(ask(gate.address), b"x", "the next, too")
    held.close()
    waits.close()
    gate.settle()
    equal((gate.status()["limit"], gate.status()["away"]), (2, 0), "permits")
    equal(gate.whole_status()["state"], "running", "state")
    after = start(up, at, take=True)
    ended(gate)
    equal(ask(after.address), b"x", "the next one takes over")
    after.kill()


def test_new_is_killed():
    """kill -9 of the new process: the old one accepts again"""
    up = Upstream(hold=0)
    at = path()
    gate = start(up, at)
    held = connect(gate.address)
    wait_until(lambda: up.count() == 1, "a client is there")
    after = start(up, at, take=True)
    equal(ask(after.address), b"x", "the new one serves")
    after.kill()
    equal(ask(gate.address), b"x", "the old one serves")
    held.close()


def test_old_is_killed():
    """kill -9 of the old process: its permits are the new one's"""
    up = Upstream()
    at = path()
    gate = start(up, at, limit=1)
    held = connect(gate.address)
    wait_until(lambda: up.count() == 1, "it has the permit")
    after = start(up, at, take=True, limit=1)
    waits = connect(after.address)
    wait_until(lambda: after.queue_length() == 1, "one waits in the new process")
    equal(after.status()["away"], 1, "the permit is with the old one")
    gate.kill()
    wait_until(lambda: len(up.arrived) == 2, "it is admitted")
    equal(after.whole_status()["state"], "running", "state")
    held.close()
    waits.close()


def test_new_drains():
    """SIGTERM to the new one while the old one has clients: nobody accepts again, and both end"""
    up = Upstream(hold=0)
    at = path()
    listen = f"127.0.0.1:{keep_port()}"
    gate = start(up, at, listen=listen)
    held = connect(gate.address)
    wait_until(lambda: up.count() == 1, "a client is there")
    after = start(up, at, take=True, listen=listen)
    equal(after.stop(), 0, "the exit code of the new one")
    wait_until(lambda: "its permits are here again" in gate.said(), "it is noticed")
    with contextlib.suppress(ConnectionRefusedError):
        connect(gate.address)
        require(False, "somebody accepts")
    held.close()
    ended(gate)


def test_refused():
    """another version, a second successor and another user's process are refused with words"""
    up = Upstream(hold=0)
    at = path()
    gate = start(up, at)
    newer = Successor(at)
    newer.send(Successor.HELLO, 2, text="9.9")
    kind, _, _, words = newer.receive()
    equal(kind, Successor.REFUSED, "a newer version is refused")
    require("version 2" in words, words)
    equal(newer.receive(), None, "and that is the end")
    first = Successor(at)
    first.offered()
    second = start(up, at, take=True, wait=False)
    equal(second.process.wait(LIMIT), 1, "the exit code of the second")
    require("another process is taking over" in second.said(), second.said())
    first.die()
    equal(ask(gate.address), b"x", "the old one serves")
    if os.getuid() == 0:
        os.chmod(at, 0o666)
        stranger = start(up, at, take=True, wait=False, user="nobody")
        equal(stranger.process.wait(LIMIT), 1, "the exit code of a stranger")
        require("another user's process" in stranger.said(), stranger.said())
    equal(ask(gate.address), b"x", "it serves still")


def test_nobody_there():
    """nobody serves the path: listeners are opened as always"""
    up = Upstream(hold=0)
    at = path()
    gate = start(up, at, take=True)
    equal(ask(gate.address), b"x", "it serves")
    equal(os.stat(at).st_mode & 0o777, 0o600, "the mode of the socket")
    gate.kill()
    require(os.path.exists(at), "its path is left behind")
    after = start(up, at, take=True)  # a dead path
    equal(ask(after.address), b"x", "it serves")
    equal(after.stop(), 0, "it ends")
    require(not os.path.exists(at), "its path is removed")


def test_other_gates():
    """unix sockets stay, gates and listeners that the successor does not have end"""
    up = Upstream(hold=0)
    at, directory = path(), scratch()
    to = f"to = 127.0.0.1:{up.port}\n"
    first = (f"[voltgate]\nhandover = {at}\nmetrics = unix:{directory}/admin\n"
             f"[gate one]\nlisten = unix:{directory}/one, unix:{directory}/more\n{to}"
             f"[gate two]\nlisten = unix:{directory}/two\n{to}")
    then = (f"[voltgate]\nhandover = {at}\ntake-over = {at}\nsandbox = yes\n"
            f"metrics = unix:{directory}/admin\n"
            f"[gate one]\nlisten = unix:{directory}/one\n{to}"
            f"[gate three]\nlisten = unix:{directory}/three\n{to}")
    # The leak sanitizer cannot look from within a sandbox.
    env = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    gate = Gate(ini=first, gates=3, admin=False)
    after = Gate(ini=then, gates=2, admin=False, env=env)
    ended(gate)
    equal(sorted(os.listdir(directory)), ["admin", "one", "three"], "paths")
    for name in ("one", "three"):
        equal(ask(f"unix:{directory}/{name}"), b"x", f"gate {name}")
    third = Gate(ini=then, gates=2, admin=False, env=env)
    ended(after)
    equal(ask(f"unix:{directory}/one"), b"x", "from within the sandbox, too")
    equal(third.stop(), 0, "it ends")
    equal(os.listdir(directory), [], "paths are removed")


def test_time_is_up():
    """sessions that stay are cut off when the drain's time is up"""
    up = Upstream(hold=0)
    at = path()
    gate = start(up, at, drain_timeout="300ms")
    held = connect(gate.address)
    wait_until(lambda: up.count() == 1, "a client is there")
    after = start(up, at, take=True)
    equal(receive_all(held)[0], b"", "it is cut off")
    held.close()
    ended(gate)
    equal(ask(after.address), b"x", "the new one serves")


def test_postgres():
    """sessions of PostgreSQL: transactions go on in both, an open one too; idle ones hear 57P01 in the end"""
    if not whole():
        raise Skip("only in the long form")
    if not postgres():
        raise Skip("no PostgreSQL")
    server = Postgres()
    at = path()
    named = dict(protocol="postgres", limit=2, drain_timeout="3s")
    gate = start(server, at, **named)
    begun, idle = Pg(gate.address), Pg(gate.address)
    begun.query("BEGIN")
    before = begun.one("SELECT pg_backend_pid()")
    after = start(server, at, take=True, **named)
    new = Pg(after.address)
    for _ in range(50):
        equal((idle.one("SELECT 1"), new.one("SELECT 2")), ("1", "2"), "both work")
    equal(after.status()["away"], 1, "one is with the open transaction")
    equal(begun.one("SELECT pg_backend_pid()"), before, "it is the same session")
    begun.query("COMMIT")
    wait_until(lambda: after.status()["away"] == 0, "its permit is given back")
    begun.close()
    try:
        idle.until_ready()
        require(False, "it goes on")
    except PgError as e:
        equal(e.code, "57P01", "what it hears in the end")
    idle.close()
    ended(gate)
    equal(new.one("SELECT 3"), "3", "the new one goes on")
    new.close()


def test_tenants():
    """tenants with costs share the limit over both processes"""
    up = Counting()
    at = path()
    ini = (f"[voltgate]\nhandover = {at}\n%s"
           f"[gate main]\nlisten = 127.0.0.1:0\nto = 127.0.0.1:{up.port}\nprotocol = redis\n"
           "limit = 3\ntenant-by = source\n"
           "[tenant main/127.0.0.2]\ncost = 3\n[tenant main/127.0.0.3]\ncost = 2\n")
    gate = Gate(ini=ini % "")
    address = gate.address
    sources = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
    olds = [Resp(address, source=source) for source in sources]
    equal([r("PING") for r in olds], ["PONG"] * 3, "before")
    after = Gate(ini=ini % f"take-over = {at}\n")
    news = [Resp(address, source=source) for source in sources]
    loads = [Load(1, lambda r=r: equal(r("PING"), "PONG", "the answer")) for r in olds + news]
    wait_until(lambda: all(one.done > many(20, 200) or one.failures for one in loads), "all go on")
    for one in loads:
        one.stop()
    require(gate.alive(), "both have served")
    for r in olds:
        r.close()
    ended(gate)
    after_status = wait_until(lambda: (s := after.status())["held"] == 0 and s, "all is given back")
    equal(after_status["away"], 0, "away")
    for r in news:
        r.close()


if __name__ == "__main__":
    run_tests([gate_is_there], test_connections, test_transactions, test_old_session,
              test_service_manager, test_queue,
              test_new_dies_early, test_new_dies_late, test_new_is_killed, test_old_is_killed,
              test_new_drains, test_refused, test_nobody_there, test_other_gates, test_time_is_up,
              test_tenants, test_postgres)
