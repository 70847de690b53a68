#!/usr/bin/env python3
"""zookeeper_backend_test.py DIRECTORY [test]...: volt_cluster_zookeeper(), the back end, driven by
tests/cluster/zookeeper_backend.c, with real servers."""

import queue
import resource

from zookeeper_kit import *

PROGRAM = os.path.join(sys.argv[1], "cluster_zookeeper_backend")
SESSION = 4000
# A session of which nothing is heard for a quarter of its time is connected anew. Where that must not
# happen on a machine that is busy, sessions are long.
LONG = 40000


def one_server(**more):
    settings = {"maxSessionTimeout": 60000, **more.pop("settings", {})}
    return ZooKeepers(1, fsync=False, settings=settings, **more)


class Hosts:
    """The program. Lines that it says are kept; those that were asked for are not found again."""

    def __init__(self, workers=2, env=None):
        self.process = subprocess.Popen([PROGRAM, str(workers)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, **(env or {})})
        at_end.callback(self.kill)
        self.lines, self.changed, self.complaints = [], threading.Condition(), []
        self.readers = [threading.Thread(target=self.read, daemon=True),
                        threading.Thread(target=self.read_complaints, daemon=True)]
        for reader in self.readers:
            reader.start()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.end()
        self.kill()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.rstrip("\n"))
                self.changed.notify_all()

    def read_complaints(self):
        self.complaints += list(self.process.stderr)

    def end(self):
        """At the end of its input it closes all hosts, frees all, and says nothing of its own."""
        self.process.stdin.close()
        ended = self.process.wait(60)
        for reader in self.readers:
            reader.join(10)
        equal(ended, 0, f"how the program ended: {''.join(self.complaints)[-6000:]}")
        equal("".join(self.complaints), "", "what it wrote to standard error")
        wrong = [l for l in self.lines if "OUT-OF-ORDER" in l or "inside=0" in l or "since=wrong" in l]
        equal(wrong, [], "callbacks out of order, or from outside of process()")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def find(self, pattern, within=LIMIT):
        """The first line that fits and was not found before; as groups, if there are some."""
        end = time.monotonic() + within
        with self.changed:
            while True:
                for i, line in enumerate(self.lines):
                    found = re.fullmatch(pattern, line)
                    if found:
                        self.lines[i] = "found: " + line
                        return found.groups() or line
                left = end - time.monotonic()
                require(left > 0 and self.changed.wait(left) or time.monotonic() < end,
                        f"no line {pattern}; there were\n  " + "\n  ".join(self.lines[-40:]))

    def count(self, pattern):
        with self.changed:
            return sum(bool(re.fullmatch("(found: )?" + pattern, line)) for line in self.lines)

    def ask(self, line):
        """An order with a tag: what its answer says behind the tag."""
        tag = line.split()[2]
        self.tell(line)
        return self.find(rf"{line.split()[0]} {tag} (.*) inside=.")[0]

    def connect(self, servers, host=0, session=LONG, more=""):
        self.tell(f"{host} open servers={servers} session={session} {more}")
        self.find(f"{host} opened OK")
        self.tell(f"{host} connect")
        return self.find(rf"{host} session NEW (0x\w+) {session} outstanding=0 since=past.*")[0]

    def close(self, host=0, result="OK"):
        """A close waits for a second for its answer: where OK is expected, EAWAY may be this machine's."""
        self.tell(f"{host} close")
        closed = self.find(rf"{host} closed (\w+) outstanding=0")[0]
        require(closed in (result, "EAWAY"), f"closed: {closed}, not {result}")
        self.find(f"{host} gone")
        return closed

    def descriptors(self):
        self.tell("- descriptors")
        count, inherited = self.find(r"- descriptors (\d+) inherited=(\d+)")
        return int(count), int(inherited)


def node(text):
    """created, changed, owner, version"""
    numbers = text.split("node=")[1].split()[0].split(":")
    return [int(n, 16) for n in numbers[:3]] + [int(numbers[3])]


def actions(answer):
    """(result, path, created, changed, owner, version) of each"""
    all_of = [one.split(":") for one in answer.split()[1:]]
    return [(one[0], one[1], int(one[2], 16), int(one[3], 16), int(one[4], 16), int(one[5]))
            for one in all_of]


# ---- requests ----

