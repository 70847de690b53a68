#!/usr/bin/env python3
"""kit_cuts_test.py DIRECTORY [test]...: what zookeeper_kit.py says that it does: servers that are cut off
or stopped, and the sequence."""

from zookeeper_kit import *


def test_cut_off():
    """a follower that is cut off: its clients reach it, it cannot write, and it comes back"""
    with ZooKeepers(3, sync_ticks=6) as zks:
        leader = zks.serving(3)
        one, other = zks.followers()
        with Zk(zks.address) as zk:
            zk.create("/a", "before")
        inside = Zk(zks[one].address)
        inside.sync()
        zks.cut(one)
        with Zk(zks[other].address) as zk:
            zk.set("/a", "after")
        equal(inside.get("/a")[0], b"before", "read from the one that is cut off")
        inside.drop()
        wait_until(lambda: zks[one].mode() is None, "the one that is cut off does not serve any more")
        equal(zks.leader(), leader, "the leader of the other two")
        zks.heal(one)
        zks.serving(3)
        with Zk(zks[one].address) as zk:
            equal(zk.get("/a")[0], b"after", "read after it was healed")


def test_cut_leader():
    """a leader that is cut off: the other two elect one of them, and it follows that one when it is back"""
    with ZooKeepers(3, tick_ms=250) as zks:
        leader = zks.serving(3)
        zks.cut(leader)
        wait_until(lambda: zks.leader() not in (None, leader), "another leader")
        with Zk(zks[zks.leader()].address) as zk:
            zk.create("/a")
        zks.heal(leader)
        zks.serving(3)
        require(zks.leader() != leader, "the one that was cut off leads again")
        with Zk(zks[leader].address) as zk:
            require(zk.stat("/a"), "what was written without it")


def test_pause():
    """a server that is stopped with SIGSTOP answers nothing; the others serve; it goes on"""
    with ZooKeepers(3, tick_ms=250, fsync=False) as zks:
        leader = zks.serving(3)
        zks[leader].pause()
        wait_until(lambda: zks.leader() not in (None, leader), "another leader")
        equal(zks[leader].ask("ruok", 0.2), "", "the answer of the one that is stopped")
        zks[leader].go_on()
        zks.serving(3)


def test_sequence():
    """the sequence is set: after 2147483647 the server gives the same number again"""
    with ZooKeepers(3, fsync=False) as zks:
        with Zk(zks.address) as zk:
            zk.create("/q")
            equal(zk.create("/q/a-", flags=Zk.SEQUENCE), "/q/a-0000000000", "the first")
        zks.sequence("/q", 2147483646)
        with Zk(zks.address) as zk:
            equal(zk.children("/q"), ["a-0000000000"], "what was there")
            names = [zk.create(f"/q/{name}-", flags=Zk.SEQUENCE) for name in "bcd"]
            equal(names, ["/q/b-2147483646", "/q/c-2147483647", "/q/d-2147483647"], "one after the other")
            names = zk.multi(*(("create", f"/q/{name}-", "", Zk.SEQUENCE) for name in "efg"))
            equal(names, ["/q/e-2147483647", "/q/f--2147483648", "/q/g--2147483647"], "in one multi")


if __name__ == "__main__":
    need_servers()
    run_tests([], test_cut_off, test_cut_leader, test_pause, test_sequence)
