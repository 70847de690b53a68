#!/usr/bin/env python3
"""kill_test.py PROGRAM [--whole] [test]...: the database restarts or hangs, the gate is
killed, clients are slow beyond reason, descriptors run out. Nothing hangs, each is told, counted and
in the log, and service is back within a second."""

from voltgate_kit import *


def database():
    if not hasattr(database, "server"):
        database.server = Postgres()
        database.server.run("CREATE TABLE t (a int)")
    return database.server


def needs_postgres():
    if not postgres():
        raise Skip("there is no PostgreSQL")
    return database()


def gate_for(server, **options):
    return Gate(f"127.0.0.1:{server.port}", **{"protocol": "postgres", "limit": 2,
                                               "queue_timeout": "20s", **options})


def serves(gate, within=1.0):
    """It serves a new client, and how long that took from now."""
    begun = time.monotonic()
    last = None
    while time.monotonic() - begun < LIMIT:
        try:
            with Pg(gate.address) as pg:
                equal(pg.one("SELECT 'well'"), "well", "answer")
                took = time.monotonic() - begun
                in_time(took, within, "service")
                return took
        except (OSError, PgError) as e:
            last = e
            time.sleep(0.01)
    raise AssertionError(f"no service: {last}; {gate.status()}")


def logged_in(gate):
    """A session, also if the machine was too slow for a gate that is impatient."""
    def log_in():
        with contextlib.suppress(OSError, PgError):
            return Pg(gate.address)
    return wait_until(log_in, "a login")


def ended(pg):
    """That its connection ends, with or without words."""
    try:
        pg.until_ready()
    except (PgError, OSError) as e:
        return e
    raise AssertionError("it goes on")


def test_restart():
    """the database is killed and started again: sessions end, those who wait are told, service is back"""
    server = needs_postgres()
    gate = gate_for(server, breaker_retry="50ms")
    idle, busy, transaction, waiting = (Pg(gate.address) for _ in range(4))
    busy.send("SELECT pg_sleep(600)")
    transaction.query("BEGIN")
    waiting.send("SELECT 1")
    wait_until(lambda: gate.queue_length() == 1, "one waits")
    server.kill()
    begun = time.monotonic()
    for pg in (busy, transaction, waiting, idle):
        ended(pg)
    took = time.monotonic() - begun
    in_time(took, 5, "they hear of it")
    try:
        Pg(gate.address)
        raise AssertionError("there is no server")
    except PgError as e:
        equal(e.code, "08006", "SQLSTATE")
        require("refused" in e.message, e.message)
    wait_until(lambda: gate.status()["held"] == 0, "permits are given back")
    server.start()
    back = serves(gate)
    for pg in (idle, busy, transaction, waiting):
        pg.close()
    gate.settle()
    totals = gate.status()["totals"]
    require(totals["refused"]["connect"] + totals["refused"]["breaker"] >= 1, f"counted: {totals}")
    require(totals["connect_failures"] >= 1, f"counted: {totals}")
    return f"back after {back * 1000:.0f} ms"


def test_restart_tcp():
    """tcp: the server is gone and back; clients that do not notice hold no permit for long"""
    server = needs_postgres()
    gate = gate_for(server, protocol="tcp", limit=2, breaker_retry="50ms")
    dozing = [Pg(gate.address), Pg(gate.address)]  # a pool that does not look
    equal(gate.status()["held"], 2, "held")
    server.kill()
    server.start()
    serves(gate, within=10)
    for pg in dozing:
        pg.close()
    gate.settle()