def test_requests():
    """each request: what it does, what it answers, and each error"""
    with one_server() as zks, Hosts() as hosts, Zk(zks.address) as zk:
        session = int(hosts.connect(zks.address), 16)
        answer = hosts.ask("0 write a create:p:/v:hello")
        result, path, created, changed, owner, version = actions(answer)[0]
        equal((answer.split()[0], path, owner, version), ("OK", "/v", 0, 0), "a node was made")
        equal((zk.get("/v")[0], zk.stat("/v").czxid, changed), (b"hello", created, created), "the node")
        equal(hosts.ask("0 write b create:p:/v:x"), "EEXISTS EEXISTS:/v:0:0:0:0", "made twice")
        equal(hosts.ask("0 write c create:p:/no/where:x"), "ENONODE ENONODE:/no/where:0:0:0:0", "no parent")
        numbered = [actions(hosts.ask(f"0 write d{i} create:es:/v/q-:x"))[0] for i in range(2)]
        equal([one[1] for one in numbered], ["/v/q-0000000000", "/v/q-0000000001"], "names with a number")
        equal([(one[4], one[2] == one[3]) for one in numbered], [(session, True)] * 2, "their owner")
        equal(zk.stat(numbered[1][1]).czxid, numbered[1][2], "the transaction that made it")
        equal(sorted(hosts.ask("0 children e 0 /v").split("names=")[1].split(",")),
              ["q-0000000000", "q-0000000001"], "children")
        equal(hosts.ask("0 children f 0 /v/q-0000000000"), "OK names=", "no children")
        equal(hosts.ask("0 children g 0 /none"), "ENONODE", "children of nothing")
        equal(hosts.ask("0 stat h 0 /none"), "ENONODE", "a node that is not there")
        equal(node(hosts.ask("0 stat i 0 /v/q-0000000001"))[:3], [numbered[1][2]] * 2 + [session], "a stat")
        answer = hosts.ask("0 read j 0 /v")
        equal((node(answer), answer.split("data=")[1]), ([created, created, 0, 0], "hello"), "a read")
        equal(hosts.ask("0 read k 0 /none"), "ENONODE", "a read of nothing")
        equal(hosts.ask("0 touch l"), "OK", "a touch")
        equal(hosts.ask("0 write m set:/v:1:x"), "EVERSION EVERSION:/v:0:0:0:0", "another version")
        equal(hosts.ask("0 write n set:/v:0:x"), "OK OK:/v:0:0:0:0", "this version")
        equal(hosts.ask("0 write o set:/v:-1:y"), "OK OK:/v:0:0:0:0", "any version")
        answer = hosts.ask("0 read p 0 /v")
        equal((node(answer)[3], answer.split("data=")[1]), (2, "y"), "what was set")
        equal(hosts.ask("0 write q set:/none:-1:y"), "ENONODE ENONODE:/none:0:0:0:0", "set nothing")
        equal(hosts.ask("0 write r check:/v"), "OK OK:/v:0:0:0:0", "a check")
        equal(hosts.ask("0 write s check:/none"), "ENONODE ENONODE:/none:0:0:0:0", "a check of nothing")
        equal(hosts.ask("0 write t delete:/v"), "ENOTEMPTY ENOTEMPTY:/v:0:0:0:0", "delete with children")
        equal(hosts.ask("0 write u delete:/none"), "ENONODE ENONODE:/none:0:0:0:0", "delete nothing")
        equal(hosts.ask("0 write v delete:/v/q-0000000000"), "OK OK:/v/q-0000000000:0:0:0:0", "delete")
        equal(zk.children("/v"), ["q-0000000001"], "what is left")
        equal(hosts.ask("0 write w create:p:/v/q-0000000001/x:"), "EINVAL EINVAL:/v/q-0000000001/x:0:0:0:0",
              "a child of an ephemeral node")
        hosts.find(r"0 log W zookeeper: the ensemble answers: .*-108\)")
        answer = hosts.ask("0 write x create:es:/" + 245 * "v" + ":")
        equal(answer.split()[0], "EINVAL", "a path with no room for a number")
        for path in ("v", "/v/", "//v", "/v/../x"):
            answer = hosts.ask(f"0 stat x 0 {path}")
            equal(answer, "EINVAL", f"the path {path}")
        hosts.close()
        wait_until(lambda: zk.children("/v") == [], "ephemeral nodes of a session that was ended are gone")


