#!/usr/bin/env python3
"""real_test.py DIRECTORY [--whole] [test]...: hosts of one semaphore on three ZooKeeper servers, while
servers and hosts are killed, stopped and cut off; their histories are checked at the end of each.

In its short form: what was stopped writes too late, and one more test of those that take ten seconds
at most, another one each day (VOLT_TEST_SEED decides instead)."""

import random

from hosts_kit import *


ENONODE, EERA = -515, -519  # of volt/cluster.h


def ensemble(count=3, **named):
    zks = ZooKeepers(count, **{"tick_ms": TICK_MS, "fsync": False, **named})
    zks.serving(count)
    return zks


def followers_first(zks):
    leader = zks.serving(len(zks.servers))
    return [*zks.followers(), leader]


# ---- servers ----

def test_servers_killed():
    """each server is killed in its turn, the leader last, and comes back"""
    run = Run(ensemble())
    run.hosts(3, hold_ms=60)
    for number in followers_first(run.zks):
        run.zks[number].kill()
        run.progress()
        run.zks[number].start()
        run.zks.serving(3)
    run.progress()
    return run.finish()


def test_leader_killed():
    """the leader of the moment is killed, three times"""
    run = Run(ensemble())
    run.hosts(3, hold_ms=60, patience_ms=500)
    for _ in range(3):
        leader = run.zks.serving(3)
        run.zks[leader].kill()
        run.progress()
        run.zks[leader].start()
    return run.finish()


def test_child_of_fork():
    """a child of a host has no permit: by fork(), and by the system call"""
    zks = ensemble(1)
    program_of_c = os.path.join(program(), "cluster_forked")
    said = subprocess.run([program_of_c, zks.address], stdout=subprocess.PIPE, text=True, timeout=120).stdout
    require(said.strip() == "ok", said)
    return "a permit is not valid in a child, and an acquire aborts"


def test_leader_stopped():
    """the leader is stopped by SIGSTOP: another one leads; it goes on, and follows"""
    run = Run(ensemble())
    run.hosts(3, hold_ms=60)
    leader = run.zks.serving(3)
    run.zks[leader].pause()
    wait_until(lambda: run.zks.leader() not in (None, leader), "another leader")
    run.progress()
    run.zks[leader].go_on()
    run.zks.serving(3)
    run.progress()
    return run.finish()


def test_two_stopped_briefly():
    """two of three servers are stopped for less than a session: nothing but delay"""
    run = Run(ensemble(tick_ms=500))
    hosts = run.hosts(3, hold_ms=60, session_ms=8000)
    before = [host.stats() for host in hosts]
    pair = run.zks.followers()
    for number in pair:
        run.zks[number].pause()
    time.sleep(0.8)  # less than the two ticks for which a leader waits, too
    for number in pair:
        run.zks[number].go_on()
    run.progress()
    for host, then in zip(hosts, before):
        now = host.stats()
        equal(now["session"], then["session"], f"session of {host.name}")
        equal(host.count("lost"), 0, f"permits of {host.name} that were lost")
    return run.finish()


def test_two_stopped_long():
    """two of three servers are stopped for more than a session: every permit is lost in time, waiting
    tasks stay in the queue, and all goes on when they are back"""
    run = Run(ensemble())
    hosts = run.hosts(3, hold_ms=60)
    for host in hosts:
        host.tell("hold 3600000")
    wait_until(lambda: sum(len(host.held()) for host in hosts) == run.limit, "all is held")
    pair = run.zks.followers()
    for number in pair:
        run.zks[number].pause()
    for host in hosts:
        wait_until(lambda: not host.held(), f"{host.name} knows that all its permits are lost")
    time.sleep(SESSION)
    since = boot_ns()
    for host in hosts:
        equal(host.held(), {}, f"permits of {host.name} while no majority serves")
        host.tell("hold 60")
    for number in pair:
        run.zks[number].go_on()
    run.progress(since=since)
    require(sum(host.count("lost") for host in hosts) > 0, "permits were lost")
    return run.finish()