def test_hang():
    """the database hangs: accept succeeds, nothing answers; limits of time end it, then service is back"""
    server = needs_postgres()
    gate = gate_for(server, login_timeout="400ms", server_timeout="500ms", queue_timeout="300ms")
    running = logged_in(gate)
    before = gate.status()["totals"]["refused"]
    server.hang()
    try:
        running.send("SELECT 1")
        begun = time.monotonic()
        new = connect(gate.address)
        new.sendall(pg_startup(user="postgres", database="postgres"))
        answer, end = receive_all(new)
        require(end != "timeout", "a login is ended")
        require(b"08006" in answer and b"the server does not answer within" in answer, f"told: {answer}")
        status = gate.status()
        require(status["state"] in ("silent", "breaker"), f"the state: {status['state']}")
        equal(status["reason"], "it accepts connections, but does not answer", "the reason")
        require(status["reason_s"] > 0, "since when")
        equal(gate.metrics()['voltgate_server_silent{gate="main"}'], 1, "the metric")
        error = ended(running)
        took = time.monotonic() - begun
        in_time(took, 8, "they are told")
        require(isinstance(error, PgError) and error.code == "08006", f"told: {error!r}")
        new.close()
        running.close()
        # Many that come meanwhile: none of them stays.
        crowd = [connect(gate.address) for _ in range(20)]
        for s in crowd:
            s.sendall(pg_startup(user="postgres", database="postgres"))
        for s in crowd:
            data, end = receive_all(s)
            require(end != "timeout", "one of many is ended")
            s.close()
        equal(gate.status()["state"], "breaker", "the state, after so many")
        equal(gate.http("GET", "/health"), (503, "breaker: main\n"), "health")
        try:
            Pg(gate.address)
            raise AssertionError("it is let in")
        except PgError as e:
            require("the server is away: it accepts connections, but does not answer" in e.message, e.message)
    finally:
        server.go_on()
    back = serves(gate)
    wait_until(lambda: gate.status()["state"] == "up", "the state is up")
    gate.settle()
    totals = gate.status()["totals"]["refused"]
    since = {name: count - before.get(name, 0) for name, count in totals.items()}
    require(since["server-timeout"] >= 1, f"counted: {since}")
    equal(since["login-timeout"], 0, "no client was too slow")
    require(since["server-timeout"] + since["breaker"] >= 23, f"counted: {since}")
    log = [line for line in gate.said().splitlines() if "does not answer" in line]
    require(1 <= len(log) <= 2 and "breaker open" in log[-1], f"the log: {log}")
    return f"back after {back * 1000:.0f} ms"


def test_hang_redis():
    """redis hangs: a client that it has never answered is told, and so is who looks at the gate"""
    if not redis():
        raise Skip("no redis-server")
    server = Redis()
    gate = Gate(f"127.0.0.1:{server.port}", protocol="redis", server_timeout="300ms", breaker=0)
    server.server.send_signal(signal.SIGSTOP)
    try:
        client = Resp(gate.address)
        try:
            raise AssertionError(f"it is answered: {client('PING')}")
        except RespError as e:
            equal(str(e), "ERR voltgate: the server does not answer within 300 ms", "told")
        equal(gate.status()["state"], "silent", "the state")
        equal(gate.http("GET", "/health"), (503, "silent: main\n"), "health")
        client.close()
    finally:
        server.server.send_signal(signal.SIGCONT)
    wait_until(lambda: gate.status()["state"] == "up", "the probe is answered")
    with Resp(gate.address) as client:
        equal(client("PING"), "PONG", "it goes on")
    gate.settle()


def test_hang_tcp():
    """tcp: a server that hangs keeps its permits; those who wait are told in time, then it goes on"""
    server = needs_postgres()
    gate = gate_for(server, protocol="tcp", limit=1, queue_timeout="300ms", refuse="postgres")
    server.hang()
    try:
        first = connect(gate.address)
        first.sendall(pg_startup(user="postgres", database="postgres"))
        wait_until(lambda: gate.status()["held"] == 1, "it holds a permit")
        try:
            Pg(gate.address)
            raise AssertionError("it is let in")
        except PgError as e:
            equal(e.code, "53300", "SQLSTATE")
    finally:
        server.go_on()
    pg = Pg(None, s=first, start=False)
    pg.until_ready()
    equal(pg.one("SELECT 1"), "1", "it goes on")
    pg.close()
    serves(gate)
    gate.settle()


def test_vanished_hosts():
    """the system asks silent clients and servers whether they are there: a vanished host holds nothing"""
    upstream = Upstream()
    gate = Gate(to=f"127.0.0.1:{upstream.port}", limit=1)
    client = connect(gate.address)
    wait_until(lambda: len(upstream.open) == 1, "it is served")

    def is_asked(column, port):
        """Whether the keepalive timer (02) runs for a connection with that port in that column."""
        with open("/proc/net/tcp") as table:
            rows = [line.split() for line in table.readlines()[1:]]
        return any(row[3] == "01" and row[5].startswith("02")
                   and int(row[column].rpartition(":")[2], 16) == port for row in rows)
    local, remote = 1, 2
    wait_until(lambda: is_asked(local, gate.port), "the client is asked")
    wait_until(lambda: is_asked(remote, upstream.port), "the server is asked")
    client.close()
    gate.settle()


