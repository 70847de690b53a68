#!/usr/bin/env python3
"""permit_restart_test.py PROGRAM [--whole] [test]...: another process takes over a permit gate with all its clients:
what they hold, what they wait for, in which order; and either process dies on the way."""

import resource
import struct

from handover_kit import *
from permit_kit import *


class Pair(Broker):
    """A gate that can be taken over, and takes over."""

    def __init__(self, kinds="cores=2 memory=1M", claim="0", home=None, take=None, more="", tail="", **named):
        self.kinds_text, self.claim_text, self.more_text, self.tail_text = kinds, claim, more, tail
        home = home or scratch()
        self.handover = os.path.join(home, "handover")
        arguments = ["--handover", self.handover] + (["--take-over", take] if take else [])
        super().__init__(kinds, claim=claim, directory=home, more=more, tail=tail, arguments=arguments, **named)

    def next(self, kinds=None, ended=False, **named):
        """The next process. This one has seen that the one before it has ended: there are two at a time."""
        if not ended:
            wait_until(lambda: self.whole_status()["state"] == "running", "it is alone")
        named = {"more": self.more_text, "tail": self.tail_text, "claim": self.claim_text, **named}
        return Pair(kinds or self.kinds_text, home=self.home, take=self.handover, **named)

    def ended(self):
        equal(self.process.wait(LIMIT), 0, f"the old one has ended: {self.said()}")


def lines_of(client, *words):
    """What is listed, without the times."""
    return [re.sub(r" since_ms=\d+", "", line) for line in client.list()]


# ---- each state ----

def all_states():
    """holders, those that wait, and idle ones go on: amounts, label, id, user, since when, places"""
    broker = Pair("cores=2 memory=1M", claim="500ms")
    holder = broker.client('take cores=2 memory=1K label="a \\"b\\"" command="make -j2"')
    holder.granted()
    waiters = []
    for i in range(3):
        waiters.append(broker.client(f"take cores={1 + i % 2} label=w{i}"))
        equal(waiters[-1].line(), f"queued {i + 1}", "its place")
    idle = broker.client("ping")
    equal(idle.line(), "pong", "it is there")
    before = lines_of(idle)
    require(f"pid={os.getpid()} uid={os.getuid()}" in before[2], f"whose it is: {before}")
    after = broker.next()
    broker.ended()
    equal(lines_of(idle), before, "what is listed")
    equal(after.kinds()["cores"], {"limit": 2, "held": 2, "free": 0}, "held")
    equal(holder.ask("give cores=1"), "given cores=1 memory=1024", "it gives a part back")
    waiters[0].granted()
    late = after.client("take cores=1")
    equal(late.line(), "queued 3", "behind those that had been waiting")
    holder.close()
    waiters[0].close()
    require(" id=3 " in waiters[1].granted(), "its number is the one that it had")
    waiters[1].close()
    waiters[2].granted()
    late.granted()
    for c in (waiters[2], late, idle):
        c.close()
    after.all_free()