def test_follower_cut_off():
    """a follower that is cut off goes on answering: the host behind it knows that its permits are lost
    before another host has them"""
    run = Run(ensemble(sync_ticks=60), limit=2)
    leader = run.zks.serving(3)
    one, other = run.zks.followers()
    behind = run.start("behind", servers=run.zks[one].address, hold_ms=60000, tasks=4)
    wait_until(lambda: len(behind.held()) == 2, "it has both permits")
    beside = run.start("beside", servers=f"{run.zks[leader].address},{run.zks[other].address}", hold_ms=60)
    begun = boot_ns()
    run.zks.cut(one)
    run.progress([beside])
    took = (boot_ns() - begun) / 1e9
    equal(run.zks[one].mode(), "follower", "what the server says that is cut off")
    require(behind.count("lost", begun) == 2, "both are known to be lost")
    run.zks.heal(one)
    behind.tell("hold 60")
    run.zks.serving(3)
    run.progress([behind])
    return f"others had the slots after {took:.1f} s (session {SESSION} s); {run.finish()}"


def test_lost_replies():
    """connections are cut when requests have arrived and replies have not: done, and not known"""
    run = Run(ensemble())
    links = [Link(server.port) for server in run.zks.servers]
    hosts = run.hosts(3, hold_ms=40, servers=",".join(link.address for link in links))
    for i in range(many(6, 40)):
        time.sleep(0.05)
        for link in links:
            link.cut_back()
        time.sleep(0.03 * (i % 3))
        for link in links:
            link.reset()
            link.heal()
        run.progress(permits=1)
    require(all(host.stats()["reconnects"] > 1 for host in hosts), "they have connected again")
    return run.finish()


# ---- hosts ----

def test_hosts_killed():
    """hosts are killed with permits in use: others have their slots after the session and a tick"""
    run = Run(ensemble(), limit=2)
    took = []
    for i in range(3):
        victim = run.start(f"victim{i}", hold_ms=3600000, tasks=2)
        wait_until(lambda: len(victim.held()) == 2, "it has both permits")
        other = run.start(f"other{i}", hold_ms=40, tasks=2, quantum_ms=3600000)
        wait_until(lambda: other.stats()["queued"], "another host queues")
        since = boot_ns()
        run.kill(victim)
        run.progress([other], since, permits=4)
        took.append((min(at for at, what, _ in other.look() if what == "acquired") - since) / 1e9)
        other.end("close")
    # The session may have been heard of last up to a third of it before the kill, or just then.
    in_time(max(took), SESSION + 2 * TICK_MS / 1000 + 1, "others had the slots")
    return f"others had the slots after {', '.join(f'{t:.2f}' for t in took)} s; {run.finish()}"


def longest_gap(hosts, since, until):
    """The longest time in which none of these hosts got a permit, in seconds."""
    times = [at for host in hosts for at, what, _ in host.look() if what == "acquired" and since <= at <= until]
    times = [since, *sorted(times), until]
    return max(b - a for a, b in zip(times, times[1:])) / 1e9


def test_waiters_killed():
    """hosts are killed while they are in the queue: those behind them are served when the session has ended"""
    run = Run(ensemble(1), limit=2)
    hosts = run.hosts(2, hold_ms=40, tasks=4)
    gaps = []
    for i in range(many(2, 6)):
        victim = run.start(f"victim{i}", hold_ms=40, tasks=4)
        run.progress([victim])
        wait_until(lambda: victim.stats()["queued"], "it is in the queue")
        since = boot_ns()
        run.kill(victim)
        time.sleep(SESSION + 2 * TICK_MS / 1000)
        run.progress(hosts)
        gaps.append(longest_gap(hosts, since, boot_ns()))
    in_time(max(gaps), SESSION + 2 * TICK_MS / 1000 + 1, "there was a permit")
    return f"no permit for {', '.join(f'{gap:.2f}' for gap in gaps)} s; {run.finish()}"


