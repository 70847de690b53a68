#!/usr/bin/env python3
"""zookeeper_kit.py: ZooKeeper servers of a test's own, on the loopback, with ports, data and links of
their own; what can happen to them: kill -9, SIGSTOP, a network that is cut; and a small client.

    zks = ZooKeepers(3)                     # when this returns, all serve; or: with ... as zks:
    zks.address                             # "127.0.0.1:4001,127.0.0.1:4002,127.0.0.1:4003"
    leader = zks.leader()                   # servers have the numbers 1, 2, 3
    zks[leader].kill(); zks.serving(); zks[leader].start()
    zks[2].pause(); zks[2].go_on()          # SIGSTOP, SIGCONT
    zks.cut(3); zks.heal(3)                 # server 3 from the other two; its clients reach it
    link = Link(zks[1].port)                # the same for a client, which is told link.address
    link.cut(); link.cut_back(); link.heal(); link.reset()
    with Zk(zks.address) as zk:             # in plain Python: for looks and writes beside a test's
        zk.create("/a"), zk.get("/a"), zk.children("/"), zk.stat("/a"), zk.multi(...)

As a program it is the same for a test in another language, or for a person:

    zookeeper_kit.py [--servers 3] [--tick 500] [--no-fsync]    # says "serving ADDRESS" on a line, and
        # obeys lines of standard input, each of which it answers with "ok ..." or "failed ...":
        # leader, kill N, start N, pause N, go-on N, cut N, heal N, serving, sequence PATH NUMBER
        # It ends, with all servers, at the end of the input.

The servers come from Debian's packages, which ./x unpacks below build/daemons; java has to be there.
Everything ends with the process that made it, also if that is killed."""

import os
import shutil
import socket
import struct
import sys
import threading
import zlib

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../apps/voltgate/tests/whole"))

from voltgate_kit import *  # processes, checks

# What a server's class path needs. Nothing of netty, jetty or jackson: those are of TLS, of the admin
# server and of its pages.
JARS = ("zookeeper", "zookeeper-jute", "slf4j-api", "slf4j-simple", "metrics-core", "snappy-java")
MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"


# ---- what is needed ----

def java():
    return shutil.which("java") is not None


def jars():
    """The directory of the server's jars: beside a directory of PATH, where ./x has unpacked them."""
    root = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..")
    places = [os.path.join(root, "build/daemons/usr/bin"), *os.environ["PATH"].split(":"), "/usr/bin"]
    places = [os.path.normpath(os.path.join(place, "../share/java")) for place in places]
    return next((place for place in places if all(
        os.path.exists(os.path.join(place, f"{jar}.jar")) for jar in JARS)), None)


def zookeeper():
    return jars() is not None


def need_servers():
    """Ends the test, as one that was skipped, where there is no server to start."""
    for there, what in ((java, "Java (default-jre-headless)"), (zookeeper, "ZooKeeper (./x test fetches it)")):
        if not there():
            print(f"skipped: there is no {what}")
            sys.exit(77)


# ---- the network ----

class Flow:
    """One direction between two places. What is under way while it is cut arrives when it is healed,
    as TCP would have sent it again."""

    def __init__(self):
        self.open = threading.Event()
        self.heal()

    def break_off(self):
        self.open.clear()

    def heal(self):
        self.open.set()

    def pump(self, source, target):
        """Until either end closes; an end that closes is seen through an open flow only."""
        try:
            while True:
                data = source.recv(1 << 16)
                self.open.wait()
                if not data:
                    break
                target.sendall(data)
        except OSError:
            self.open.wait()
        for s, how in ((target, socket.SHUT_WR), (source, socket.SHUT_RD)):
            with contextlib.suppress(OSError):
                s.shutdown(how)