def test_transactions():
    """all actions of a transaction, or none; which one failed; the transaction's number for each node"""
    with one_server() as zks, Hosts() as hosts, Zk(zks.address) as zk:
        session = int(hosts.connect(zks.address), 16)
        hosts.ask("0 write a create:p:/v:0")
        writes = zk.stat("/v").czxid
        answer = actions(hosts.ask("0 write b create:e:/v/1:one create:e:/v/2:two create:es:/v/h-:h "
                                   "check:/v set:/v:0:x"))
        equal([one[0] for one in answer], ["OK"] * 5, "results")
        equal([one[1] for one in answer[:3]], ["/v/1", "/v/2", "/v/h-0000000002"], "names")
        equal([one[2:5] for one in answer[:3]], [(writes + 1, writes + 1, session)] * 3, "its number")
        for result, path, created, changed, owner, version in answer[:3]:
            stat = zk.stat(path)
            equal((stat.czxid, stat.mzxid, stat.owner, stat.version),
                  (created, changed, owner, version), f"what the ensemble says of {path}")
        equal([zk.get(f"/v/{i}")[0] for i in (1, 2)], [b"one", b"two"], "data")
        before = zk.stat("/v").pzxid
        for wrong, result in (("create:e:/v/2:x", "EEXISTS"), ("delete:/v/nothing", "ENONODE"),
                              ("set:/v:7:x", "EVERSION"), ("check:/v/nothing", "ENONODE")):
            for where in range(3):
                parts = ["delete:/v/1", "create:es:/v/h-:h"]
                parts.insert(where, wrong)
                answer = hosts.ask("0 write c " + " ".join(parts))
                expected = ["EUNDONE"] * 3
                expected[where] = result
                equal([answer.split()[0]] + [one[0] for one in actions(answer)], [result] + expected,
                      f"{wrong} in place {where}")
        equal((zk.stat("/v").pzxid, zk.get("/v/1")[0]), (before, b"one"), "nothing of them was done")
        answer = actions(hosts.ask("0 write d delete:/v/1 delete:/v/2 create:es:/v/h-:h"))
        equal([(one[0], one[2]) for one in answer], [("OK", 0)] * 3, "only numbered nodes: not known")
        # A create that fails in a transaction takes no number.
        equal(sorted(zk.children("/v")), ["h-0000000002", "h-0000000003"], "after it")


def test_order():
    """answers come in the order of the requests, also of those that cannot be sent"""
    with one_server() as zks, Hosts() as hosts:
        hosts.connect(zks.address)
        hosts.ask("0 write a create:p:/v:0")
        orders = []
        for i in range(300):
            orders.append([f"0 write t{i} create:e:/v/{i}:x", f"0 stat t{i} 0 /v/{i - 1}",
                           f"0 read t{i} 0 not-a-path", f"0 children t{i} 0 /v", f"0 touch t{i}"][i % 5])
        hosts.tell("\n".join(orders))
        for i in range(300):
            answer = hosts.find(rf"0 t{i} (\S+).*inside=1")[0]
            equal(answer, ["OK", "OK", "EINVAL", "OK", "OK"][i % 5], f"the answer to {orders[i]}")
        # OUT-OF-ORDER is looked for at the end


# ---- watches ----

def test_watches():
    """each kind of watch fires once, for what it is meant, and for nothing else"""
    with one_server() as zks, Hosts() as hosts, Zk(zks.address) as zk:
        hosts.connect(zks.address)
        zk.create("/v", "0")
        def fires(number, change, what):
            change()
            hosts.find(rf"0 event {number} inside=1")
        hosts.ask("0 stat a 1 /v/x")
        fires(1, lambda: zk.create("/v/x", "0"), "made")
        hosts.ask("0 stat a 2 /v/x")
        fires(2, lambda: zk.set("/v/x", "1"), "set")
        hosts.ask("0 stat a 3 /v/x")
        fires(3, lambda: zk.delete("/v/x"), "deleted")
        hosts.ask("0 children a 4 /v")
        fires(4, lambda: zk.create("/v/x", "0"), "a child comes")
        hosts.ask("0 children a 5 /v")
        fires(5, lambda: zk.delete("/v/x"), "a child goes")
        hosts.ask("0 read a 6 /v")
        fires(6, lambda: zk.set("/v", "1"), "set")
        for kind, number in (("read", 7), ("children", 8)):
            hosts.ask(f"0 {kind} a {number} /v")
        zk.delete("/v")
        hosts.find("0 event 7 inside=1")
        hosts.find("0 event 8 inside=1")
        equal(hosts.ask("0 read a 9 /v"), "ENONODE", "a read that fails")
        equal(hosts.ask("0 children a 10 /v"), "ENONODE", "children that fail")
        for _ in range(3):
            equal(hosts.ask("0 stat a 11 /v"), "ENONODE", "the same watch again")
        zk.create("/v", "0")
        hosts.find("0 event 11 inside=1")
        zk.set("/v", "1")
        zk.create("/v/x")
        # An event comes before the answer of what is asked after it.
        hosts.ask("0 read b 0 /v")
        equal(hosts.count("0 event .*"), 9, "events in all")


