#!/usr/bin/env python3
"""resp_test.py PROGRAM [--whole] [test]...: redis behind the gate: what clients see is what
they see without it, and a permit is held for a burst of commands, and no longer."""

from voltgate_kit import *


def redis_benchmark():
    return shutil.which("redis-benchmark") is not None


def server():
    if not hasattr(server, "redis"):
        server.redis = Redis()
    return server.redis


def gate_for(**options):
    return Gate(f"127.0.0.1:{server().port}", protocol="redis",
                **{"limit": 2, "queue_timeout": "20s", **options})


def held(gate, count):
    wait_until(lambda: gate.status()["held"] == count, f"{count} held: {gate.status()}")


def script(r):
    """Most of what a client does; what it sees."""
    seen = []

    def say(*words):
        r.send(*words)
        answer = r.reply()
        seen.append((words[0], answer))
    say("FLUSHALL")
    say("SET", "a", "1")
    say("INCR", "a")
    say("GET", "a")
    say("GET", "none")
    say("LPUSH", "l", "x", "y", "z")
    say("LRANGE", "l", 0, -1)
    say("NOSUCHCOMMAND", "x")
    say("LPUSH", "a", "wrong type")
    say("SET", "big", "v" * 3_000_000)
    say("STRLEN", "big")
    say("GET", "big")
    say("SET", "binary", b"\r\n*3\r\n$-1\0\r\n" * 10)
    say("GET", "binary")
    say("MULTI")
    say("INCR", "a")
    say("INCR", "l")
    say("EXEC")
    say("MULTI")
    say("NOSUCHCOMMAND")
    say("EXEC")
    say("MULTI")
    say("SET", "a", "no")
    say("DISCARD")
    say("GET", "a")
    say("WATCH", "a")
    say("MULTI")
    say("INCR", "a")
    say("EXEC")
    say("EVAL", "return {1, {2, {3, 'x'}}, redis.call('GET', KEYS[1])}", 1, "a")
    say("EVAL", "return redis.error_reply('MINE own')", 0)
    say("BLPOP", "l", 1)
    say("BLPOP", "nothing", 0.05)
    say("XADD", "stream", "1-1", "f", "v")
    say("XREAD", "COUNT", 1, "STREAMS", "stream", "0")
    say("XREAD", "BLOCK", 30, "STREAMS", "stream", "$")
    say("SELECT", 3)
    say("GET", "a")
    say("SELECT", 0)
    say("PING")
    say("PING", "with words")
    say("ECHO", "")
    say("OBJECT", "HELP")
    say("CLIENT", "SETNAME", "me")
    say("CLIENT", "GETNAME")
    r.s.sendall(b"PING\r\nINLINE nonsense\r\nECHO \"two words\"\r\n")
    seen.append([str(r.reply()) for _ in range(3)])
    r.s.sendall(b"".join(Resp.encode("INCR", "n") for _ in range(2000)))
    seen.append([r.reply() for _ in range(2000)])
    say("RESET")
    for i in range(0, len(Resp.encode("GET", "a"))):
        r.s.sendall(Resp.encode("GET", "a")[i:i + 1])
    seen.append(r.reply())
    say("QUIT")
    seen.append(r.file.read())
    return seen


def block(gate, r, *words):
    """A blocking command that redis has taken."""
    before = gate.status()["totals"]["blocking"]
    r.send(*words)
    wait_until(lambda: gate.status()["totals"]["blocking"] == before + 1, "it blocks")
    held(gate, 0)


def test_equal():
    """what a client sees is the same with and without the gate, also with limit 1"""
    with Resp(server().port) as r:
        direct = script(r)
    for limit in (1, 4):
        gate = gate_for(limit=limit)
        with Resp(gate.address) as r:
            through = script(r)
        for d, t in zip(direct, through):
            equal(str(t)[:300], str(d)[:300], "seen through the gate")
            equal(t, d, "seen through the gate")
        equal(len(through), len(direct), "answers")
        gate.settle()
    tcp = Gate(f"127.0.0.1:{server().port}", limit=2, refuse="redis")
    with Resp(tcp.address) as r:
        equal(script(r), direct, "in tcp mode")
    tcp.settle()
    return f"{len(direct)} answers"


