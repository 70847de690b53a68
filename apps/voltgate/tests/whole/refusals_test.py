#!/usr/bin/env python3
"""refusals_test.py PROGRAM [--whole] [test]...: why somebody is refused, and how it is said:
as psql, redis-cli and curl show it, in the metrics, and in the access log."""

from voltgate_kit import *

STATES = {"queue-full": "53300", "queue-timeout": "53300", "clients": "53300", "shed": "53300",
          "draining": "57P03", "breaker": "08006", "connect": "08006", "protocol": "08P01"}


class Scene:
    """A gate with limit 1 before a server of the test's own, and its access log."""

    def __init__(self, form, dead=False, json_log=False, **options):
        self.form = form
        self.upstream = None if dead else Upstream()
        self.log = os.path.join(scratch(), "access")
        options.setdefault("limit", 1)
        if form != "default":
            options["refuse"] = form
        self.gate = Gate(f"127.0.0.1:{keep_port() if dead else self.upstream.port}",
                         access_log=self.log, access_format="json" if json_log else "text", **options)

    def occupy(self, count=1):
        clients = []
        for _ in range(count):
            s = connect(self.gate.address)
            s.sendall(b"occupant")
            clients.append(s)
        wait_until(lambda: self.gate.status()["held"] == count, f"{count} hold a permit")
        return clients

    def wait(self, count):
        clients = [connect(self.gate.address) for _ in range(count)]
        wait_until(lambda: self.gate.queue_length() == count, f"{count} wait")
        return clients

    def told(self, reason, count=1):
        """The reason is counted, and stands in the access log."""
        name = f'voltgate_refused_total{{gate="main",reason="{reason}"}}'
        wait_until(lambda: self.gate.metrics().get(name, 0) >= count, f"{name} is {count}")
        equal(self.gate.metrics()[name], count, name)
        equal(self.gate.refused(reason), count, f"refused for {reason}, of /status")

        def lines():
            with open(self.log) as f:
                return [line for line in f if f"refused:{reason}" in line]
        wait_until(lambda: len(lines()) >= count, f"refused:{reason} in the access log")
        return lines()


def how_it_is_said(form, gate, reason):
    """What a client of that protocol is told; also that it is told at all, and not reset."""
    return {"close": said_by_close, "postgres": said_to_postgres, "redis": said_to_redis,
            "http": said_by_http}[form](gate, reason)


def said_by_close(gate, reason):
    s = connect(gate.address)
    with contextlib.suppress(OSError):
        s.sendall(b"a request that nobody reads")
    equal(receive_all(s), (b"", "end"), "a plain end")
    s.close()
    return ""


def said_to_postgres(gate, reason):
    # As libpq begins: SSLRequest, N, startup packet; and as others do, at once.
    errors = []
    for ssl in (True, False):
        s = connect(gate.address)
        if ssl:
            s.sendall(struct.pack("!ii", 8, 80877103))
            equal(receive(s, 1), b"N", "the answer to SSLRequest")
        try:
            Pg(None, s=s).close()
            raise AssertionError("it is not refused")
        except PgError as e:
            errors.append(e)
        equal(s.fileno(), -1, "closed")
    for e in errors:
        equal(e.fields["S"], "FATAL", "severity")
        equal(e.code, STATES[reason], f"SQLSTATE of {reason}")
        require(e.message.startswith("voltgate: "), e.message)
    if psql():
        done = subprocess.run(["psql", "-X", "-c", "SELECT 1", f"host=127.0.0.1 port={gate.port} user=u "
                               "dbname=d sslmode=prefer gssencmode=disable"], capture_output=True,
                              timeout=LIMIT)
        equal(done.returncode, 2, "psql")
        require(f"FATAL:  {errors[0].message[:12]}" in done.stderr.decode(), f"psql: {done.stderr}")
        return errors[0].message, 3
    return errors[0].message, 2


def said_to_redis(gate, reason):
    done = subprocess.run(["redis-cli", "-p", str(gate.port), "PING"], capture_output=True,
                          timeout=LIMIT) if redis() else None
    text = done.stdout.decode() if done else ""
    with Resp(gate.address) as r:
        with contextlib.suppress(OSError):
            r.send("PING")
        answer = r.reply()
    require(isinstance(answer, RespError) and "voltgate: " in str(answer), f"{answer!r}")
    if STATES[reason] == "53300":
        require(str(answer).startswith("ERR max number of clients reached"), str(answer))
    require(not done or "voltgate: " in text, f"redis-cli: {text}")
    return str(answer), 2 if done else 1