def test_watches_again():
    """watches hold over a connection that is lost; what changed meanwhile fires; the loss is no event"""
    with one_server() as zks, Hosts() as hosts, Zk(zks.address) as zk:
        link = Link(zks[1].port)
        hosts.connect(link.address)
        zk.create("/v", "0")
        for number, kind in ((1, "read"), (2, "children"), (3, "read")):
            hosts.ask(f"0 {kind} a {number} {'/' if number == 3 else '/v'}")
        link.cut()
        zk.set("/v", "1")
        link.reset()
        hosts.find(r"0 session AWAY .*outstanding=0 since=0 inside=1")
        link.heal()
        hosts.find(r"0 session AGAIN .*since=past inside=1")
        hosts.find("0 event 1 inside=1")
        hosts.ask("0 touch b")
        equal(hosts.count("0 event .*"), 1, "events so far")
        zk.create("/v/x")
        hosts.find("0 event 2 inside=1")
        hosts.ask("0 touch c")
        equal(hosts.count("0 event .*"), 2, "events in all")


# ---- connections ----

def test_answer_lost():
    """a write that was done and one that was not, when the connection is lost: EAWAY, once, before AWAY"""
    with one_server() as zks, Hosts() as hosts, Zk(zks.address) as zk:
        zk.create("/v")
        link = Link(zks[1].port)
        session = hosts.connect(link.address)
        for way, done in (("cut_back", True), ("cut_forth", False)):
            getattr(link, way)()
            hosts.tell(f"0 write {way} create:e:/v/{way}:x")
            hosts.tell(f"0 read {way}-read 0 /v")
            if done:
                wait_until(lambda: zk.children("/v") == [way], "it is done")
            else:
                wait_until(lambda: hosts.count("0 never .*") == 0, "nothing")
            link.reset()
            equal(hosts.find(rf"0 {way} (.*) inside=1")[0], f"EAWAY EAWAY:/v/{way}:0:0:0:0", way)
            equal(hosts.find(rf"0 {way}-read (.*) inside=1")[0], "EAWAY", f"a read, {way}")
            hosts.find(rf"0 session AWAY {session} .* outstanding=0 .*")
            link.heal()
            hosts.find(rf"0 session AGAIN {session} .* outstanding=0 .*")
            answer = hosts.ask(f"0 stat look 0 /v/{way}")
            equal(answer.split()[0], "OK" if done else "ENONODE", f"whether it was done, {way}")
        equal(hosts.count("0 log W zookeeper: connection to .* lost: .*"), 2, "lines of losses")
        equal(hosts.count("0 log I zookeeper: connected again, .*"), 2, "lines of returns")


def test_reset_under_load():
    """connections that are reset while writes are under way, many times: each is answered, in order"""
    with one_server() as zks, Hosts() as hosts, Zk(zks.address) as zk:
        zk.create("/v")
        link = Link(zks[1].port)
        hosts.connect(link.address)
        rounds, each = many(15, 60), 40
        for i in range(rounds):
            hosts.tell(f"0 burst w{i} {each} /v/{i}-")
            if i % 3 == 0:
                hosts.find(rf"0 w{i} .*inside=1")
            link.reset()
            hosts.tell(f"0 burst w{i} {each} /v/{i}+")
            hosts.find(r"0 session AGAIN .* outstanding=0 .*")
            wait_until(lambda: hosts.count(rf"0 w{i} .*") == 2 * each, f"answers of round {i}")
        done = hosts.count(r"0 w\d+ OK .*")
        lost = hosts.count(r"0 w\d+ EAWAY .*")
        equal(done + lost, 2 * rounds * each, "OK or EAWAY")
        there = len(zk.children("/v"))
        require(done <= there <= done + lost, f"{done} were done for certain, {lost} not; {there} are there")


def test_send_fails():
    """a connection that is lost, which a send finds out: nothing of before goes over the next one"""
    with one_server() as zks, Hosts() as hosts, Zk(zks.address) as zk:
        zk.create("/v")
        link = Link(zks[1].port)
        hosts.connect(link.address)
        for i in range(many(20, 100)):
            hosts.tell("0 stall")
            hosts.find("0 stalled")
            link.reset()
            wait_until(lambda: not link.connections, "the connection has ended")
            hosts.tell(f"0 burst w{i} 40 /v/{i}-")
            hosts.tell("0 go_on")
            hosts.find(r"0 session AWAY .*outstanding=0 .*")
            hosts.find(r"0 session AGAIN .*outstanding=0 .*")
            equal(hosts.count(rf"0 w{i} EAWAY .*"), 40, "answers to what cannot have been done")
            equal(hosts.ask(f"0 touch t{i}"), "OK", "the next connection")
        equal((zk.children("/v"), hosts.count("0 session AWAY .*")), ([], many(20, 100)), "nothing was done")