def test_idle_holds_nothing():
    """500 clients and limit 1: idle ones hold nothing, MULTI and WATCH do, order is kept"""
    gate = gate_for(limit=1)
    crowd = [Resp(gate.address) for _ in range(100)]
    for r in crowd:
        equal(r("PING"), "PONG", "PING")
    held(gate, 0)
    first = crowd[0]
    for begin, end in ((("MULTI",), ("EXEC",)), (("MULTI",), ("DISCARD",)), (("WATCH", "w"), ("UNWATCH",))):
        first(*begin)
        held(gate, 1)
        crowd[1].send("PING")
        wait_until(lambda: gate.queue_length() == 1, "another waits")
        first.send(*end)
        first.reply()
        equal(crowd[1].reply(), "PONG", "then")
        held(gate, 0)
    crowd[0]("DEL", "order")
    first("MULTI")
    for i, r in enumerate(crowd[1:]):
        r.send("RPUSH", "order", i)
        wait_until(lambda: gate.queue_length() == i + 1, "they wait one behind the other", pause=0.001)
    first("EXEC")
    for r in crowd[1:]:
        r.reply()
    equal(first("LRANGE", "order", 0, -1), [str(i) for i in range(99)], "the order")
    for r in crowd:
        r.close()
    gate.settle()


def test_blocking():
    """BLPOP, SUBSCRIBE and MONITOR give the permit back, and are counted apart"""
    gate = gate_for(limit=1)
    blocked = [Resp(gate.address) for _ in range(5)]
    for r in blocked:
        block(gate, r, "BLPOP", "later", 0)
    other = Resp(gate.address)
    equal(other("PING"), "PONG", "beside five that block, with limit 1")
    held(gate, 0)
    equal(gate.status()["totals"]["blocking"], 5, "counted")
    for i in range(5):
        other("LPUSH", "later", i)
        equal(blocked[i].reply(), ["later", str(i)], "what was waited for")
    sub, monitor = Resp(gate.address), Resp(gate.address)
    equal(sub("SUBSCRIBE", "news"), ["subscribe", "news", 1], "SUBSCRIBE")
    equal(sub("PSUBSCRIBE", "n*"), ["psubscribe", "n*", 2], "PSUBSCRIBE")
    equal(monitor("MONITOR"), "OK", "MONITOR")
    held(gate, 0)
    for i in range(3):
        equal(other("PUBLISH", "news", f"number {i}"), 2, "PUBLISH")
        equal(sub.reply(), ["message", "news", f"number {i}"], "message")
        equal(sub.reply(), ["pmessage", "n*", "news", f"number {i}"], "pmessage")
        require("PUBLISH" in monitor.reply(), "MONITOR shows it")
    equal(sub("UNSUBSCRIBE", "news"), ["unsubscribe", "news", 1], "UNSUBSCRIBE")
    equal(sub("PUNSUBSCRIBE", "n*"), ["punsubscribe", "n*", 0], "PUNSUBSCRIBE")
    equal(sub("PING"), "PONG", "a client as any other")
    # A client that goes while it blocks leaves nothing behind.
    gone = Resp(gate.address)
    block(gate, gone, "BLPOP", "never", 0)
    gone.close()
    for r in (*blocked, other, sub, monitor):
        r.close()
    gate.settle()
    with Resp(server().port) as r:
        wait_until(lambda: r("CLIENT", "LIST").count("\n") <= 1, "no connection is left")


def test_leaving():
    """clients that hang up while queued: their commands are not run"""
    gate = gate_for(limit=1)
    first, last = Resp(gate.address), Resp(gate.address)
    first("DEL", "marks")
    first("MULTI")
    crowd = [Resp(gate.address) for _ in range(20)]
    for r in crowd:
        r.send("INCR", "marks")
    wait_until(lambda: gate.queue_length() == 20, "they wait")
    for i, r in enumerate(crowd):
        if i % 2:
            r.close()
        else:
            r.file.close()
            reset(r.s)
    wait_until(lambda: gate.queue_length() == 0, "they leave")
    first("EXEC")
    equal(last("GET", "marks"), None, "their commands")
    first.close()
    last.close()
    gate.settle()
    equal(gate.status()["totals"]["left"], 20, "left")