def said_by_http(gate, reason):
    c = http.client.HTTPConnection("127.0.0.1", gate.port, timeout=LIMIT)
    c.request("POST", "/", body=b"x" * 1000)
    answer = c.getresponse()
    text = answer.read().decode()
    equal(answer.status, 503, "status")
    require(int(answer.headers["Retry-After"]) >= 1, "Retry-After")
    equal(answer.headers["Connection"], "close", "Connection")
    require(answer.headers["Content-Type"].startswith("text/plain"), "Content-Type")
    require("voltgate" in text and text.endswith("\n"), text)
    c.close()
    return text


def say(form, gate, reason):
    """(words, how many were refused)"""
    words = how_it_is_said(form, gate, reason)
    return words if isinstance(words, tuple) else (words, 1)


FORMS = ("close", "postgres", "redis", "http")


def test_queue_full():
    """queue-full, in each form; a queue of 0 refuses at once"""
    for form in FORMS:
        scene = Scene(form, queue=2)
        busy = scene.occupy()
        waiting = scene.wait(2)
        words, count = say(form, scene.gate, "queue-full")
        scene.told("queue-full", count)
        if words:
            require(re.search(r"\b1 of 1\b", words) and "2" in words, f"values: {words}")
        equal(scene.gate.queue_length(), 2, "those who wait")
        for s in busy + waiting:
            s.close()
        scene.gate.settle()
    scene = Scene("close", queue=0)
    busy = scene.occupy()
    said_by_close(scene.gate, "queue-full")
    scene.told("queue-full", 1)
    busy[0].close()
    scene.gate.settle()
    for s in scene.occupy():  # a permit is free: nobody is refused
        s.close()
    scene.gate.settle()