def test_other_server():
    """a server that is killed, and one that is stopped: another one is asked, in time; with two only, too"""
    with ZooKeepers(3, fsync=False) as zks, Hosts() as hosts:
        leader = zks.serving(3)
        links = {n: Link(zks[n].port) for n in zks.followers()}
        address = ",".join(link.address for link in links.values())
        hosts.tell(f"0 open servers={address} session=10000")
        hosts.tell("0 connect")
        hosts.find(r"0 session NEW .*")
        at = hosts.find(r"0 log I zookeeper: connected to 127.0.0.1:(\d+), .*")[0]
        for turn in range(4):
            here = next(n for n in links if str(links[n].port) == at)
            began = time.monotonic()
            links[here].cut()
            hosts.tell(f"0 touch t{turn}")
            equal(hosts.find(rf"0 t{turn} (\S+) inside=1")[0], "EAWAY", "what was under way")
            hosts.find(r"0 session AWAY .*")
            hosts.find(r"0 session AGAIN .*")
            took = time.monotonic() - began
            equal(hosts.ask(f"0 touch again{turn}"), "OK", "the next connection")
            in_time(took, 5, "of a session of 10 s, another server")
            at = hosts.find(r"0 log I zookeeper: connected again, to 127.0.0.1:(\d+), .*")[0]
            equal(next(n for n in links if str(links[n].port) == at) != here, True, "it is the other one")
            links[here].heal()
            links[here].reset()
        # All away: tried again and again, said once; a second at most from their return.
        for link in links.values():
            link.cut()
            link.reset()
        hosts.find(r"0 session AWAY .*")
        before = hosts.count("0 log W .*")
        does_not_spin(hosts, 2)
        equal(hosts.count("0 log W .*"), before, "lines while all are away")
        for link in links.values():
            link.heal()
            link.reset()
        began = time.monotonic()
        hosts.find(r"0 session AGAIN .*")
        in_time(time.monotonic() - began, 4, "they are back")


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Slow(Flow):
    """Answers take so long."""
    delay = 0

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.queues = []

    def has_arrived(self):
        """Whether nothing is on its way."""
        return all(one.unfinished_tasks == 0 for one in self.queues)

    def pump(self, source, target):
        on_the_way = queue.Queue()
        self.queues.append(on_the_way)
        threading.Thread(target=self.arrive, args=(on_the_way, target), daemon=True).start()
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                on_the_way.put((time.monotonic() + self.delay, data))
        on_the_way.put((0, b""))

    def arrive(self, on_the_way, target):
        with contextlib.suppress(OSError):
            while (one := on_the_way.get())[1]:
                time.sleep(max(0, one[0] - time.monotonic()))
                target.sendall(one[1])
                on_the_way.task_done()
        self.queues.remove(on_the_way)


def test_slow():
    """an ensemble that is slower than a quarter of the session: it is given more time, and works"""
    with one_server() as zks, Hosts() as hosts:
        slow = Slow()
        hosts.connect(Link(zks[1].port, back=slow).address, session=SESSION)
        slow.delay = 1.4
        hosts.tell("0 touch first")
        equal(hosts.find(r"0 first (\S+) inside=1")[0], "EAWAY", "after a second")
        hosts.find(r"0 session AGAIN .*")
        late = 0  # how often this machine was
        while hosts.ask(f"0 touch second{late}") != "OK":
            require(late < 10, "within two seconds")
            late += 1
            hosts.find(r"0 session AGAIN .*")
        slow.delay = 0
        wait_until(slow.has_arrived, "what was sent slowly has arrived")
        equal(hosts.ask("0 touch third"), "OK", "fast again")
        equal(hosts.count("0 log W .*lost: no answer in time"), 1 + late, "connections that were given up")


def does_not_spin(hosts, seconds):
    before, began = cpu_seconds(hosts.process.pid), time.monotonic()
    time.sleep(seconds)
    used, took = cpu_seconds(hosts.process.pid) - before, time.monotonic() - began
    require(used < 0.25 * took, f"it spins: {used:.2f} s of {took:.2f} s")


