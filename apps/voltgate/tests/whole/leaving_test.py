#!/usr/bin/env python3
"""leaving_test.py PROGRAM [--whole] [test]...: clients that hang up while they wait. They
leave the queue at once, and nothing of theirs reaches the server."""

from voltgate_kit import *

EACH = 30


def hold_permit(gate, upstream):
    """A client that is being served, until it is released."""
    before = len(upstream.arrived)
    s = connect(gate.address)
    s.sendall(b"occupant")
    wait_until(lambda: len(upstream.arrived) > before and upstream.arrived[-1].bytes, "it is served")
    return s, upstream.arrived[-1]


def wait_in_queue(gate, count, request=b"request %d", **named):
    waiting = []
    for i in range(count):
        s = connect(gate.address, **named)
        if request:
            s.sendall(request % i if b"%d" in request else request)
        waiting.append(s)
    wait_until(lambda: gate.queue_length() == count, f"{count} wait; {gate.status()['queue']}")
    return waiting


def half_close(s):
    s.shutdown(socket.SHUT_WR)


def leaves(how, request=b"request %d", **options):
    """That all of them leave, in whatever way they hang up; says how long the gate's books took."""
    upstream = Upstream()
    gate = Gate(f"127.0.0.1:{upstream.port}", limit=1, queue=100, queue_timeout="0", **options)
    occupant, holding = hold_permit(gate, upstream)
    waiting = wait_in_queue(gate, EACH, request)
    begun = time.monotonic()
    for s in waiting:
        how(s)
    wait_until(lambda: gate.queue_length() == 0, "they leave", pause=0.001)
    took = time.monotonic() - begun
    if how is half_close:
        for s in waiting:
            data, end = receive_all(s)
            equal(data, b"", "bytes")
            require(end != "timeout", "it is ended")
            s.close()
    equal(gate.status()["totals"]["left"], EACH, "left")
    equal(gate.status()["held"], 1, "held")
    upstream.release_one(holding)
    occupant.close()
    gate.settle()
    # The next one is served, and so every one before it would have been.
    last, holding = hold_permit(gate, upstream)
    equal([r for r in upstream.requests() if r], [b"occupant"] * 2, "requests")
    equal(len(upstream.arrived), 2, "connections")
    upstream.release()
    last.close()
    gate.settle()
    return f"{EACH} in {took * 1000:.0f} ms"


def test_fin():
    """FIN after a request"""
    return leaves(socket.socket.close)


def test_rst():
    """RST after a request"""
    return leaves(reset)


def test_half_close():
    """half-close after a request, by default"""
    return leaves(half_close)


def test_silent():
    """FIN, RST and half-close of clients that have sent nothing"""
    return "; ".join(leaves(how, None) for how in (socket.socket.close, reset, half_close))


def test_much_unread():
    """hang-ups behind 30 kB that nobody has read"""
    # Behind more than the kernel takes for the gate no FIN arrives; an RST does.
    def send_some(s):
        s.sendall(bytes(30000))
        s.close()

    def send_much(s):
        s.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            for _ in range(500):
                s.send(bytes(4096))
        reset(s)
    return f"{leaves(send_some)}; RST behind megabytes: {leaves(send_much)}"


def test_keep():
    """half-close keep: a half-closed client keeps its place and is answered; RST still leaves"""
    upstream = Upstream()
    gate = Gate(f"127.0.0.1:{upstream.port}", limit=1, queue=100, queue_timeout="0",
                half_close="keep")
    occupant, holding = hold_permit(gate, upstream)
    keep = wait_in_queue(gate, EACH)
    for s in keep:
        half_close(s)
    resets = [connect(gate.address) for _ in range(EACH)]
    wait_until(lambda: gate.queue_length() == 2 * EACH, "all wait")
    for s in resets:
        s.sendall(b"never")
        reset(s)
    wait_until(lambda: gate.queue_length() == EACH, "those that reset leave")
    upstream.hold = 0
    upstream.release_one(holding)
    occupant.close()
    for i, s in enumerate(keep):
        equal(receive_all(s), (b"request %d" % i, "end"), f"the answer of {i}")
        s.close()
    require(b"never" not in upstream.requests(), "a request of those that left")
    gate.settle()
    totals = gate.status()["totals"]
    equal((totals["left"], totals["admitted"]), (EACH, EACH + 1), "left, admitted")