class Link:
    """A port of its own whose connections are led on to another one, by threads of this process, and
    which can be cut: nothing is closed then, nothing arrives, and new connections reach nobody.
    A connection that is refused is closed, after patience seconds of further attempts.
    first: may change the first message of a connection."""

    def __init__(self, port, forth=None, back=None, first=None, patience=0):
        self.to, self.first, self.patience = port, first, patience
        self.forth, self.back = forth or Flow(), back or Flow()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self.connections = []
        at_end.callback(self.close)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                here = self.listener.accept()[0]
                threading.Thread(target=self.lead, args=(here,), daemon=True).start()

    def call(self):
        end = time.monotonic() + self.patience
        while True:
            self.forth.open.wait()
            try:
                return socket.create_connection(("127.0.0.1", self.to))
            except OSError:
                if time.monotonic() >= end:
                    return None
            time.sleep(0.01)

    def lead(self, here):
        there = self.call()
        if there is None:
            here.close()
            return
        for s in (here, there):
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pair = (here, there)
        self.connections.append(pair)
        try:
            if self.first:
                message = self.first(here)
                self.forth.open.wait()
                there.sendall(message)
            answers = threading.Thread(target=self.back.pump, args=(there, here), daemon=True)
            answers.start()
            self.forth.pump(here, there)
            answers.join()
        except OSError:
            pass
        with contextlib.suppress(ValueError):
            self.connections.remove(pair)
        for s in pair:
            s.close()

    def cut(self):
        self.forth.break_off()
        self.back.break_off()

    def cut_forth(self):
        self.forth.break_off()

    def cut_back(self):
        """Requests arrive, and are done; replies do not."""
        self.back.break_off()

    def heal(self):
        self.forth.heal()
        self.back.heal()

    def reset(self):
        """Ends every connection, whether it is cut or not, with what is under way in it."""
        for pair in list(self.connections):
            for s in pair:
                with contextlib.suppress(OSError):
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    s.shutdown(socket.SHUT_RDWR)

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.reset()


def receive_exactly(s, size):
    data = b""
    while len(data) < size:
        more = s.recv(size - len(data))
        if not more:
            raise OSError("the connection ended")
        data += more
    return data


# ---- the servers ----