def test_gate_killed():
    """the gate is killed and started again on its address: clients hear of it, service is back at once"""
    server = needs_postgres()
    gate = gate_for(server, listen=f"127.0.0.1:{keep_port()}")
    sessions = [Pg(gate.address) for _ in range(5)]
    sessions[0].query("BEGIN")
    sessions[0].query("INSERT INTO t VALUES (1)")
    sessions[1].send("SELECT pg_sleep(600)")
    gate.kill()
    begun = time.monotonic()
    for pg in sessions:
        try:
            pg.query("SELECT 1")
            raise AssertionError("it goes on")
        except OSError:
            pg.s.close()
    again = Gate(f"127.0.0.1:{server.port}", protocol="postgres", limit=2, listen=gate.address)
    took = time.monotonic() - begun
    back = serves(again)
    equal(server.run("SELECT count(*) FROM t")[0], [["0"]], "the transaction that was open")
    # Its unix socket, too: what a killed one has left behind is in nobody's way.
    path = os.path.join(scratch(), "gate.sock")
    one = gate_for(server, listen=f"unix:{path}")
    one.kill()
    require(os.path.exists(path), "the socket is left behind")
    two = gate_for(server, listen=f"unix:{path}")
    serves(two)
    equal(two.stop(), 0, "exit code")
    require(not os.path.exists(path), "the socket goes with the gate")
    # But not one that is in use.
    three = gate_for(server, listen=f"unix:{path}")
    four = Gate(f"127.0.0.1:{server.port}", listen=f"unix:{path}", wait=False)
    equal(four.process.wait(LIMIT), 1, f"exit code: {four.said()}")
    require(path in four.said(), f"named: {four.said()}")
    serves(three)
    again.settle()
    return f"listens after {took * 1000:.0f} ms, serves after {back * 1000:.0f}"


def drip(s, data, stop, pause):
    """One byte after the other; says when it was cut off."""
    for i in range(len(data)):
        if stop.is_set():
            return
        try:
            s.sendall(data[i:i + 1])
        except OSError:
            return
        if select.select([s], [], [], pause)[0]:
            return


def test_drip():
    """one byte a time: startup packet, PROXY header, admin: bounded, and in nobody's way"""
    server = needs_postgres()
    gate = gate_for(server, login_timeout="600ms", clients=300)
    behind_proxy = gate_for(server, login_timeout="600ms", proxy_in="v2", protocol="tcp")
    stop = threading.Event()
    slow, threads = [], []
    startup = pg_startup(user="postgres", database="postgres", application_name="x" * 200)
    header = b"\r\n\r\n\0\r\nQUIT\n" + bytes([0x21, 0x11, 0, 12]) + bytes(12)
    request = b"GET /status HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 1000 + b"\r\n\r\n"
    for to, data, count in ((gate.address, startup, 100), (behind_proxy.address, header, 30),
                            (f"127.0.0.1:{gate.admin_port}", request, 30)):
        for _ in range(count):
            s = connect(to)
            slow.append(s)
            threads.append(threading.Thread(target=drip, args=(s, data, stop, 0.1), daemon=True))
    for thread in threads:
        thread.start()
    begun = time.monotonic()
    serves(gate)
    equal(gate.http("GET", "/health")[0], 200, "the admin side meanwhile")
    wait_until(lambda: gate.refused("login-timeout") >= 100, f"they are ended: {gate.status()['totals']}")
    wait_until(lambda: behind_proxy.refused("login-timeout") == 30, "those without a header are ended")
    took = time.monotonic() - begun
    serves(gate)
    stop.set()
    for thread in threads:
        thread.join(LIMIT)
    for s in slow:
        s.close()
    gate.settle()
    behind_proxy.settle()
    return f"ended within {took:.1f} s of 0.6"