def stop_one_with_permits(run, hosts):
    """Stops a host when it has permits for which nothing has been written at the end."""
    for _ in range(1000):
        host = hosts[0]
        wait_until(host.held, f"{host.name} has permits")
        run.pause(host)
        if host.held():
            return host
        host.go_on()
    raise AssertionError("never stopped with a permit")


def test_hosts_stopped():
    """a host is stopped with permits for longer than its session: its late writes are refused"""
    run = Run(ensemble(), limit=2)
    hosts = run.hosts(2, hold_ms=300, tasks=4, careless=4)
    for i in range(many(1, 4)):
        host, other = hosts if i % 2 == 0 else hosts[::-1]
        stop_one_with_permits(run, [host])
        slots = {v["slot"] for v in host.held().values()}
        since = boot_ns()
        for slot in slots:
            wait_until(lambda: other.count("acquired", since + int(SESSION_MS / 2 * MS), slot=slot) >= 2,
                       f"{other.name} has slot {slot}, which {host.name} had")
        since = boot_ns()
        host.go_on()
        wait_until(lambda: host.count("wrote", since, verdict="refused"), "a late write is refused")
        run.progress()
    said = run.finish()
    taken, refused = history.late_writes(run.history())
    require(refused > 0, "late writes were attempted")
    return said


def test_without_fence():
    """the same with a resource that checks nothing: the late write is taken, and the history is refused
    for it; so these tests can fail"""
    run = Run(ensemble(1), limit=1, checks=False)
    host, other = run.hosts(2, hold_ms=300, tasks=2, careless=2)
    stop_one_with_permits(run, [host])
    since = boot_ns()
    wait_until(lambda: other.count("acquired", since + int(SESSION_MS / 2 * MS)) >= 2, "the other has the slot")
    host.go_on()
    run.progress()
    for one in (host, other):
        one.end()
    complaints = history.check(run.history())
    require(complaints and all(c.startswith("resource_in_order") for c in complaints), f"complaints: {complaints[:3]}")
    require(history.late_writes(run.history())[0] > 0, "a late write was taken")