def test_refused():
    """queue-full, queue-timeout, breaker: in redis's words"""
    gate = gate_for(limit=1, queue=1, queue_timeout="60s")
    a, b, c = (Resp(gate.address) for _ in range(3))
    a("MULTI")
    b.send("PING")
    wait_until(lambda: gate.queue_length() == 1, "one waits")
    c.send("PING")
    answer = str(c.reply())
    require(answer.startswith("ERR max number of clients reached (voltgate: "), answer)
    a("DISCARD")
    equal(b.reply(), "PONG", "the one that has waited")
    for r in (a, b, c):
        r.close()
    equal(gate.refused("queue-full"), 1, "counted")
    gate.settle()
    gate = gate_for(limit=1, queue_timeout="300ms")
    with Resp(gate.address) as a, Resp(gate.address) as b:
        a("MULTI")
        b.send("PING")
        answer = str(b.reply())
        require(answer.startswith("ERR max number of clients reached") and "300 ms" in answer, answer)
        equal(gate.refused("queue-timeout"), 1, "counted")
        a("DISCARD")
    gate.settle()
    dead = Gate(f"127.0.0.1:{keep_port()}", protocol="redis", breaker=1, breaker_retry="10s")
    for _ in range(2):
        done = subprocess.run(["redis-cli", "-p", str(dead.port), "PING"], capture_output=True,
                              timeout=LIMIT)
        require(b"voltgate: " in done.stdout and b"refused" in done.stdout, f"{done}")
    for data in (b"*1\r\n$-5\r\n", b"*-7\r\n", b"*1\r\n:5\r\n", b"$5\r\nhello\r\n", b"*99999999999\r\n",
                 b"*1\r\n$4\r\nPINGxx", b"\0" * 100 + b"\r\n"):
        s = connect(gate.address)
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        _, end = receive_all(s)
        require(end != "timeout", f"{data}: nothing happens")
        s.close()
    with Resp(gate.address) as r:
        equal(r("PING"), "PONG", "afterwards")
    gate.settle()


def test_restart():
    """redis is killed and started again: clients hear of it, service is back within a second"""
    mine = Redis()
    gate = Gate(f"127.0.0.1:{mine.port}", protocol="redis", limit=1, breaker_retry="50ms")
    idle, blocked, busy, waits = (Resp(gate.address) for _ in range(4))
    idle("PING")
    block(gate, blocked, "BLPOP", "x", 0)
    busy("MULTI")
    waits.send("PING")
    wait_until(lambda: gate.queue_length() == 1, "one waits")
    mine.server.kill()
    for r in (idle, blocked, busy, waits):
        try:
            while not isinstance(r.reply(), RespError):
                pass
        except OSError:
            pass
        r.close()
    gate.settle()
    mine.start()
    begun = time.monotonic()

    def back():
        try:
            with Resp(gate.address) as r:
                return r("PING") == "PONG"
        except (OSError, RespError):
            return False
    wait_until(back, "service is back")
    took = time.monotonic() - begun
    in_time(took, 1, "it is back")
    gate.settle()
    return f"back after {took * 1000:.0f} ms"


def test_programs():
    """redis-cli and redis-benchmark: pipelines and crowds, every command counted once"""
    gate = gate_for(limit=3)
    cli = subprocess.run(["redis-cli", "-p", str(gate.port)], input=b"SET k v\nGET k\nMULTI\nINCR c\n"
                         b"INCR c\nEXEC\nDEL c\n", capture_output=True, timeout=LIMIT)
    equal(cli.stdout.split(), b"OK v OK QUEUED QUEUED 1 2 1".split(), "redis-cli")
    with Resp(server().port) as r:
        r("FLUSHALL")
        for more in (["-P", "1"], ["-P", "16"]):
            r("DEL", "counter")
            count = many(4000, 100000)
            r("CLIENT", "PAUSE", LIMIT * 1000, "WRITE")  # until all of them have come
            benchmark = subprocess.Popen(["redis-benchmark", "-p", str(gate.port), "-c", "50", "-n",
                                          str(count), "-q", *more, "INCR", "counter"],
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            at_end.callback(benchmark.kill)
            wait_until(lambda: gate.status()["queue"]["length"] == 47, "47 of 50 wait for permits")
            r("CLIENT", "UNPAUSE")
            said = benchmark.communicate(timeout=LIMIT * 2)[0]
            require(benchmark.returncode == 0 and b"rror" not in said, f"{said[-300:]}")
            found = int(r("GET", "counter"))
            require(count <= found <= count + 50 * 16, f"{found} commands of {count}")
    gate.settle()
    require(gate.status()["totals"]["waited"] >= 2 * 47, "they waited for permits")


run_tests([gate_is_there, redis, redis_benchmark], test_equal, test_idle_holds_nothing, test_blocking,
          test_leaving, test_refused, test_restart, test_programs)