class Server:
    """One of them. Its ports are kept for it also while it is down."""

    def __init__(self, number, directory, jvm):
        self.number, self.jvm = number, jvm
        self.directory = os.path.join(directory, str(number))
        os.mkdir(self.directory)
        self.port, self.quorum_port, self.election_port = (keep_port() for _ in range(3))
        self.address = f"127.0.0.1:{self.port}"
        self.process, self.paused = None, False

    @property
    def configuration(self):
        return os.path.join(self.directory, "zoo.cfg")

    @property
    def pid(self):
        return self.process.pid

    def start(self):
        """Starts it, and does not wait for anything."""
        classes = ":".join(os.path.join(jars(), f"{jar}.jar") for jar in JARS)
        self.process, self.paused = Process(
            ["java", *self.jvm, "-cp", classes, MAIN, self.configuration]), False

    def alive(self):
        return self.process is not None and self.process.alive()

    def kill(self):
        self.process.kill()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)
        self.paused = True

    def go_on(self):
        self.paused = False
        self.process.send_signal(signal.SIGCONT)

    def said(self):
        return self.process.said()

    def ask(self, word, within=2):
        """The answer to ruok, srvr, mntr, ...; nothing, if there is none."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=within) as s:
                s.sendall(word.encode())
                answer = b""
                while more := s.recv(1 << 16):
                    answer += more
                return answer.decode(errors="replace")
        except OSError:
            return ""

    def mode(self):
        """leader, follower, standalone; nothing while it does not serve."""
        runs = self.alive() and not self.paused
        found = re.search(r"^Mode: (\w+)", self.ask("srvr") if runs else "", re.M)
        return found[1] if found else None

    def monitor(self, name):
        """A number of mntr, such as zk_packets_received."""
        found = re.search(rf"^{name}\t([-\d.]+)$", self.ask("mntr"), re.M)
        require(found, f"mntr says nothing of {name}")
        return float(found[1])


class ZooKeepers:
    """An ensemble. tick_ms: sessions last from 2 to 20 ticks. A follower that hears nothing of its
    leader for sync_ticks stops serving. fsync=False where a test says that no machine dies in it.
    links=False: servers talk without a relay between them, and cannot be cut off.
    settings: more of zoo.cfg; properties: more of Java's (zookeeper.xyz=...)."""

    def __init__(self, count=3, tick_ms=500, init_ticks=10, sync_ticks=4, fsync=True, links=True,
                 heap_mb=96, settings=None, properties=()):
        self.directory = scratch()
        jvm = [f"-Xmx{heap_mb}m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData",
               "-Dorg.slf4j.simpleLogger.showDateTime=true",
               "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
               "-Dorg.slf4j.simpleLogger.showLogName=false"]
        jvm += [f"-D{p}" for p in (*properties, *([] if fsync else ["zookeeper.forceSync=no"]))]
        self.servers = [Server(i + 1, self.directory, jvm) for i in range(count)]
        self.address = ",".join(server.address for server in self.servers)
        self.flows = {(a, b): Flow() for a in self.numbers() for b in self.numbers() if a != b}
        self.links = {}
        if links and count > 1:
            self.make_links()
        settings = {"tickTime": tick_ms, "initLimit": init_ticks, "syncLimit": sync_ticks,
                    "maxClientCnxns": 0, "clientPortAddress": "127.0.0.1",
                    "4lw.commands.whitelist": "*", "admin.enableServer": "false",
                    **(settings or {})}
        for server in self.servers:
            self.configure(server, settings)
        self.start()
        self.serving(count)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Ends all of it; what is left at the end of the process ends then."""
        self.kill()
        for links in self.links.values():
            for link in links:
                link.close()

    def __getitem__(self, number):
        return self.servers[number - 1]

    def numbers(self):
        return [server.number for server in self.servers]

    def majority(self):
        return len(self.servers) // 2 + 1

    def configure(self, server, settings):
        lines = [f"{name}={value}" for name, value in settings.items()]
        lines += [f"dataDir={server.directory}", f"clientPort={server.port}"]
        for peer in self.servers if len(self.servers) > 1 else []:
            ports = self.links.get((server.number, peer.number))
            ports = [link.port for link in ports] if ports else [peer.quorum_port, peer.election_port]
            lines.append(f"server.{peer.number}=127.0.0.1:{ports[0]}:{ports[1]}")
        with open(server.configuration, "w") as f:
            f.write("\n".join(lines) + "\n")
        with open(os.path.join(server.directory, "myid"), "w") as f:
            f.write(str(server.number))

    # Links: one for each port and each who calls it.

    def make_links(self):
        for a, b in self.flows:
            forth, back = self.flows[a, b], self.flows[b, a]
            def introduction(s, a=a, b=b):
                return self.introduction(s, self.links[b, a][1].port)
            # A follower takes a leader that ends its connection at once for one that does not lead,
            # and one that does not listen yet for one that is about to.
            self.links[a, b] = (Link(self[b].quorum_port, forth, back, patience=2),
                                Link(self[b].election_port, forth, back, introduction, patience=2))

    @staticmethod
    def introduction(s, port):
        """What a server says first on the election port: a version, its number, and where it can be
        called back, which becomes the way through a link."""
        head = receive_exactly(s, 20)
        version, number, size = struct.unpack(">qqi", head)
        require(version < 0 and 0 <= size < 4096, f"an introduction of version {version}, {size} bytes")
        receive_exactly(s, size)
        where = f"127.0.0.1:{port}".encode()
        return struct.pack(">qqi", version, number, len(where)) + where

    def cut(self, number):
        """Cuts one server off from the others. Clients reach it as before."""
        require(self.links, "an ensemble that was made with links=False cannot be cut")
        for pair, flow in self.flows.items():
            if number in pair:
                flow.break_off()

    def heal(self, number):
        for pair, flow in self.flows.items():
            if number in pair:
                flow.heal()

    # All of them.

    def start(self):
        for server in self.servers:
            if not server.alive():
                server.start()

    def kill(self):
        for server in self.servers:
            server.kill()

    def modes(self):
        return {server.number: mode for server in self.servers if (mode := server.mode())}

    def leader(self):
        """Which one leads, or None. A leader that was cut off believes that it leads, for sync_ticks."""
        leading = [n for n, mode in self.modes().items() if mode in ("leader", "standalone")]
        return leading[0] if len(leading) == 1 else None

    def followers(self):
        return [n for n, mode in self.modes().items() if mode == "follower"]

    def serving(self, count=None, within=LIMIT):
        """Waits until so many servers serve (a majority, if it is not said) under one leader, and
        returns its number."""
        def served():
            modes = self.modes()
            leading = [n for n, mode in modes.items() if mode != "follower"]
            if len(leading) == 1 and len(modes) >= (count or self.majority()):
                return leading[0]
            for server in self.servers:
                require(server.alive() or server.process.process.returncode < 0,
                        f"server {server.number} ended: {server.said()[-3000:]}")
            return None
        return wait_until(served, f"a leader and a majority of {len(self.servers)}", within, 0.02)

    # The sequence.

    def sequence(self, path, number):
        """Makes `number` what the next sequential child of path would get, as after that many creates:
        the last create below path is changed in the logs of the servers, which are down meanwhile."""
        with Zk(self.address) as zk:
            mark = zk.create(f"{path}/kit-{os.getpid()}")
        self.serving(len([s for s in self.servers if s.alive()]))
        self.kill()
        changed = [set_sequence(server.directory, mark, number) for server in self.servers]
        require(sum(changed) >= self.majority(), f"{mark} stands in the logs of {sum(changed)} servers")
        self.start()
        self.serving(len(self.servers))
        with Zk(self.address) as zk:
            zk.delete(mark)


def set_sequence(directory, path, number):
    """In the log of a server that is down: the parent of this node had `number` creates when the
    node was made. Returns whether the log has it."""
    logs = os.path.join(directory, "version-2")
    for name in os.listdir(logs):
        if name.startswith("log."):
            with open(os.path.join(logs, name), "r+b") as log:
                if set_sequence_of_log(log, path.encode(), number):
                    return True
    return False


def set_sequence_of_log(log, path, number):
    """A log is a head of 16 bytes, and records: Adler32 of what follows, its size, that, and a B."""
    log.seek(16)
    while len(head := log.read(12)) == 12:
        checksum, size = struct.unpack(">qi", head)
        if size <= 0:
            break
        begin = log.tell()
        record = bytearray(log.read(size))
        equal(checksum, zlib.adler32(record), f"checksum of a record of {log.name}")
        if created(record) == path:
            struct.pack_into(">i", record, end_of_create(record), number)
            log.seek(begin - 12)
            log.write(struct.pack(">qi", zlib.adler32(record), size) + record)
            return True
        log.seek(begin + size + 1)
    return False


def created(record):
    """The path, if it is the record of a create: 32 bytes, the last four of which say what it is."""
    if struct.unpack_from(">i", record, 28)[0] not in (Zk.CREATE, Zk.CREATE2):
        return None
    size = struct.unpack_from(">i", record, 32)[0]
    return bytes(record[36:36 + size])


def end_of_create(record):
    """Where the number of creates stands in such a record: after path, data, ACL and "is ephemeral"."""
    at = 32
    for _ in range(2):
        at += 4 + max(0, struct.unpack_from(">i", record, at)[0])
    rules = struct.unpack_from(">i", record, at)[0]
    at += 4
    for _ in range(rules):
        at += 4
        for _ in range(2):
            at += 4 + struct.unpack_from(">i", record, at)[0]
    return at + 1


# ---- a client ----

class ZkError(Exception):
    NAMES = {-4: "CONNECTIONLOSS", -101: "NONODE", -102: "NOAUTH", -103: "BADVERSION",
             -108: "NOCHILDRENFOREPHEMERALS", -110: "NODEEXISTS", -111: "NOTEMPTY",
             -112: "SESSIONEXPIRED", -115: "AUTHFAILED", -2: "RUNTIMEINCONSISTENCY"}

    def __init__(self, code):
        self.code = code
        super().__init__(self.NAMES.get(code, str(code)))


class Stat:
    FORM = struct.Struct(">qqqqiiiqiiq")

    def __init__(self, data):
        (self.czxid, self.mzxid, self.ctime, self.mtime, self.version, self.cversion, self.aversion,
         self.owner, self.size, self.children, self.pzxid) = self.FORM.unpack(data)

    def __repr__(self):
        return f"Stat({vars(self)})"


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        found = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return found[0] if len(found) == 1 else found

    def buffer(self):
        size = max(0, self.take(">i"))
        self.at += size
        return self.data[self.at - size:self.at]

    def string(self):
        return self.buffer().decode()

    def stat(self):
        self.at += Stat.FORM.size
        return Stat(self.data[self.at - Stat.FORM.size:self.at])


def packed(data):
    data = data.encode() if isinstance(data, str) else data
    return struct.pack(">i", len(data)) + data


class Zk:
    """A session, kept alive by a thread; with the first server of the address that takes it. One
    request at a time; no second server is looked for: a lost connection is an OSError."""

    CREATE, DELETE, EXISTS, GET, SET, CHILDREN, SYNC, PING, CHECK, MULTI, CREATE2 = (
        1, 2, 3, 4, 5, 8, 9, 11, 13, 14, 15)
    EPHEMERAL, SEQUENCE = 1, 2
    OPEN = ((31, "world", "anyone"),)  # who may do what: everybody everything
    MINE = ((31, "auth", ""),)

    def __init__(self, address, session_ms=10000, auth=None, session=(0, bytes(16)), within=LIMIT):
        self.lock = threading.Lock()
        self.xid = 0
        self.events = []  # of watches: (type, state, path)
        self.s = wait_until(lambda: self.connect(address, session_ms, session),
                            f"a server of {address} takes a session", within)
        if auth:  # "digest", "user:password"
            self.request(100, struct.pack(">i", 0) + packed(auth[0]) + packed(auth[1]), -4)
        self.ended = threading.Event()
        threading.Thread(target=self.keep_alive, daemon=True).start()

    def connect(self, address, session_ms, session):
        for one in address.split(","):
            host, _, port = one.rpartition(":")
            try:
                s = socket.create_connection((host, int(port)), timeout=LIMIT)
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                s.sendall(packed(struct.pack(">iqiq", 0, 0, session_ms, session[0]) +
                                 packed(session[1]) + b"\0"))
                answer = Reader(receive_exactly(s, struct.unpack(">i", receive_exactly(s, 4))[0]))
                _, self.session_ms, number = answer.take(">iiq")
                self.session = (number, answer.buffer())
            except OSError:
                continue
            if self.session_ms <= 0:
                raise ZkError(-112)
            return s
        return None

    def keep_alive(self):
        with contextlib.suppress(OSError):
            while not self.ended.wait(self.session_ms / 3000):
                self.request(self.PING, b"", -2)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the session and with it what is ephemeral."""
        self.ended.set()
        with contextlib.suppress(OSError):
            self.request(-11, b"")
        self.s.close()

    def drop(self):
        """Ends the connection and leaves the session to the servers."""
        self.ended.set()
        self.s.close()

    def request(self, kind, body, xid=None):
        with self.lock:
            if xid is None:
                self.xid += 1
                xid = self.xid
            self.s.sendall(packed(struct.pack(">ii", xid, kind) + body))
            while True:
                answer = Reader(receive_exactly(
                    self.s, struct.unpack(">i", receive_exactly(self.s, 4))[0]))
                got, _, error = answer.take(">iqi")
                if got == -1:
                    self.events.append((*answer.take(">ii"), answer.string()))
                elif got == xid:
                    break
        if error:
            raise ZkError(error)
        return answer

    # What there is to ask for. A version of -1 is any.

    @staticmethod
    def create_body(path, data=b"", flags=0, acl=OPEN):
        rules = b"".join(struct.pack(">i", may) + packed(how) + packed(who) for may, how, who in acl)
        return packed(path) + packed(data) + struct.pack(">i", len(acl)) + rules + struct.pack(">i", flags)

    def create(self, path, data=b"", flags=0, acl=OPEN):
        """Returns the name, which is another one for a sequential node."""
        return self.request(self.CREATE, self.create_body(path, data, flags, acl)).string()

    def ensure(self, path):
        """Creates the path and what is above it, unless it is there."""
        parts = path.strip("/").split("/")
        for depth in range(len(parts)):
            try:
                self.create("/" + "/".join(parts[:depth + 1]))
            except ZkError as e:
                if e.code != -110:
                    raise

    def get(self, path, watch=False):
        answer = self.request(self.GET, packed(path) + bytes([watch]))
        return answer.buffer(), answer.stat()

    def set(self, path, data, version=-1):
        return self.request(self.SET, packed(path) + packed(data) + struct.pack(">i", version)).stat()

    def stat(self, path, watch=False):
        """None, if there is no such node."""
        try:
            return self.request(self.EXISTS, packed(path) + bytes([watch])).stat()
        except ZkError as e:
            if e.code != -101:
                raise
            return None

    def children(self, path, watch=False):
        answer = self.request(self.CHILDREN, packed(path) + bytes([watch]))
        return [answer.string() for _ in range(answer.take(">i"))]

    def delete(self, path, version=-1):
        self.request(self.DELETE, packed(path) + struct.pack(">i", version))

    def sync(self, path="/"):
        self.request(self.SYNC, packed(path))

    def multi(self, *operations):
        """Of ("create", path[, data[, flags]]), ("delete", path), ("set", path, data) and ("check",
        path[, version]): all or none. Returns a list: name, None, Stat, None."""
        body = b""
        for what, path, *more in operations:
            if what == "create":
                kind, one = self.CREATE, self.create_body(path, *more)
            elif what == "set":
                kind, one = self.SET, packed(path) + packed(more[0]) + struct.pack(">i", -1)
            else:
                kind = {"delete": self.DELETE, "check": self.CHECK}[what]
                one = packed(path) + struct.pack(">i", more[0] if more else -1)
            body += struct.pack(">ibi", kind, 0, -1) + one
        answer = self.request(self.MULTI, body + struct.pack(">ibi", -1, 1, -1))
        results, errors = [], []
        while True:
            kind, done, _ = answer.take(">ibi")
            if done:
                break
            if kind == -1:
                errors.append(answer.take(">i"))
            else:
                results.append(answer.string() if kind == self.CREATE else
                               answer.stat() if kind == self.SET else None)
        for error in errors:
            if error not in (0, -2):
                raise ZkError(error)
        return results


# ---- as a program ----

def obey(zks, words):
    command, *more = words
    if command in ("kill", "start", "pause", "go-on"):
        return getattr(zks[int(more[0])], command.replace("-", "_"))()
    if command in ("cut", "heal"):
        return getattr(zks, command)(int(more[0]))
    if command == "sequence":
        return zks.sequence(more[0], int(more[1]))
    require(command in ("leader", "serving"), f"no command: {command}")
    return getattr(zks, command)()


def main():
    need_servers()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    options, named = sys.argv[1:], {}
    while options:
        option = options.pop(0)
        if option == "--no-fsync":
            named["fsync"] = False
        elif option in ("--servers", "--tick") and options:
            named["count" if option == "--servers" else "tick_ms"] = int(options.pop(0))
        else:
            sys.exit(f"usage: {sys.argv[0]} [--servers 1|3] [--tick MS] [--no-fsync]")
    zks = ZooKeepers(**named)
    print(f"serving {zks.address}", flush=True)
    for line in sys.stdin:
        try:
            answer = obey(zks, line.split())
            print("ok" if answer is None else f"ok {answer}", flush=True)
        except Exception as e:
            print(f"failed {type(e).__name__}: {e}", flush=True)


if __name__ == "__main__":
    main()