def test_served_half_close():
    """half-close of a client that is served: the server sees it, and answers"""
    upstream = Upstream()
    gate = Gate(f"127.0.0.1:{upstream.port}", limit=1)
    s, holding = hold_permit(gate, upstream)
    half_close(s)
    wait_until(lambda: not upstream.count() or holding.finished, "the server sees the end")
    s.close()
    gate.settle()
    # The other way: who has been told that nothing more comes holds no permit, even if it stays.
    s, holding = hold_permit(gate, upstream)
    upstream.release_one(holding)
    wait_until(lambda: gate.status()["held"] == 0, "the permit of a server that has ended")
    equal(receive_all(s), (b"occupant", "end"), "answer")
    s.close()
    gate.settle()
    # Unless it is to be kept: what the client sends still reaches it.
    listener = socket.create_server(("127.0.0.1", 0))
    gate = Gate(f"127.0.0.1:{listener.getsockname()[1]}", limit=1, half_close="keep")
    s = connect(gate.address)
    s.sendall(b"a")
    server, _ = listener.accept()
    server.settimeout(LIMIT)
    equal(receive(server, 1), b"a", "bytes")
    server.sendall(b"answer")
    server.shutdown(socket.SHUT_WR)
    equal(receive_all(s), (b"answer", "end"), "answer")
    s.sendall(b"afterwards")
    equal(receive(server, 10), b"afterwards", "bytes after the server's end")
    equal(gate.status()["held"], 1, "held while one direction is open")
    s.close()
    equal(receive(server, 1), b"", "the end")
    server.close()
    listener.close()
    gate.settle()


def test_dead_crowd():
    """thousands of dead clients leave at once"""
    count = many(2000, 5000)
    need = count + 200
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < need:
        raise Skip(f"at most {hard} descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, need), hard))
    upstream = Upstream()
    gate = Gate(f"127.0.0.1:{upstream.port}", limit=1, queue=count + 10, queue_timeout="0")
    occupant, holding = hold_permit(gate, upstream)
    # Of a process of its own, so that they do die at once.
    child = os.fork()
    if not child:
        try:
            crowd = []
            for _ in range(count):
                s = connect(gate.address)
                s.sendall(b"never")
                crowd.append(s)
            signal.pause()
        finally:
            os._exit(0)
    try:
        wait_until(lambda: gate.queue_length() == count, f"{count} wait; {gate.status()['queue']}")
        before = gate.cpu_seconds()
        time.sleep(0.5)
        idle = (gate.cpu_seconds() - before) / 0.5
    finally:
        os.kill(child, signal.SIGKILL)
        begun = time.monotonic()
        os.waitpid(child, 0)
    dead = time.monotonic() - begun
    wait_until(lambda: gate.queue_length() == 0, "they leave", pause=0.001)
    took = time.monotonic() - begun
    upstream.release_one(holding)
    occupant.close()
    gate.settle()
    equal(gate.status()["totals"]["left"], count, "left")
    equal([r for r in upstream.requests() if r], [b"occupant"], "requests")
    require(gate.descriptors() < 60, f"descriptors left: {gate.descriptors()}")
    return (f"{count}: queue empty {took * 1000:.0f} ms after the kill, of which the kernel took "
            f"{dead * 1000:.0f}; CPU while they waited {idle * 100:.1f} %")


def test_races():
    """hanging up at the moment of admission: no permit is lost, none is given twice"""
    upstream = Upstream(hold=0)
    gate = Gate(f"127.0.0.1:{upstream.port}", limit=2, queue=1000)
    for turn in range(many(60, 1000)):
        crowd = []
        for i in range(12):
            s = connect(gate.address)
            s.sendall(b"r")
            crowd.append(s)
        for i, s in enumerate(crowd):
            if (i + turn) % 3 == 0:
                reset(s)
            elif (i + turn) % 3 == 1:
                s.close()
            else:
                data, _ = receive_all(s)
                equal(data, b"r", "answer")
                s.close()
    gate.settle()
    require(upstream.most <= 2, f"{upstream.most} at once")
    totals = gate.status()["totals"]
    equal(totals["admitted"] + totals["left"], totals["accepted"], f"books: {totals}")


def test_large_requests():
    """what clients send while they wait stays in the kernel: memory is bounded"""
    upstream = Upstream()
    gate = Gate(f"127.0.0.1:{upstream.port}", limit=1, queue=500, queue_timeout="0")
    occupant, holding = hold_permit(gate, upstream)

    def resident():
        with open(f"/proc/{gate.pid}/status") as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])
    waiting = wait_in_queue(gate, 100, b"")
    before = resident()
    for s in waiting:
        s.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            for _ in range(100):
                s.send(bytes(65536))
    grown = resident() - before
    require(grown < 8192, f"{grown} KiB more")
    for s in waiting:
        reset(s)
    wait_until(lambda: gate.queue_length() == 0, "they leave")
    upstream.release()
    occupant.close()
    gate.settle()
    return f"{grown} KiB more"