def test_away_at_start():
    """no server at first, wrong names beside right ones, a name that is there later"""
    zks = one_server()
    zks.kill()
    with zks, Hosts() as hosts:
        hosts.tell(f"0 open servers={zks.address} session={LONG}")
        hosts.tell("0 connect")
        hosts.find(r"0 log W zookeeper: no server answers, \S+ neither: Connection refused; trying again")
        hosts.tell("0 touch early")
        equal(hosts.find(r"0 early (.*) inside=1")[0], "EAWAY", "a request before there is a session")
        hosts.tell("1 open servers=no-such-name.invalid:2181 session=4000")
        hosts.tell("1 connect")
        hosts.find(r"1 log W zookeeper: cannot look up no-such-name.invalid:2181: .*; trying again")
        hosts.tell(f"2 open servers=no-such-name.invalid:2181,localhost:{zks[1].port} session={LONG}")
        hosts.tell("2 connect")
        zks.start()
        zks.serving()
        for host in (0, 2):
            hosts.find(rf"{host} session NEW .*")
        equal(hosts.count("0 log W .*"), 1, "lines of the first")
        hosts.close(1, "EAWAY")
        hosts.close(0)
        hosts.close(2)


def test_wrong_config():
    """what open() refuses"""
    with Hosts() as hosts:
        for wrong in ("", "servers=", "servers=host", "servers=host:", "servers=:2181", "servers=host:0",
                      "servers=host:70000", "servers=host:21x", "servers=a:1,,b:2", "servers=a:1,",
                      "servers=::1:2181", "servers=[::1:2181", "servers=unix:/x", "servers=a:1/x/",
                      "servers=a:1 auth=digest", "servers=a:1 auth=:x", "servers=a:1 auth=digest:",
                      "servers=a:1 acl=closed", "servers=a:1 acl=creator", "servers=a:1 tls=ca,cert,key,x"):
            hosts.tell(f"0 open {wrong}")
            hosts.find("0 opened EINVAL")
        hosts.find("0 log E zookeeper: the client library was built without TLS")


def test_chroot_and_ipv6():
    """a path behind the servers; names, IPv4 and IPv6 in brackets"""
    with one_server(settings={"clientPortAddress": "::"}) as zks, \
            Hosts() as hosts, Zk(zks.address) as zk:
        zk.create("/apps")
        zk.create("/apps/one")
        port = zks[1].port
        hosts.connect(f"[::1]:{port}/apps/one")
        answer = actions(hosts.ask("0 write a create:e:/x:1 create:es:/y-:2"))
        equal([one[:2] for one in answer], [("OK", "/x"), ("OK", "/y-0000000001")], "names below the path")
        equal(sorted(zk.children("/apps/one")), ["x", "y-0000000001"], "where they are")
        hosts.ask("0 children b 1 /")
        hosts.ask("0 read c 2 /x")
        zk.set("/apps/one/x", "2")
        hosts.find("0 event 2 inside=1")
        zk.create("/apps/one/z")
        hosts.find("0 event 1 inside=1")
        hosts.connect(f"localhost:{port}/", host=1)
        equal(hosts.ask("1 children d 0 /apps"), "OK names=one", "from the root")
        hosts.connect(f"127.0.0.1:{port}/not/there", host=2)
        equal(hosts.ask("2 touch e"), "OK", "alive, though the path is not there")
        equal(hosts.ask("2 write f create:p:/x:1").split()[0], "ENONODE", "the path is not made")


# ---- sessions ----

def test_expired():
    """a host that is stopped for longer than its session: EXPIRED, and a new one on request"""
    with one_server(tick_ms=200) as zks, Hosts() as hosts, Zk(zks.address) as zk:
        zk.create("/v")
        first = hosts.connect(zks.address, session=3000)
        hosts.ask("0 write a create:e:/v/x:1")
        hosts.tell("0 stall")
        hosts.tell("0 touch late")
        wait_until(lambda: zk.children("/v") == [], "its node is gone")
        hosts.tell("0 go_on")
        require(hosts.find(r"0 late (\w+) inside=1")[0] in ("EAWAY", "EEXPIRED"), "what was asked meanwhile")
        hosts.find(rf"0 session EXPIRED {first} .*outstanding=0 since=0 inside=1")
        hosts.tell("0 touch after")
        equal(hosts.find(r"0 after (.*) inside=1")[0], "EEXPIRED", "before there is a new one")
        hosts.tell("0 connect")
        second = hosts.find(r"0 session NEW (0x\w+) .*")[0]
        require(second != first, "it is another session")
        equal(hosts.ask("0 write b create:e:/v/x:1").split()[0], "OK", "and it works")
        hosts.ask("0 read c 5 /v/x")
        zk.set("/v/x", "2")
        hosts.find("0 event 5 inside=1")