def test_closed():
    """hosts close while their tasks wait and hold: each wait has an outcome, and others have the slots"""
    run = Run(ensemble(1))
    for i in range(many(3, 10)):
        hosts = [run.start(hold_ms=200, tasks=6, patience_ms=100), run.start(hold_ms=20, tasks=6)]
        run.progress(hosts)
        hosts[i % 2].end("close")
        hosts[(i + 1) % 2].end(("close", "quit")[i // 2 % 2])
    return run.finish()


def test_idle():
    """a host without demand gives its slots back, and then writes nothing"""
    run = Run(ensemble(1))
    host = run.start(hold_ms=20, tasks=4, session_ms=20000)
    run.progress([host])
    host.tell("demand 0")
    wait_until(lambda: host.stats()["leased"] == 0, "it leases nothing")
    before = host.stats()
    time.sleep(2 * SESSION)
    after = host.stats()
    equal(after["writes"], before["writes"], "writes while nothing was wanted")
    equal(after["session"], before["session"], "the session, which is kept by reads")
    host.tell("demand 4")
    run.progress([host])
    return f"{after['reads'] - before['reads']} reads in {2 * SESSION:.0f} s; {run.finish()}"


def test_herd():
    """many hosts in the queue: a host that leaves it, or gives slots back, is an event for few others"""
    run = Run(ensemble(1), limit=3)
    hosts = run.hosts(8, hold_ms=30, tasks=3, session_ms=20000)

    def totals():
        stats = [host.stats() for host in hosts]
        epochs = {v["epoch"] for host in hosts for _, what, v in host.look() if what == "acquired"}
        return [sum(s["events"] for s in stats), sum(s["returns"] for s in stats) + len(epochs),
                sum(s["writes"] - s["heartbeats"] for s in stats)]
    before = totals()
    wait_until(lambda: totals()[1] - before[1] >= many(60, 400), "hosts come and go")
    # The hosts were not asked at one moment: each may have seen one more come and go.
    events, departures, writes = (now - then for now, then in zip(totals(), before))
    require(events <= 2 * departures + 2 * len(hosts), f"{events} events for {departures} departures")
    return f"{events} events, {writes} writes for {departures} departures; {run.finish()}"


# ---- the node ----

def test_limit_changes():
    """the limit is raised and lowered, by hand and by a host, while all is in use"""
    run = Run(ensemble(1), limit=4)
    hosts = run.hosts(3, hold_ms=60, tasks=8)
    for limit in (9, 2, 6, 1, 4) if whole() else (9, 2, 4):
        run.limit_to(limit)
        for host in hosts:
            wait_until(lambda: host.stats()["limit"] == limit, f"{host.name} knows the limit {limit}")
        wait_until(lambda: sum(len(host.held()) for host in hosts) <= limit, "no more are held than that")
        if limit > 2:
            run.progress(hosts)
    before = boot_ns()
    run.limits.append((before, 5))
    hosts[0].tell("limit 5")
    wait_until(lambda: hosts[0].count("limit", limit=5, result=0), "a host changes the limit")
    run.limit = 5
    with Zk(run.zks.address) as zk:
        data = zk.get(run.path)[0].decode()
        require("\nlimit 5\n" in data, f"the node says so: {data}")
        run.limits.append((boot_ns(), 6))
        zk.set(run.path, " ".join(data.replace("limit 5", "limit 6").split()))  # as one types it in a shell
        run.limit = 6
    for host in hosts:
        wait_until(lambda: host.stats()["limit"] == 6, f"{host.name} knows the limit that was typed")
    run.progress(hosts)
    return run.finish()


def delete_all(zk, path):
    for _ in range(1000):
        try:
            for child in zk.children(path):
                delete_all(zk, f"{path}/{child}")
            return zk.delete(path)
        except ZkError as e:
            if e.code == -101:
                return None
            require(e.code == -111, f"{path}: {e}")  # not empty: a host was faster
    raise AssertionError(f"{path} cannot be deleted")


def test_node_deleted():
    """the node is deleted by hand: a host that has a limit makes it again, one without does not"""
    run = Run(ensemble(1))
    guest = run.start("guest", limit=0, hold_ms=60)
    time.sleep(0.5)
    equal(guest.count("acquired"), 0, "permits where there is no node")
    with Zk(run.zks.address) as zk:
        require(zk.stat(run.path) is None, "the one without a limit has made the node")
        owner = run.start("owner", hold_ms=60)
        run.progress()
        at = boot_ns()
        delete_all(zk, run.path)
        wait_until(lambda: zk.stat(run.path), "the node is made again")
        # All leases that are older than the new node are gone, and may be others' at once.
        run.voids.append((zk.stat(run.path).czxid, at))
        run.progress()
        guest.tell("demand 0")
        owner.end()
        wait_until(lambda: guest.stats()["leased"] == 0, "nothing is leased")
        delete_all(zk, run.path)
        wait_until(lambda: guest.stats()["result"] == ENONODE, "the guest says that there is no node")
        require(zk.stat(run.path) is None, "the one without a limit has made the node")
        guest.tell("demand 8")
    return run.finish()


def test_sequence():
    """numbers of nodes that are near their end: the order holds over it"""
    zks = ensemble()
    run = Run(zks)
    hosts = run.hosts(2, hold_ms=40)
    for host in hosts:
        host.end()
    for i, number in enumerate((2**30 - 3, 2**31 - 2)):
        with Zk(zks.address) as zk:
            generation = int(re.search(rb"^queue (\d+)$", zk.get(run.path)[0], re.M)[1])
            equal(generation, i, "generation of the queue")
        for name in "qh":
            zks.sequence(f"{run.path}/{name}{generation}", number)
        more = [run.start(f"after{i}-{j}", hold_ms=40) for j in range(3)]
        run.progress(more, permits=many(10, 100))
        for host in more:
            host.end()
    with Zk(zks.address) as zk:
        names = zk.children(run.path)
    require("q0" not in names and "q1" not in names, f"directories that are not used any more: {names}")
    return run.finish()


def test_new_ensemble():
    """a new, empty ensemble under running hosts: they lease nothing until the era is raised"""
    zks = ensemble()
    run = Run(zks)
    hosts = run.hosts(2, hold_ms=60)
    with Zk(zks.address) as zk:
        for i in range(1000):  # so that the new one is behind for a while
            zk.set("/volt", str(i))
    run.limit_to(5)  # a transaction that each host sees
    for host in hosts:
        wait_until(lambda: host.stats()["limit"] == 5, f"{host.name} has seen it")
    zks.kill()
    for host in hosts:
        wait_until(lambda: not host.held(), f"{host.name} knows that its permits are lost")
    for server in zks.servers:
        shutil.rmtree(os.path.join(server.directory, "version-2"))
    since = boot_ns()
    zks.start()
    zks.serving(3)
    wait_until(lambda: any(host.stats()["result"] == EERA for host in hosts), "a host refuses the new ensemble")
    time.sleep(SESSION)
    equal(sum(host.count("acquired", since) for host in hosts), 0, "permits of an ensemble that is older")
    run.edit(era=2, limit=5)
    run.progress(hosts)
    eras = {v["era"] for host in hosts for at, what, v in host.look() if what == "acquired" and at >= since}
    equal(eras, {2}, "the era of the fences")
    return run.finish()


# ---- all of it, by chance ----

def test_by_chance():
    """servers and hosts, whatever comes, for a while"""
    seed = int(os.environ.get("VOLT_TEST_SEED") or 1)
    chance = random.Random(seed)
    run = Run(ensemble(), limit=5)
    run.hosts(4, hold_ms=80, tasks=6, careless=3, patience_ms=400)
    end = time.monotonic() + many(10, 60)
    down = []

    def hurt_server():
        if not down:
            server = run.zks[chance.choice(run.zks.numbers())]
            how = chance.choice(("kill", "pause"))
            getattr(server, how)()
            down.append((server, how))

    def mend():
        while down:
            server, how = down.pop()
            server.start() if how == "kill" else server.go_on()
        run.zks.serving(3)

    def stop_host():
        host = chance.choice(run.running())
        run.pause(host)
        time.sleep(chance.uniform(0, 2 * SESSION))
        host.go_on()

    def kill_host():
        run.kill(chance.choice(run.running()))
        run.start(hold_ms=80, tasks=6, careless=3)

    def close_host():
        chance.choice(run.running()).end(chance.choice(("close", "quit")))
        run.start(hold_ms=80, tasks=6)

    def change_limit():
        mend()
        run.limit_to(chance.randint(1, 8))

    while time.monotonic() < end:
        chance.choice((hurt_server, mend, stop_host, kill_host, close_host, change_limit))()
        time.sleep(chance.uniform(0, 0.5))
    mend()
    if run.limit < 4:
        run.limit_to(4)
    run.progress()
    return f"seed {seed}; {run.finish()}"


ALL = (test_hosts_stopped, test_without_fence, test_hosts_killed, test_waiters_killed, test_closed, test_idle,
       test_herd, test_child_of_fork, test_servers_killed, test_leader_killed, test_leader_stopped, test_two_stopped_briefly,
       test_two_stopped_long, test_follower_cut_off, test_lost_replies, test_limit_changes, test_node_deleted,
       test_sequence, test_new_ensemble, test_by_chance)
LONG = test_leader_killed, test_sequence, test_new_ensemble, test_by_chance


def those_of_today():
    if whole() or any(not word.startswith("-") for word in sys.argv[2:]):
        return ALL
    number = int(os.environ.get("VOLT_TEST_SEED") or time.time() // 86400)
    short = [test for test in ALL[1:] if test not in LONG]
    return ALL[0], short[number % len(short)]


if __name__ == "__main__":
    need_servers()
    run_tests([], *those_of_today())
