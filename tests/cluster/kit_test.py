#!/usr/bin/env python3
"""kit_test.py DIRECTORY [test]...: what zookeeper_kit.py says that it does: servers that are killed, the
client and its link, the program."""

from zookeeper_kit import *


def test_kill_the_leader():
    """three servers: written through one and read through another, also after the leader was killed"""
    with ZooKeepers(3) as zks:
        leader = zks.serving(3)
        one, other = zks.followers()
        equal(zks.leader(), leader, "the leader")
        with Zk(zks[one].address) as writer, Zk(zks[other].address) as reader:
            writer.create("/a", "before")
            reader.sync()
            equal(reader.get("/a")[0], b"before", "read through the other follower")
        zks[leader].kill()
        after = zks.serving(2)
        require(after != leader, f"server {leader} leads, and was killed")
        with Zk(zks[one].address) as writer, Zk(zks[other].address) as reader:
            writer.set("/a", "after")
            reader.sync()
            equal(reader.get("/a")[0], b"after", "read after the leader was killed")
            zks[leader].start()
            zks.serving(3)
            with Zk(zks[leader].address) as returned:
                equal(returned.get("/a")[0], b"after", "read from the server that came back")


def test_lost_reply():
    """a link that is cut on the way back: the write is done, and its reply is lost"""
    with ZooKeepers(1) as zks:
        link = Link(zks[1].port)
        with Zk(zks.address) as looks:
            zk = Zk(link.address)
            zk.create("/a")
            link.cut_back()
            failed = threading.Event()

            def create():
                try:
                    zk.create("/lost")
                except OSError:
                    failed.set()
            thread = threading.Thread(target=create)
            thread.start()
            wait_until(lambda: looks.stat("/lost"), "the node is made")
            require(not failed.is_set() and thread.is_alive(), "the reply came")
            link.reset()
            link.heal()
            thread.join(LIMIT)
            require(failed.is_set(), "the connection was not lost")
            with Zk(link.address) as again:
                require(again.stat("/lost"), "the same through the link")


def test_client():
    """the client: ephemeral nodes go with their session, a multi is all or none, an ACL is asked for"""
    with ZooKeepers(1, tick_ms=100) as zks:
        with Zk(zks.address) as zk:
            short = Zk(zks.address, session_ms=400)
            short.create("/e", "x", Zk.EPHEMERAL)
            equal(zk.stat("/e").owner, short.session[0], "whose it is")
            zk.create("/n")
            for wrong, code in ((("create", "/n"), -110), (("check", "/none"), -101),
                                (("check", "/n", 7), -103)):
                try:
                    zk.multi(("create", "/m"), wrong)
                    raise AssertionError(f"a multi with {wrong} was done")
                except ZkError as e:
                    equal(e.code, code, f"a multi with {wrong}")
            equal(zk.stat("/m"), None, "what failed with the rest")
            equal(zk.multi(("create", "/m", "y", Zk.SEQUENCE), ("check", "/n"))[0], "/m0000000002", "name")
            time.sleep(0.8)  # two sessions of the other: it is kept alive
            require(zk.stat("/e"), "the node of a session that is kept alive")
            short.drop()
            wait_until(lambda: zk.stat("/e") is None, "the node goes with its session")
            owner = Zk(zks.address, auth=("digest", "a:secret"))
            owner.create("/mine", "z", acl=Zk.MINE)
            equal(owner.get("/mine")[0], b"z", "what its owner reads")
            try:
                zk.get("/mine")
                raise AssertionError("somebody else may read it")
            except ZkError as e:
                equal(e.code, -102, "somebody else")
            owner.close()


def test_program():
    """as a program: it serves, obeys and ends with its input"""
    kit = subprocess.Popen([sys.executable, "-B", os.path.join(os.path.dirname(__file__), "zookeeper_kit.py"),
                            "--servers", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    at_end.callback(kit.kill)
    address = re.fullmatch(r"serving (\S+)\n", kit.stdout.readline())[1]

    def tell(line):
        kit.stdin.write(line + "\n")
        kit.stdin.flush()
        return kit.stdout.readline().strip()
    equal(tell("leader"), "ok 1", "leader")
    with Zk(address) as zk:
        zk.create("/a")
    equal(tell("kill 1"), "ok", "kill")
    equal(tell("start 1"), "ok", "start")
    equal(tell("serving"), "ok 1", "serving")
    with Zk(address) as zk:
        require(zk.stat("/a"), "what was there")
    require(tell("nonsense 1").startswith("failed "), "nonsense")
    kit.stdin.close()
    equal(kit.wait(LIMIT), 0, "exit code")


if __name__ == "__main__":
    need_servers()
    run_tests([], test_kill_the_leader, test_lost_reply, test_client, test_program)