def test_new_ensemble():
    """an ensemble that was made anew, and empty: the old session is given up, and a new one works"""
    with one_server(tick_ms=200) as zks, Hosts() as hosts:
        with Zk(zks.address) as zk:
            for i in range(20):
                zk.create(f"/{i}")
        hosts.connect(zks.address, session=1000)
        hosts.ask("0 write a create:e:/x:1")
        zks.kill()
        hosts.find(r"0 session AWAY .*")
        shutil.rmtree(os.path.join(zks[1].directory, "version-2"))
        zks.start()
        zks.serving()
        hosts.find(r"0 session EXPIRED .*")
        hosts.tell("0 connect")
        hosts.find(r"0 session NEW .*")
        answer = actions(hosts.ask("0 write b create:e:/x:1"))
        require(answer[0][2] < 10, f"the transaction {answer[0][2]} is of the new ensemble")


def test_auth():
    """digest: what one host makes no other may touch; a scheme that there is none is refused"""
    with one_server() as zks, Hosts() as hosts, Zk(zks.address) as zk:
        hosts.connect(zks.address, 0, more="auth=digest:me:secret:with:colons")
        hosts.connect(zks.address, 1, more="auth=digest:me:other")
        hosts.connect(zks.address, 2)
        hosts.connect(zks.address, 3, more="auth=digest:me:secret:with:colons acl=open")
        equal(hosts.ask("0 write a create:p:/v:1 create:es:/v/q-:2").split()[0], "OK", "its own")
        for host in (1, 2):
            equal(hosts.ask(f"{host} read b 0 /v"), "EAUTH", "another's read")
            equal(hosts.ask(f"{host} children b 0 /v"), "EAUTH", "another's children")
            answer = hosts.ask(f"{host} write b create:e:/x{host}:1 create:e:/v/x:1")
            equal(answer.split()[0], "EAUTH", "another's write")
            equal([one[0] for one in actions(answer)], ["EUNDONE", "EAUTH"], "each action")
            equal(hosts.ask(f"{host} write b set:/v:-1:1").split()[0], "EAUTH", "another's set")
        equal(hosts.ask("3 write c create:p:/v/open:1").split()[0], "OK", "with the same auth")
        equal(hosts.ask("2 read d 0 /v/open").split()[0], "OK", "what is open")
        for line in hosts.lines:
            require("secret" not in line, f"the secret is in the log: {line}")
        # The auth is sent again when a connection is lost.
        zks.kill()
        hosts.find(r"0 session AWAY .*")
        zks.start()
        zks.serving()
        hosts.find(r"0 session AGAIN .*")
        equal(hosts.ask("0 write e set:/v:-1:2").split()[0], "OK", "its own, again")
        hosts.tell(f"4 open servers={zks.address} session=4000 auth=unknown:x")
        hosts.tell("4 connect")
        hosts.find(r"4 session REFUSED .*")
        hosts.find(r"4 log E zookeeper: .*refuses the auth")
        equal(hosts.count("4 session NEW .*"), 0, "sessions of the one that is refused")
        hosts.tell("4 connect")
        hosts.find(r"4 session REFUSED .*")
        hosts.close(4, "EAWAY")


# ---- the end ----

def test_close():
    """close: requests that are under way are answered; the session has ended at the ensemble"""
    with one_server() as zks, Hosts() as hosts, Zk(zks.address) as zk:
        zk.create("/v")
        link = Link(zks[1].port)
        bursts = 0
        for way in ("idle", "busy", "cut", "away", "never"):
            closed, expected = None, "OK" if way in ("idle", "busy") else "EAWAY"
            while closed != expected:
                require(bursts < 10, f"{way}: it is closed with {closed} again and again")
                if way != "never":
                    hosts.connect(link.address, session=SESSION)
                    hosts.ask(f"0 write a create:e:/v/{way}:1")
                else:
                    hosts.tell(f"0 open servers={link.address}")
                if way == "busy":
                    hosts.tell(f"0 burst b 200 /v/busy-{bursts}-")
                    bursts += 1
                if way == "cut":
                    link.cut()
                    hosts.tell("0 burst c 50 /v/cut-")
                if way == "away":
                    link.cut()
                    link.reset()
                    hosts.find(r"0 session AWAY .*")
                began = time.monotonic()
                closed = hosts.close(0, expected)
                in_time(time.monotonic() - began, 3, f"{way}: it is closed")
                if closed == "OK":
                    equal(zk.children("/v"), [], f"{way}: its nodes are gone at once")
                link.heal()
                link.reset()
                wait_until(lambda: not zk.children("/v"), "its nodes are gone")
        equal(hosts.count(r"0 b .*"), 200 * bursts, "answers to what was under way")
        equal(hosts.count(r"0 c EAWAY .*"), 50, "answers to what was cut")