def test_admin_drip():
    """the admin side: a slow or silent client is ended, a crowd of them does not shut others out"""
    server = Upstream()
    gate = Gate(f"127.0.0.1:{server.port}", limit=2)
    silent = [connect(gate.admin_port) for _ in range(200)]
    half = [connect(gate.admin_port) for _ in range(50)]
    slow = [connect(gate.admin_port) for _ in range(70)]  # they read none of their answers
    for crowd, request in ((half, b"PUT /gates/main/limit HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100"
                                  b"\r\n\r\n1"), (slow, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 50)):
        for s in crowd:
            with contextlib.suppress(OSError):  # it had to go
                s.sendall(request)
    begun = time.monotonic()
    equal(gate.http("GET", "/health")[0], 200, "health, with a crowd")
    took = time.monotonic() - begun
    in_time(took, 2, "health")
    for data in (b"GET /" + b"x" * 100000, b"\0" * 1000, b"GET / HTTP/9.9\r\n\r\n", b"POST /reload",
                 b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 5000):
        s = connect(gate.admin_port)
        with contextlib.suppress(OSError):
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
        _, end = receive_all(s)
        require(end != "timeout", f"{data[:20]}: nothing happens")
        s.close()
    equal(gate.status()["limit"], 2, "the limit")
    for s in silent + half + slow:
        s.close()
    wait_until(lambda: gate.descriptors() < 60, "their descriptors are given back")
    return f"answered after {took:.3f} s beside {len(silent + half + slow)}"


def test_descriptors():
    """64 descriptors and 200 clients: accept pauses and says so once, everybody is served"""
    upstream = Upstream(hold=0.002)
    gate = Gate(f"127.0.0.1:{upstream.port}", limit=4, queue=1000, queue_timeout="60s",
                descriptors=64)
    crowd, begun = [], time.monotonic()
    for i in range(200):
        s = connect(gate.address)
        s.sendall(b"client %d" % i)
        crowd.append(s)
    served = 0
    for i, s in enumerate(crowd):
        data, end = receive_all(s)
        equal((data, end), (b"client %d" % i, "end"), f"client {i}")
        s.close()
        served += 1
    gate.settle()
    equal(served, 200, "served")
    lines = [line for line in gate.said().splitlines() if "descriptor" in line]
    most = 4 + 2 * int(time.monotonic() - begun)  # anew after a second without a pause
    require(1 <= len(lines) <= most, f"the log says it once, and when it goes on: {lines}")
    totals = gate.status()["totals"]
    equal((totals["accepted"], sum(totals["refused"].values())), (200, 0), f"{totals}")
    # Silent ones that fill it up: others wait in the kernel, and it recovers when they leave.
    silent = [connect(gate.address) for _ in range(100)]
    before, begun = gate.cpu_seconds(), time.monotonic()
    time.sleep(0.3)
    cpu = (gate.cpu_seconds() - before) / (time.monotonic() - begun)
    require(cpu < 0.2, f"it spins: {cpu:.2f}")
    for s in silent:
        s.close()
    begun = time.monotonic()
    s = connect(gate.address)
    s.sendall(b"after")
    equal(receive_all(s)[0], b"after", "after them")
    took = time.monotonic() - begun
    in_time(took, 1, "service is back")
    s.close()
    gate.settle()
    return f"{len(lines)} lines in the log"


def test_descriptors_postgres():
    """postgres with 64 descriptors: sessions beyond wait in the kernel, those within are served"""
    server = needs_postgres()
    gate = gate_for(server, descriptors=64, limit=2)
    crowd = []
    for _ in range(60):
        s = connect(gate.address)
        s.sendall(pg_startup(user="postgres", database="postgres"))
        crowd.append(Pg(None, s=s, start=False))
    served = 0
    for pg in crowd:  # each makes room for another
        pg.until_ready()
        equal(pg.one("SELECT 1"), "1", "answer")
        pg.close()
        served += 1
    equal(served, 60, "served")
    gate.settle()


def test_admin_descriptors():
    """descriptors run out: the admin side still answers"""
    upstream = Upstream()
    gate = Gate(f"127.0.0.1:{upstream.port}", limit=2, descriptors=64, queue_timeout="60s")
    crowd = [connect(gate.address) for _ in range(100)]
    time.sleep(0.1)
    equal(gate.http("GET", "/health")[0], 200, "health")
    samples = gate.metrics()
    require(samples["process_open_fds"] <= 64, f"{samples['process_open_fds']} descriptors")
    equal(samples["process_max_fds"], 64, "the most")
    for s in crowd:
        s.close()
    gate.settle()


run_tests([gate_is_there], test_restart, test_restart_tcp, test_hang, test_hang_redis, test_hang_tcp, test_vanished_hosts,
          test_gate_killed,
          test_drip, test_admin_drip, test_descriptors, test_descriptors_postgres,
          test_admin_descriptors)