# ---- PostgreSQL ----

def needs_postgres():
    if not postgres():
        raise Skip("there is no PostgreSQL")
    if not hasattr(needs_postgres, "server"):
        needs_postgres.server = Postgres()
        needs_postgres.server.run("CREATE TABLE marks (m int)")
    return needs_postgres.server


def test_postgres_queued():
    """postgres: clients that hang up while queued leave, their queries are not run"""
    server = needs_postgres()
    gate = Gate(f"127.0.0.1:{server.port}", protocol="postgres", limit=1, queue_timeout="0")
    busy = Pg(gate.address)
    busy.query("BEGIN")

    def goodbye(s):
        s.sendall(pg_message(b"X"))
        s.close()

    def in_a_message(s):
        s.sendall(b"Q\0\0\1\0SELECT")
        s.close()
    for how in (socket.socket.close, reset, half_close, goodbye, in_a_message):
        before = gate.status()["totals"]["left"]
        crowd = [Pg(gate.address) for _ in range(10)]
        for i, pg in enumerate(crowd):
            pg.send(f"INSERT INTO marks VALUES ({i})")
        wait_until(lambda: gate.queue_length() == 10, "they wait")
        for pg in crowd:
            how(pg.s)
        wait_until(lambda: gate.queue_length() == 0, f"{how.__name__}: they leave")
        wait_until(lambda: gate.status()["clients"] == 1, f"{how.__name__}: they are gone")
        equal(gate.status()["totals"]["left"] - before, 10, f"{how.__name__}: left")
        for pg in crowd:
            pg.s.close()
    busy.query("COMMIT")
    busy.close()
    gate.settle()

    def backends():
        return int(server.run("SELECT count(*) FROM pg_stat_activity WHERE "
                              "backend_type = 'client backend'")[0][0][0])
    wait_until(lambda: backends() == 1, "their server connections end")
    equal(server.run("SELECT count(*) FROM marks"), [[["0"]]], "their queries have been run")


def test_postgres_running():
    """postgres: a client that dies while its query runs gives its permit back, and the query ends"""
    server = needs_postgres()
    gate = Gate(f"127.0.0.1:{server.port}", protocol="postgres", limit=1, queue_timeout="0")
    for how in (reset, socket.socket.close):
        dying, next_one = Pg(gate.address), Pg(gate.address)
        dying.send("SELECT pg_sleep(500)")
        wait_until(lambda: gate.status()["held"] == 1, "it runs")
        next_one.send("SELECT 'next'")
        wait_until(lambda: gate.queue_length() == 1, "another waits")
        how(dying.s)
        equal(next_one.until_ready(), [["next"]], "the next one")
        next_one.close()

        def sleeping():
            return server.run("SELECT count(*) FROM pg_stat_activity WHERE query LIKE "
                              "'SELECT pg_sleep%' AND state = 'active'")[0][0][0]
        wait_until(lambda: sleeping() == "0", f"the query of a dead client ends ({how.__name__})")
        gate.settle()


run_tests([gate_is_there], test_fin, test_rst, test_half_close, test_silent, test_much_unread,
          test_keep, test_served_half_close, test_dead_crowd, test_races, test_large_requests,
          test_postgres_queued, test_postgres_running)