def test_cycles():
    """hosts that come and go: no descriptor and no memory is left, and none is inherited"""
    with one_server() as zks, Hosts() as hosts:
        link = Link(zks[1].port)
        counts = []
        for i in range(many(30, 100)):
            hosts.connect(link.address, host=i % 2, session=SESSION)
            if i % 5 == 0:
                link.reset()
                hosts.find(rf"{i % 2} session AGAIN .*")
            hosts.ask(f"{i % 2} write a create:e:/x{i}:1")
            count, inherited = hosts.descriptors()
            equal(inherited, 0, "descriptors that a child would have")
            hosts.close(i % 2)
            counts.append(hosts.descriptors()[0])
        require(max(counts[1:]) <= counts[1], f"descriptors after each: {counts}")


def test_no_descriptors():
    """no descriptor for a connection: it is tried again, and there is one when there are descriptors"""
    with one_server() as zks, Hosts() as hosts:
        link = Link(zks[1].port)
        session = hosts.connect(link.address)
        for left in range(3):
            count = hosts.descriptors()[0]
            # The connection's two are free when it is lost; with one left it can be made, not watched.
            resource.prlimit(hosts.process.pid, resource.RLIMIT_NOFILE, (count - 2 + left, 4096))
            link.reset()
            hosts.find(r"0 session AWAY .*")
            if left < 2:
                does_not_spin(hosts, 1)
                equal(hosts.count("0 session AGAIN .*"), left, "connections so far")
                hosts.tell(f"0 touch away{left}")
                equal(hosts.find(rf"0 away{left} (.*) inside=1")[0], "EAWAY", "a request meanwhile")
                resource.prlimit(hosts.process.pid, resource.RLIMIT_NOFILE, (1024, 4096))
            hosts.find(rf"0 session AGAIN {session} .*")
            equal(hosts.ask(f"0 touch back{left}"), "OK", "a request afterwards")
            resource.prlimit(hosts.process.pid, resource.RLIMIT_NOFILE, (1024, 4096))


def test_both_engines():
    """the same on io_uring and on epoll: requests, a loss, an end"""
    with one_server() as zks, Zk(zks.address) as zk:
        for engine in ("uring", "epoll"):
            with Hosts(env={"VOLT_IO": engine}) as hosts:
                link = Link(zks[1].port)
                hosts.connect(link.address)
                hosts.tell(f"0 burst b 300 /{engine}-")
                wait_until(lambda: hosts.count("0 b OK .*") == 300, "answers")
                link.reset()
                hosts.find(r"0 session AGAIN .*")
                hosts.ask("0 read c 3 /")
                zk.set("/", engine)
                hosts.find("0 event 3 inside=1")
                hosts.close()
                wait_until(lambda: not [name for name in zk.children("/") if name.startswith(engine)],
                           "its nodes are gone")


def test_two_hosts():
    """hosts of one process, on several workers, at once: bursts, losses, new sessions"""
    with one_server() as zks, Hosts(workers=4) as hosts, Zk(zks.address) as zk:
        zk.create("/v")
        links = [Link(zks[1].port) for _ in range(3)]
        for host, link in enumerate(links):
            hosts.connect(link.address, host=host)
        for i in range(many(6, 20)):
            for host, link in enumerate(links):
                hosts.tell(f"{host} burst w{i} 50 /v/{host}-{i}-")
                hosts.tell(f"{host} children r{i} {i + 1} /v")
            links[i % 3].reset()
            hosts.find(rf"{i % 3} session AGAIN .*")
            for host in range(3):
                wait_until(lambda: hosts.count(rf"{host} w{i} .*") == 50, "answers")
        for host in range(3):
            hosts.close(host)


if __name__ == "__main__":
    need_servers()
    run_tests([], test_requests, test_transactions, test_order, test_watches, test_watches_again,
              test_answer_lost, test_reset_under_load, test_send_fails,
              test_other_server, test_slow, test_away_at_start,
              test_wrong_config, test_chroot_and_ipv6, test_expired, test_new_ensemble, test_auth,
              test_close, test_cycles, test_no_descriptors, test_both_engines, test_two_hosts)