def half_a_line():
    """the beginning of a line, and what was not read yet, go along"""
    broker = Pair("cores=2")
    half = broker.client("ping")
    equal(half.line(), "pong", "it is there")
    half.s.sendall(b"take cores=2 lab")
    slow = broker.client("take cores=1")
    slow.granted()
    asked = 0
    slow.s.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:  # until it is not read any more, because it does not read
            asked += slow.s.send(b"ping\n" * 1000)
    slow.s.settimeout(LIMIT)
    after = broker.next()
    broker.ended()
    half.s.sendall(b"el=x\nping\n")
    equal(half.line(), "queued 1", "the whole line")
    equal(half.line(), "pong", "and the next")
    for _ in range(asked // 5):
        equal(slow.line(), "pong", "each is answered once")
    equal(slow.ask("ping"[asked % 5:]), "pong", "the last, too")
    slow.close()
    require('cores=2 ' in half.granted(), "granted")


def half_a_list():
    """a list of which its client has not read all goes along, and so do the lines behind it"""
    count, lists = 200, 8  # more than the system keeps for a socket
    broker = Pair(f"cores={count}", more="clients = 1000")
    holders = [broker.client(f"take cores=1 label={'x' * 127} command={'y' * 254}") for _ in range(count)]
    for c in holders:
        c.granted()
    reader = broker.client("list\n" * lists + "ping")
    equal(broker.client("ping").line(), "pong", "the gate goes on")
    after = broker.next()
    broker.ended()
    for _ in range(lists):
        lines = []
        while (line := reader.line()) != "end":
            lines.append(line)
        equal(sum(line.startswith("holder ") for line in lines), count, "holders in each list")
    equal(reader.line(), "pong", "the line behind them")
    equal(after.holders(), (count, 0), "all are there")


def deadlines():
    """a time to wait goes on from where it was"""
    broker = Pair("cores=1")
    holder = broker.client("take cores=1")
    holder.granted()
    began = time.monotonic()
    waiter = broker.client("take cores=1 wait=1500ms")
    equal(waiter.line(), "queued 1", "it waits")
    forever = broker.client("take cores=1")
    equal(forever.line(), "queued 2", "it waits, too")
    after = broker.next()
    broker.ended()
    line = waiter.line()
    require(line.startswith("refused timeout: nothing within 1"), line)
    require(time.monotonic() - began >= 1.5, "not before its time")
    holder.close()
    forever.granted()
    after.kill()


def lower_limits():
    """the new configuration has less: nothing is taken away, and who asks for more is refused"""
    broker = Pair("cores=4")
    holders = [broker.client("take cores=2") for _ in range(2)]
    for c in holders:
        c.granted()
    greedy = broker.client("take cores=3")
    equal(greedy.line(), "queued 1", "it waits")
    modest = broker.client("take cores=1")
    equal(modest.line(), "queued 2", "behind it")
    after = broker.next("cores=2")
    broker.ended()
    equal(after.kinds()["cores"], {"limit": 2, "held": 4, "free": 0}, "above the limit")
    require(greedy.line().startswith("refused impossible: cores: 3 asked for, the limit is 2"), "impossible")
    holders[0].close()
    equal(modest.ask("ping").split()[0] in ("pong", "queued"), True, "nothing is free")
    holders[1].close()
    modest.granted()
    modest.close()
    greedy.close()
    after.all_free()


def tenants():
    """those that wait for their tenant do so in the new process, and count there"""
    tail = "[tenant main/ci]\nkinds = cores=1"
    broker = Pair("cores=3", more="tenant-by = label", tail=tail)
    first = broker.client("take cores=1 label=ci")
    first.granted()
    waiters = []
    for i in range(2):
        waiters.append(broker.client("take cores=1 label=ci"))
        equal(waiters[i].line(), f"queued {i + 1}", "for its tenant")
    after = broker.next()
    broker.ended()
    after.client("take cores=1").granted()
    first.close()
    waiters[0].granted()
    equal(waiters[1].ask("ping").split()[0] in ("pong", "queued"), True, "one at a time")
    waiters[0].close()
    waiters[1].granted()


def listeners():
    """an address that the new configuration does not have is closed, and its path removed; the others stay"""
    home = scratch()
    other = os.path.join(home, "other.sock")
    broker = Pair("cores=1", home=home, more=f"listen = unix:{other}", gates=2)
    holder = Client(other, "take cores=1")
    holder.granted()
    after = broker.next(more="")
    broker.ended()
    require(not os.path.exists(other) and os.path.exists(after.path), "paths")
    equal(holder.ask("give"), "given", "its connection stays")
    after.client("take cores=1").granted()
    equal(after.stop(), 0, "it ends")
    require(not os.path.exists(after.path), "its path goes with it")


def several_times():
    """one process after the other, and each can be taken over"""
    broker = Pair("cores=1")
    holder = broker.client("take cores=1")
    holder.granted()
    waiter = broker.client("take cores=1")
    equal(waiter.line(), "queued 1", "it waits")
    for _ in range(many(4, 20)):
        before, broker = broker, broker.next()
        before.ended()
        equal(broker.holders(), (1, 1), "as it was")
    holder.close()
    waiter.granted()
    waiter.close()
    broker.all_free()


# ---- what is refused ----

def tls_stays():
    """a gate whose clients speak TLS is refused with words, and goes on"""
    if not shutil.which("openssl"):
        raise Skip("there is no openssl")
    home = scratch()
    key, certificate = os.path.join(home, "key.pem"), os.path.join(home, "cert.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-subj", "/CN=localhost", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    os.chmod(key, 0o600)
    tail = (f"[gate other]\nprotocol = permit\nlisten = 127.0.0.1:0\nkinds = cores=1\n"
            f"tls = server\ntls-cert = {certificate}\ntls-key = {key}\n")
    broker = Pair("cores=1", tail=tail, gates=2)
    holder = broker.client("take cores=1")
    holder.granted()
    other = broker.next(wait=False)
    require(other.process.wait(LIMIT) != 0, "it has not started")
    require("gate other has protocol = permit and TLS" in other.said(), other.said())
    equal(holder.ask("give"), "given", "it goes on")


def a_kind_is_gone():
    """the new configuration lacks a kind that is held: it does not start, and the old one goes on"""
    broker = Pair("cores=2 memory=1M")
    holder = broker.client("take cores=1 memory=1K")
    holder.granted()
    waiter = broker.client("take cores=2")
    equal(waiter.line(), "queued 1", "it waits")
    other = broker.next("cores=2", wait=False)
    require(other.process.wait(LIMIT) != 0, "it has not started")
    require("a kind that is not there any more" in other.said(), other.said())
    equal(broker.client("take cores=1").line(), "queued 2", "the old one accepts")
    holder.close()
    waiter.granted()
    after = broker.next("cores=2 memory=1M")  # what the one that failed had taken is still there
    broker.ended()
    waiter.close()
    after.client("take cores=2").granted()


# ---- either dies ----

MAIN = (Successor.PERMIT_GATE, 1, "main")


def crowd_of_three(broker):
    holder = broker.client("take cores=1 label=h")
    holder.granted()
    waiter = broker.client("take cores=1 label=w")
    equal(waiter.line(), "queued 1", "it waits")
    idle = broker.client("ping")
    equal(idle.line(), "pong", "it is there")
    return holder, waiter, idle


def goes_on(broker, holder, waiter, idle):
    """As if nothing had been."""
    equal(idle.ask("ping"), "pong", "the idle one is answered")
    late = broker.client("take cores=1")
    equal(late.line(), "queued 2", "the gate accepts, and the order is the same")
    holder.close()
    waiter.granted()
    waiter.close()
    late.granted()
    late.close()
    idle.close()
    broker.all_free()


def new_dies_before_go():
    """the new one dies with all clients in its hands, at each step: the old one goes on"""
    for step in ("ready", "passed", "adopted wrongly", "adopted too few"):
        broker = Pair("cores=1")
        three = crowd_of_three(broker)
        one = Successor(broker.handover)
        one.ready(MAIN)
        if step != "ready":
            said = one.until(Successor.PASSED)
            equal(said[-1][1], 3, "clients")
            equal(sum(m[0] == Successor.CLIENT for m in said), 3, "with a descriptor each")
            three[2].say("list")  # while all stand still
        if step.startswith("adopted"):
            one.send(*((Successor.READY,) if step == "adopted wrongly" else (Successor.ADOPTED, 2)))
            equal(one.until(Successor.REFUSED)[-1][3], "that makes no sense", "in words")
        one.die()
        if step != "ready":
            while three[2].line() != "end":
                pass
        goes_on(broker, *three)
        broker.kill()


def one_is_cut_off():
    """a client hangs up while all stand still: the old one takes all back, or the new one sees its end"""
    broker = Pair("cores=1")
    holder, waiter, idle = crowd_of_three(broker)
    one = Successor(broker.handover)
    one.ready(MAIN)
    one.until(Successor.PASSED)
    holder.close()
    one.die()
    waiter.granted()
    equal(idle.ask("ping"), "pong", "it goes on")


def drain_on_the_way():
    """SIGTERM while all stand still: nothing is passed on, and it drains"""
    broker = Pair("cores=1")
    holder, waiter, idle = crowd_of_three(broker)
    one = Successor(broker.handover)
    one.ready(MAIN)
    one.until(Successor.PASSED)
    broker.send_signal(signal.SIGTERM)
    equal(one.until(Successor.REFUSED)[-1][3], "it drains", "in words")
    for c in (waiter, idle):
        require(c.line().startswith("refused draining: "), "draining")
    holder.close()
    broker.ended()
    require(not os.path.exists(broker.path), "no other process listens at its path")


def too_few_descriptors():
    """no descriptor is left to keep the gate's socket open with: nothing is taken over, and the gate goes on"""
    broker = Pair("cores=1")
    three = crowd_of_three(broker)
    one = Successor(broker.handover)
    one.choose(MAIN)
    pid, limit = broker.process.pid, resource.RLIMIT_NOFILE
    used = max(map(int, os.listdir(f"/proc/{pid}/fd"))) + 1
    before = resource.prlimit(pid, limit)
    resource.prlimit(pid, limit, (used, before[1]))
    one.send(Successor.READY)
    equal(one.until(Successor.REFUSED)[-1][3], "there is no memory, or there are too few descriptors", "in words")
    resource.prlimit(pid, limit, before)
    goes_on(broker, *three)


def reload_on_the_way():
    """a reload while all stand still: the gate accepts no client that nobody would pass on"""
    broker = Pair("cores=1")
    three = crowd_of_three(broker)
    one = Successor(broker.handover)
    one.ready(MAIN)
    number = one.until(Successor.PASSED)[-1][1]
    equal(broker.http("POST", "/reload")[0], 200, "it has reloaded")
    late = broker.client("take cores=1")
    one.send(Successor.ADOPTED, number)
    one.until(Successor.GO)
    listener = next(l for l in map(lambda fd: socket.socket(fileno=os.dup(fd)), one.fds)
                    if l.getsockname() == broker.path and l.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
    listener.settimeout(LIMIT)
    equal(Client.of(listener.accept()[0]).line(), "take cores=1", "the successor accepts it")
    late.close()
    for c in three:
        c.close()


def claims_go_along():
    """the gate has just begun and clients may still claim: they may in the next process, and nothing is granted before"""
    broker = Pair("cores=1", claim="3s")
    waiter = broker.client("take cores=1")
    equal(waiter.line(), "queued 1", "until claims are over")
    after = broker.next()
    broker.ended()
    holder = after.client("claim cores=1")
    require(holder.line().startswith("granted"), "it is claimed")
    wait_until(lambda: "claims are over" in after.said(), "the time is over")
    equal(after.kinds()["cores"], {"limit": 1, "held": 1, "free": 0}, "it is held")
    holder.close()
    waiter.granted()


def claims_again(path, label):
    """Connect until somebody is there, and claim."""
    one = Claimer(path, label)
    one.held = "cores=1"
    one.again()
    return one.c


def new_dies_after_go():
    """the new one dies after GO: the old one accepts again, and clients claim there"""
    up = Upstream(hold=0)
    broker = Pair("cores=1", claim="6s", gates=2,
                  tail=f"[gate tcp]\nlisten = 127.0.0.1:0\nto = 127.0.0.1:{up.port}\nlimit = 1")
    holder, waiter, idle = (broker.client() for _ in range(3))
    require(holder.ask("claim cores=1 label=h").startswith("granted"), "as it held before")
    equal(waiter.ask("take cores=1"), "queued 1", "it waits")
    wait_until(lambda: "claims are over" in broker.said(), "those after the start")
    stays = connect(broker.by_name["tcp"])  # so that the old one does not end
    wait_until(lambda: up.count() == 1, "a client is there")
    one = Successor(broker.handover)
    one.ready(MAIN)
    one.send(Successor.ADOPTED, one.until(Successor.PASSED)[-1][1])
    one.until(Successor.GO)
    one.die()
    for c in (holder, waiter, idle):
        with contextlib.suppress(ConnectionResetError):
            equal(c.line(), None, "its connection has ended")
    waiter = Claimer(broker.path, "w").c
    equal(waiter.ask("take cores=1"), "queued 1", "a take waits until claims are over")
    holder = claims_again(broker.path, "h")
    wait_until(lambda: broker.said().count("claims are over") == 2, "the time is over")
    equal(broker.kinds()["cores"], {"limit": 1, "held": 1, "free": 0}, "it is held")
    holder.close()
    waiter.granted()
    stays.close()


class Predecessor:
    """The process before, as far as the test wants it to be one: it has one client."""

    def __init__(self, at):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(at)
        self.listener.listen()
        self.listener.settimeout(LIMIT)
        self.ours, self.theirs = socket.socketpair()
        at_end.callback(self.listener.close)

    def accept(self, record):
        """Until the new one could be told to go."""
        s, _ = self.listener.accept()
        self.talk = Successor.of(s)
        require((m := self.talk.receive()) and m[0] == Successor.HELLO, f"hello {m}")
        self.talk.send(Successor.OFFERED, 0)
        self.talk.until(Successor.READY)
        self.talk.send(Successor.PASSES, 1, "main")
        socket.send_fds(s, [struct.pack("!BIHH", Successor.CLIENT, len(record), 4, 0) + b"main"],
                        [self.theirs.fileno()])
        for at in range(0, len(record), 512):
            self.talk.send(Successor.PART, text=record[at:at + 512])
        self.talk.send(Successor.PASSED, 1)

    def client(self):
        client = Client.of(self.ours)
        self.ours.settimeout(LIMIT)
        return client


def record(stand=2, amounts=(("cores", 1),), told=0, line=b"", out=b"", left=(1 << 64) - 1):
    numbers = [stand, 7, told, 0, 0, 0, 0, left, len(amounts)]
    texts = [b"l", b"", b"", line, out]
    return " ".join([str(n) for n in numbers] + [f"{kind}={n}" for kind, n in amounts] +
                    ["x" + text.hex() for text in texts])


def alone(home, claim="0", wait=False):
    return Pair("cores=1", claim=claim, home=home, take=os.path.join(home, "before"), wait=wait)


def old_dies_before_go():
    """the old one dies when all was sent, but for GO: the new one goes on alone, and clients claim there"""
    home = scratch()
    before = Predecessor(os.path.join(home, "before"))
    after = alone(home, "6s")
    before.accept(record())
    before.talk.until(Successor.ADOPTED)
    wait_until(lambda: "claims are over" in after.said(), "those after the start")
    before.theirs.close()
    before.talk.die()
    after.ready()
    equal(before.client().line(), None, "the connection has ended with its process")
    waiter = after.client("take cores=1")
    equal(waiter.line(), "queued 1", "a take waits until claims are over")
    holder = claims_again(after.path, "h")
    holder.close()
    waiter.granted()


def what_a_record_says():
    """each kind of client as its record says; and one that makes no sense is refused"""
    for what, text, said in (
            ("holds", record(), ["given"]),
            ("waits", record(1, told=3), ["queued 1", "granted cores=1 id=7 wait_ms="]),
            ("may wait no more", record(1, (("cores", 2),)), ["queued", "refused impossible: cores: 2 asked for"]),
            ("idle", record(0, (), line=b"pi", out=b"of a line\n"), ["of a line", "pong"])):
        home = scratch()
        before = Predecessor(os.path.join(home, "before"))
        after = alone(home)
        before.accept(text)
        before.talk.until(Successor.ADOPTED)
        before.talk.send(Successor.GO)
        before.theirs.close()
        client = before.client()
        if what == "holds":
            client.say("give")
        if what == "idle":
            client.say("ng")
        heard = [client.line()]
        while not heard[-1].startswith(said[-1]):
            heard.append(client.line())
        require(heard[-1].startswith(said[-1]), f"{what}: {heard}")
        after.kill()
    for wrong in ("", "x", record() + " ", record()[:-1], record(9), record(line=b"x" * 1024), record(2, ()),
                  record(amounts=(("cores", 0),)), record(amounts=(("cores", 1), ("cores", 1)))):
        home = scratch()
        before = Predecessor(os.path.join(home, "before"))
        after = alone(home)
        with contextlib.suppress(OSError):
            before.accept(wrong)
        require(after.process.wait(LIMIT) != 0, f"{wrong}: it does not start")
        require("makes no sense" in after.said(), f"{wrong}: {after.said()}")


# ---- under load ----

def restarts_under_load():
    """restarts while processes are killed: never above the limits, in order, nothing is lost, and no connection ends"""
    broker = Pair(f"cores={LIMITS[0]} memory={LIMITS[1]}", more="clients = 200")
    dice, restarts = random.Random(11), many(6, 60)
    crowd = Crowd(broker.path, 24)
    deaths = 0
    for _ in range(restarts):
        before, broker = broker, broker.next(wait=False)
        while not broker.is_ready() or before.alive():
            crowd.replace_one(dice)
            deaths += 1
        before.ended()
    crowd.go_on(100)
    crowd.leave(broker)
    return f"{restarts} restarts, {deaths} deaths, {crowd.ledger.grants} grants"


def either_is_killed():
    """kill -9 of either process at any moment of a restart, under load: what was held is held again, in order"""
    claim = "8s"  # longer than a busy machine stands still
    first = Pair(f"cores={LIMITS[0]} memory={LIMITS[1]}", claim="0")
    broker = first.next(claim=claim)  # whose clients can claim when they come back to it, and need not wait now
    first.ended()
    dice, kills, size = random.Random(5), many(3, 30), 12
    crowd = Crowd(broker.path, size, claiming_life)

    for _ in range(kills):
        crowd.go_on(20)
        broker.ready()
        after = broker.next(wait=False, claim=claim)
        crowd.pass_time(dice.random() * 0.12)
        victim, other = dice.choice(((broker, after), (after, broker)))
        victim.send_signal(signal.SIGKILL)
        victim.process.wait()
        crowd.hear()  # what they have said already
        grants = crowd.ledger.grants
        end = time.monotonic() + LIMIT
        while crowd.ledger.grants <= grants + size:  # until one is served that was not before
            require(time.monotonic() < end, f"they go on: {other.said()}")
            crowd.pass_time(0.01)
            if not other.alive():
                other = broker.next(wait=False, claim=claim, ended=True)
        broker = other
    crowd.leave(broker)
    return f"{kills} kills, {crowd.ledger.grants} grants"


run_tests([], all_states, half_a_line, half_a_list, deadlines, lower_limits, tenants, listeners, several_times,
          tls_stays, a_kind_is_gone, new_dies_before_go, one_is_cut_off, drain_on_the_way, too_few_descriptors,
          reload_on_the_way, claims_go_along, new_dies_after_go, old_dies_before_go, what_a_record_says,
          restarts_under_load, either_is_killed)