def test_queue_timeout():
    """queue-timeout, in each form, not before its time"""
    best = []
    for form in FORMS:
        scene = Scene(form, queue=20, queue_timeout="150ms")
        busy = scene.occupy()
        begun = time.monotonic()
        words, count = say(form, scene.gate, "queue-timeout")
        took = time.monotonic() - begun
        require(took >= 0.145, f"{form}: too early: {took}")
        scene.told("queue-timeout", count)
        if words:
            require("150 ms" in words, words)
        if form == "close":
            for _ in range(4):
                crowd = [(time.monotonic(), connect(scene.gate.address)) for _ in range(3)]
                for at, s in crowd:
                    receive_all(s)
                    best.append(time.monotonic() - at)
                    s.close()
            require(min(best) >= 0.145, f"too early: {min(best)}")
            in_time(sorted(best)[len(best) // 2], 0.170, f"of {sorted(best)} the median")
        for s in busy:
            s.close()
        scene.gate.settle()
    return f"median {sorted(best)[len(best) // 2] * 1000:.1f} ms of 150"


def test_clients():
    """clients, in each form"""
    for form in FORMS:
        scene = Scene(form, clients=3, limit=2)
        crowd = scene.occupy(2) + scene.wait(1)
        words, count = say(form, scene.gate, "clients")
        scene.told("clients", count)
        if words:
            require("3" in words, words)
        for s in crowd:
            s.close()
        scene.gate.settle()
        scene.occupy(1)[0].close()
        scene.gate.settle()


def test_connect():
    """connect and breaker, in each form, with the reason of the last connect in words"""
    for form in FORMS:
        scene = Scene(form, dead=True, breaker=0)
        words, count = say(form, scene.gate, "connect")
        scene.told("connect", count)
        if words:
            require("refused" in words, words)
        failures = scene.gate.metrics()['voltgate_connect_failures_total{gate="main"}']
        equal(failures, count, "connect failures")
        wait_until(lambda: "cannot connect: 127.0.0.1:" in scene.gate.said(), "the log says why")
        equal(scene.gate.said().count("cannot connect"), 1, "only the first of a row is logged")
        scene.gate.settle()
        scene = Scene(form, dead=True, breaker=2, breaker_retry="10s")
        for _ in range(2):
            s = connect(scene.gate.address)
            s.sendall(b"x")
            receive_all(s)
            s.close()
        wait_until(lambda: scene.gate.status()["state"] == "breaker", "the breaker is open")
        words, count = say(form, scene.gate, "breaker")
        scene.told("breaker", count)
        if words:
            require("refused" in words, words)
        require("refused" in scene.gate.status()["reason"], f"{scene.gate.status()['reason']}")
        equal(scene.gate.metrics()['voltgate_breaker_open{gate="main"}'], 1, "voltgate_breaker_open")
        code, text = scene.gate.http("GET", "/health")
        equal((code, "breaker" in text), (503, True), f"health: {text}")
        scene.gate.settle()


def test_breaker():
    """a breaker fails those who wait, looks whether the server is back, and lets in again"""
    scene = Scene("http", limit=1, breaker=1, breaker_retry="50ms", queue_timeout="30s")
    busy = scene.occupy()
    waiting = scene.wait(5)
    port = scene.upstream.port
    scene.upstream.stop()
    busy[0].close()
    begun = time.monotonic()
    for s in waiting:
        data, end = receive_all(s)
        require(data.startswith(b"HTTP/1.1 503") and b"refused" in data, f"told: {data} {end}")
        s.close()
    took = time.monotonic() - begun
    in_time(took, 5, "those who wait are told")
    wait_until(lambda: scene.gate.status()["state"] == "breaker", "open")
    equal(sum(scene.gate.status()["totals"]["refused"].values()), 5, "refused")
    back = socket.create_server(("127.0.0.1", port), backlog=100)
    begun = time.monotonic()
    wait_until(lambda: scene.gate.status()["state"] == "up", "the server is back")
    took = time.monotonic() - begun
    in_time(took, 1, "it is seen")
    s = connect(scene.gate.address)
    s.sendall(b"again")
    back.settimeout(LIMIT)
    while True:  # the looks of the gate come before
        served, _ = back.accept()
        served.settimeout(LIMIT)
        if receive(served, 5) == b"again":
            break
        served.close()
    for one in (s, served, back):
        one.close()
    scene.gate.settle()
    require("breaker" in scene.gate.said(), f"the log says it: {scene.gate.said()}")
    return f"back after {took * 1000:.0f} ms"


def test_connect_timeout():
    """a server that takes no connection: connect-timeout, told as such"""
    full = socket.socket()
    full.bind(("127.0.0.1", 0))
    full.listen(0)
    fillers = []
    for _ in range(4):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex(full.getsockname())
        fillers.append(s)
    time.sleep(0.05)
    gate = Gate(f"127.0.0.1:{full.getsockname()[1]}", limit=2, connect_timeout="300ms", breaker=0,
                refuse="http")
    begun = time.monotonic()
    words = said_by_http(gate, "connect")
    took = time.monotonic() - begun
    require(took > 0.29, f"after {took}")
    in_time(took, 5, "it is told")
    require("time" in words.lower(), words)
    gate.settle()
    for s in fillers + [full]:
        s.close()
    return words.strip()


def answers_of(crowd, within=None):
    """What each is answered; it is closed when the answer has ended. For that time at most."""
    open_ones = {s.fileno(): s for s in crowd if s.fileno() >= 0}
    end = time.monotonic() + (LIMIT if within is None else within)
    look = select.poll()
    for fd in open_ones:
        look.register(fd, select.POLLIN)
    while open_ones and time.monotonic() < end:
        for fd, _ in look.poll(max(0, (end - time.monotonic()) * 1000)):
            s = open_ones.pop(fd)
            look.unregister(fd)
            answers_of.found[s] = receive_all(s)[0]
            s.close()
    return [answers_of.found.get(s, b"") for s in crowd]


answers_of.found = {}


def test_shed():
    """shed: who has waited far above the target is shed, and the others are served in order"""
    scene = Scene("http", limit=1, queue=1000, shed_target="5ms", shed_interval="20ms",
                  queue_timeout="30s")
    scene.upstream.hold = 0.004
    crowd = []
    while len(crowd) < 150:  # two come for each that is answered, so that the queue grows
        while len(crowd) < min(150, 10 + 2 * sum(map(bool, answers_of(crowd, 0.002)))):
            s = connect(scene.gate.address)
            s.sendall(b"GET %d" % len(crowd))
            crowd.append(s)
    answers = answers_of(crowd)
    shed = [a for a in answers if a.startswith(b"HTTP/1.1 503")]
    served = [int(a[4:]) for a in answers if a.startswith(b"GET ")]
    equal(len(shed) + len(served), 150, "answers")
    require(len(shed) > 10, f"{len(shed)} shed")
    require(len(served) > 5, f"{len(served)} served")
    order = [int(r[4:]) for r in scene.upstream.requests() if r]
    equal(order, sorted(order), "the order of those that are served")
    scene.told("shed", len(shed))
    scene.gate.settle()
    return f"{len(shed)} of 150 shed"


def test_draining():
    """draining: those who wait and those who come are told"""
    for form in ("postgres", "http"):
        scene = Scene(form, queue_timeout="30s", drain_timeout="30s")
        busy = scene.occupy()
        waiting = connect(scene.gate.address)
        if form == "postgres":
            waiting.sendall(struct.pack("!ii", 8, 80877103))
        wait_until(lambda: scene.gate.queue_length() == 1, "one waits")
        scene.gate.send_signal(signal.SIGTERM)
        wait_until(lambda: scene.gate.whole_status()["state"] == "draining", "it drains")
        code, _ = scene.gate.http("GET", "/health")
        equal(code, 503, "health")
        # New ones: the kernel refuses, or the gate says why.
        try:
            s = connect(scene.gate.address)
            s.sendall(b"GET / HTTP/1.1\r\n\r\n" if form == "http" else pg_startup(user="u"))
            data, end = receive_all(s)
            require(end != "timeout" and (data or end == "reset"), f"a new client: {data} {end}")
            s.close()
        except (ConnectionRefusedError, ConnectionResetError, BrokenPipeError):
            pass
        # The one that waited is served or told, and not forgotten.
        scene.upstream.hold = 0
        scene.upstream.release()
        busy[0].close()
        waiting.sendall(b"rest")
        data, end = receive_all(waiting)
        require(end != "timeout" and data, f"the one that waited: {data} {end}")
        waiting.close()
        equal(scene.gate.process.wait(LIMIT), 0, "exit code")


def held_for(scene):
    """How long a client is let alone that says something once."""
    begun = time.monotonic()
    with connect(scene.gate.address) as s:
        s.sendall(b"occupant")
        receive_all(s)
    took = time.monotonic() - begun
    in_time(took, 5, "it is ended")
    return took


def test_idle():
    """idle-timeout, max-age: ended at their time, with the reason in the access log"""
    scene = Scene("postgres", limit=3, idle_timeout="200ms", json_log=True)
    require(held_for(scene) > 0.19, "idle: too early")
    for line in scene.told("idle", 1):
        entry = json.loads(line)
        for key in ("time", "gate", "client", "wait_ms", "hold_ms", "permits", "up", "down", "age_s"):
            require(key in entry, f"{key} in {line}")
        equal((entry["up"], entry["gate"], entry["permits"]), (8, "main", 1), f"in {line}")
    scene.gate.settle()
    scene = Scene("close", limit=3, max_age="300ms")
    require(held_for(scene) > 0.29, "max-age: too early")
    scene.told("max-age", 1)
    scene.gate.settle()


def test_proxy_header():
    """PROXY headers: asked for and wrong, missing, late; sent on with the client's address"""
    v2 = (b"\r\n\r\n\0\r\nQUIT\n" + bytes([0x21, 0x11]) + struct.pack("!H", 12)
          + socket.inet_aton("192.0.2.7") + socket.inet_aton("127.0.0.1") + struct.pack("!HH", 4711, 80))
    v1 = b"PROXY TCP4 192.0.2.8 127.0.0.1 4712 80\r\n"
    scene = Scene("http", proxy_in="v2", proxy_out="v2", login_timeout="60s", limit=5)
    for header, address, port in ((v2, "192.0.2.7", 4711), (v1, "192.0.2.8", 4712)):
        for pieces in ([header + b"hello"], [header[i:i + 1] for i in range(len(header))] + [b"hello"]):
            seen = len(scene.upstream.arrived)
            s = connect(scene.gate.address)
            for piece in pieces:
                s.sendall(piece)
            wait_until(lambda: len(scene.upstream.arrived) > seen
                       and scene.upstream.arrived[-1].bytes.endswith(b"hello"), "it arrives")
            sent = scene.upstream.arrived[-1].bytes
            require(sent.startswith(v2[:12]), f"the header: {sent}")
            equal(socket.inet_ntoa(sent[16:20]), address, "the address that is sent on")
            equal(struct.unpack("!H", sent[24:26])[0], port, "the port")
            require(sent.endswith(b"hello"), f"{sent}")
            s.close()
    arrived = len(scene.upstream.arrived)
    for name, data in (("none", b"GET / HTTP/1.1\r\n\r\n"), ("bad", v2[:13] + b"\x99" + v2[14:]),
                       ("long v1", b"PROXY " + b"x" * 300)):
        s = connect(scene.gate.address)
        s.sendall(data)
        answer, end = receive_all(s)
        require(end != "timeout", f"{name}: {answer}")
        s.close()
    scene.told("protocol", 3)
    equal(len(scene.upstream.arrived), arrived, "connections for them")
    scene.gate.settle()
    scene = Scene("http", proxy_in="v2", login_timeout="300ms")
    s = connect(scene.gate.address)
    s.sendall(v2[:5])
    receive_all(s)
    s.close()
    scene.told("login-timeout", 1)
    equal(len(scene.upstream.arrived), 0, "connections for it")
    scene.gate.settle()


# ---- in front of PostgreSQL ----

def database():
    if not postgres():
        raise Skip("there is no PostgreSQL")
    if not hasattr(database, "server"):
        database.server = Postgres()
    return database.server


def told_pg(gate, reason, count=1):
    wait_until(lambda: gate.refused(reason) >= count, f"{reason} is counted")
    equal(gate.refused(reason), count, reason)


def not_late(run):
    """Runs what a gate with a short limit ends if this machine is late; it is not late every time."""
    def ran():
        with contextlib.suppress(PgError, OSError):
            run()
            return True
    wait_until(ran, run.__name__)


def expect_error(code, run, *words):
    try:
        found = run()
    except PgError as e:
        equal(e.code, code, f"SQLSTATE of {e}")
        for word in words:
            require(word in e.message, f"{word!r} in {e.message!r}")
        return e
    raise AssertionError(f"no error: {found}")


def test_postgres():
    """postgres: queue-full, queue-timeout, clients, breaker and draining of sessions, in words"""
    server = database()
    gate = Gate(f"127.0.0.1:{server.port}", protocol="postgres", limit=1, queue=1, clients=5,
                queue_timeout="60s")
    a, b, c = (Pg(gate.address) for _ in range(3))
    a.query("BEGIN")
    b.send("SELECT 1")
    wait_until(lambda: gate.queue_length() == 1, "one waits")
    expect_error("53300", lambda: c.query("SELECT 2"), "1 of 1")
    told_pg(gate, "queue-full")
    equal(a.query("SELECT 'mine'"), [["mine"]], "who holds the permit")
    a.query("COMMIT")
    equal(b.until_ready(), [["1"]], "who has waited")
    b.close()
    c.close()
    wait_until(lambda: gate.status()["clients"] == 1, "one is connected")
    others = [Pg(gate.address) for _ in range(4)]
    expect_error("53300", lambda: Pg(gate.address), "5")
    told_pg(gate, "clients")
    if psql():
        done = subprocess.run(["psql", "-Xc", "SELECT 1", f"host=127.0.0.1 port={gate.port} user=postgres"],
                              capture_output=True, timeout=LIMIT)
        require(b"FATAL:  voltgate: too many clients" in done.stderr, f"psql: {done.stderr}")
    for pg in (a, *others):
        pg.close()
    gate.settle()
    gate = Gate(f"127.0.0.1:{server.port}", protocol="postgres", limit=1, queue_timeout="400ms")
    with Pg(gate.address) as a, Pg(gate.address) as b:
        a.query("BEGIN")
        begun = time.monotonic()
        expect_error("53300", lambda: b.query("SELECT 1"), "400 ms", "1 of 1")
        in_time(time.monotonic() - begun, 5, "queue-timeout")
        told_pg(gate, "queue-timeout")
        equal(a.query("SELECT 'mine'"), [["mine"]], "who holds the permit")
    gate.settle()
    dead = Gate(f"127.0.0.1:{keep_port()}", protocol="postgres", breaker=1, breaker_retry="10s")
    expect_error("08006", lambda: Pg(dead.address), "refused")
    expect_error("08006", lambda: Pg(dead.address), "refused")
    equal((dead.refused("connect"), dead.refused("breaker")), (1, 1), "connect and breaker")
    if psql():
        done = subprocess.run(["psql", "-Xc", "SELECT 1", f"host=127.0.0.1 port={dead.port} user=postgres"],
                              capture_output=True, timeout=LIMIT)
        require(b"FATAL:  voltgate: " in done.stderr and b"refused" in done.stderr, f"{done.stderr}")


def test_postgres_limits():
    """postgres: idle-in-transaction, idle, max-age, server-timeout, login-timeout"""
    server = database()
    log = os.path.join(scratch(), "access")
    def gate_with(**options):
        return Gate(f"127.0.0.1:{server.port}", protocol="postgres", limit=1, queue_timeout="60s",
                    access_log=log, **options)
    gate = gate_with(idle_in_transaction="250ms")
    with Pg(gate.address) as sleeper, Pg(gate.address) as other:
        begun = time.monotonic()
        sleeper.query("BEGIN")
        other.send("SELECT 'at last'")
        expect_error("25P03", sleeper.until_ready)
        took = time.monotonic() - begun
        require(took > 0.24, f"after {took}")
        in_time(took, 5, "idle-in-transaction")
        equal(other.until_ready(), [["at last"]], "who has waited for it")
        told_pg(gate, "idle-in-transaction")
        time.sleep(0.4)
        equal(other.query("SELECT 'idle outside'"), [["idle outside"]], "idle outside a transaction")

    def not_idle_for_long():
        with Pg(gate.address) as busy:
            busy.query("BEGIN")
            for _ in range(5):
                time.sleep(0.1)
                busy.query("SELECT 1")
            busy.query("COMMIT")
    not_late(not_idle_for_long)
    gate.settle()
    gate = gate_with(server_timeout="500ms")

    def wait_for_server():
        with Pg(gate.address) as pg:
            pg.query("SELECT 1")
            before = gate.refused("server-timeout")
            expect_error("08006", lambda: pg.query("SELECT pg_sleep(600)"))
            told_pg(gate, "server-timeout", before + 1)
    not_late(wait_for_server)
    gate.settle()
    gate = gate_with(login_timeout="300ms")
    s = connect(gate.address)
    begun = time.monotonic()
    s.sendall(b"\0\0")
    receive_all(s)
    in_time(time.monotonic() - begun, 5, "login-timeout")
    s.close()
    told_pg(gate, "login-timeout")
    gate.settle()

    def text_of_log():
        with open(log) as f:
            return f.read()
    for reason in ("idle-in-transaction", "server-timeout", "login-timeout"):
        wait_until(lambda: f"end=refused:{reason}" in text_of_log(), f"{reason} in the access log")
    text = text_of_log()
    require("user=postgres" in text and "database=postgres" in text, text)
    gate = gate_with(max_age="400ms")

    def older_but_busy():
        with Pg(gate.address) as pg:
            pg.query("BEGIN")
            before = gate.refused("max-age")
            time.sleep(0.6)
            equal(pg.query("SELECT 'in a transaction'"), [["in a transaction"]], "older, but busy")
            pg.query("COMMIT")
            expect_error("57P01", pg.until_ready)
            told_pg(gate, "max-age", before + 1)
    not_late(older_but_busy)
    gate.settle()
    gate = gate_with(idle_timeout="300ms")

    def idle_outside():
        with Pg(gate.address) as pg:
            pg.query("SELECT 1")
            before = gate.refused("idle")
            expect_error("57P05", pg.until_ready)
            told_pg(gate, "idle", before + 1)
    not_late(idle_outside)
    gate.settle()


def test_stalled():
    """postgres: a client that stalls with a permit, in whatever it has begun, is idle in a transaction"""
    gate = Gate(f"127.0.0.1:{database().port}", protocol="postgres", limit=1, queue_timeout="20s",
                idle_in_transaction="250ms")
    parse, flush = pg_message(b"P", b"\0SELECT 1\0\0\0"), pg_message(b"H")
    query = pg_message(b"Q", b"SELECT 1\0")
    cases = {"half a query": b"Q\0\0\1\0SELE", "half a query behind one": query + b"Q\0\0\1\0SELE",
             "Parse": parse, "Parse and Flush": parse + flush, "half a Parse": parse[:9],
             "COPY FROM STDIN": pg_message(b"Q", b"COPY pg_class FROM STDIN\0"),
             "half of its data": pg_message(b"Q", b"COPY pg_class FROM STDIN\0") + b"d\0\0\1\0x"}
    for i, (name, data) in enumerate(cases.items()):
        with Pg(gate.address) as stalled, Pg(gate.address) as other:
            stalled.s.sendall(data)
            wait_until(lambda: gate.status()["held"] == 1 or gate.refused("idle-in-transaction") > i,
                       f"{name}: it holds the permit")
            equal(other.one("SELECT 'in time'"), "in time", f"{name}: another")
            with contextlib.suppress(PgError, OSError):
                while stalled.message():
                    pass
        wait_until(lambda: gate.refused("idle-in-transaction") == i + 1, f"{name}: counted")
    gate.settle()


run_tests([gate_is_there], test_queue_full, test_queue_timeout, test_clients, test_connect,
          test_breaker, test_connect_timeout, test_shed, test_draining, test_idle, test_proxy_header,
          test_postgres, test_postgres_limits, test_stalled)
