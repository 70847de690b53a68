"""permit_kit.py: what the tests of permit gates have together: clients, gates, and a crowd of processes that are killed
at any moment, with the ledger of what they were granted."""

import random

from voltgate_kit import *


class Client:
    """One connection, and the lines that came."""

    def __init__(self, path=None, first=None):
        self.rest = b""
        if path:
            self.s = socket.socket(socket.AF_UNIX)
            self.s.settimeout(LIMIT)
            self.s.connect(path)
        if first:
            self.say(first)

    @staticmethod
    def of(connection):
        client = Client()
        client.s = connection
        return client

    def say(self, line):
        self.s.sendall(line.encode() + b"\n")

    def line(self):
        """The next line, or None at the end."""
        while b"\n" not in self.rest:
            more = self.s.recv(65536)
            if not more:
                return None
            self.rest += more
        line, _, self.rest = self.rest.partition(b"\n")
        return line.decode()

    def ask(self, line):
        self.say(line)
        return self.line()

    def granted(self):
        """The words behind `granted`, when that comes."""
        while True:
            line = self.line()
            require(line is not None and not line.startswith("refused"), f"it was granted: {line}")
            if line.startswith("granted"):
                return line

    def list(self):
        self.say("list")
        lines = []
        while (line := self.line()) != "end":
            lines.append(line)
        return lines

    def close(self):
        self.s.close()


def kinds_of(lines):
    return {line.split()[1]: {key: int(value) for key, value in
                              (word.split("=") for word in line.split()[2:])}
            for line in lines if line.startswith("kind ")}


class Broker(Gate):
    """A gate `main` at a path of its own."""

    def __init__(self, kinds="cores=4 memory=1M", claim="0", directory=None, more="", tail="", **named):
        self.home = directory or scratch()
        self.path = os.path.join(self.home, "gate.sock")
        super().__init__(ini=self.text(kinds, claim, more, tail), **named)

    def text(self, kinds, claim="0", more="", tail=""):
        return (f"[gate main]\nprotocol = permit\nlisten = unix:{self.path}\nkinds = {kinds}\n"
                f"claim-period = {claim}\n{more}\n{tail}\n")

    def client(self, first=None):
        return Client(self.path, first)

    def holders(self):
        """How many hold, and wait."""
        c = self.client()
        lines = c.list()
        c.close()
        return (sum(line.startswith("holder ") for line in lines),
                sum(line.startswith("waiter ") for line in lines))

    def kinds(self):
        c = self.client()
        found = kinds_of(c.list())
        c.close()
        return found

    def all_free(self):
        wait_until(lambda: self.holders() == (0, 0), "all have left")
        for kind, one in self.kinds().items():
            equal((one["held"], one["free"]), (0, one["limit"]), kind)


# ---- a crowd, and its ledger ----

KINDS = ("cores", "memory")
LIMITS = (8, 64)


class Ledger:
    """What the clients say, in one order: each writes a line before it gives, and after it was
    granted. So the sum in this order is at most what is held."""

    def __init__(self):
        self.asking, self.queued, self.needs, self.held = {}, {}, {}, {}
        self.dead = set()
        self.at = self.grants = self.cancels = 0

    def event(self, client, what, amounts):
        self.at += 1
        if client in self.dead:
            return
        if what == "k":
            self.dead.add(client)
            self.forget(client)
            self.held.pop(client, None)
        elif what == "a":
            self.asking[client], self.needs[client] = self.at, amounts
        elif what == "q":
            self.queued[client] = self.at
        elif what == "g":
            self.granted(client, amounts)
        elif what == "p":
            self.held[client] = tuple(h - a for h, a in zip(self.held[client], amounts))
        elif what == "r":
            del self.held[client]
        elif what == "c":
            self.cancels += 1
            self.forget(client)

    def forget(self, client):
        for one in (self.asking, self.queued, self.needs):
            one.pop(client, None)

    def granted(self, client, amounts):
        """Never above the limit; and whoever was queued when this one asked has its own already,
        or has it at the same moment."""
        equal(amounts, self.needs[client], "what was granted")
        before = [w for w, at in self.queued.items() if at < self.asking[client]]
        self.grants += 1
        self.forget(client)
        self.held[client] = amounts
        for kind, limit in enumerate(LIMITS):
            held = sum(h[kind] for h in self.held.values())
            require(held <= limit, f"{held} {KINDS[kind]} are held of {limit}")
            first = sum(self.needs[w][kind] for w in before if w in self.needs)
            require(held + first <= limit, f"{client} is before {before}: {held} + {first} of {limit}")


EVENT = struct.Struct("=Ic2I")


def log_of(number, to):
    def log(what, amounts=(0, 0)):
        os.write(to, EVENT.pack(number, what.encode(), *amounts))

    return log


def needs(dice):
    """What a client needs next, for ever: (amounts, the same in words)."""
    while True:
        amounts = (dice.choice((0, 1, 2, 8)), dice.choice((0, 1, 16, 64)))
        if any(amounts):
            yield amounts, " ".join(f"{kind}={n}" for kind, n in zip(KINDS, amounts) if n)


def life(path, number, to):
    """A client until it is killed: a process of its own."""
    dice, log = random.Random(number), log_of(number, to)
    c = Client(path)
    for amounts, words in needs(dice):
        log("a", amounts)
        line = c.ask(f"take {words} label=w{number}")
        if line.startswith("queued"):
            log("q")
            if dice.random() < 0.1:
                log("c")
                c.say("give")
                while c.line() != "given":
                    pass
                continue
            while line.startswith("queued"):
                line = c.line()
        require(line.startswith("granted"), line)
        log("g", amounts)
        time.sleep(dice.random() * 0.002)
        if amounts[0] > 1 and dice.random() < 0.3:
            log("p", (1, 0))
            c.say("give cores=1")
            c.line()
        log("r")
        if dice.random() < 0.1:
            c.close()
            c = Client(path)
        else:
            c.say("give")
            c.line()


class Claimer:
    """A connection that is made again when the gate's process has ended: what it held is claimed."""

    def __init__(self, path, label):
        self.path, self.label, self.held, self.c = path, label, "", Client(path)

    def again(self):
        """Connect, until it has its permit again, or none to ask for."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                self.c = Client(self.path)
                if not self.held:
                    return
                line = self.c.ask(f"claim {self.held} label={self.label}")
                if line is not None:
                    require(line.startswith("granted"), f"it is claimed: {line}")
                    return
            time.sleep(0.005)
        require(False, "somebody listens")

    def ask(self, line):
        """The answer, or None: the gate's process has ended, and it is connected again."""
        with contextlib.suppress(OSError):
            if (answer := self.c.ask(line)) is not None and not answer.startswith("refused draining"):
                return answer
        self.again()
        return None

    def line(self):
        with contextlib.suppress(OSError):
            if (answer := self.c.line()) is not None and not answer.startswith("refused draining"):
                return answer
        self.again()
        return None


def claiming_life(path, number, to):
    """The same, of a client that outlives the gate's process."""
    dice, log = random.Random(number), log_of(number, to)
    c = Claimer(path, f"w{number}")
    for amounts, words in needs(dice):
        log("a", amounts)
        line = c.ask(f"take {words} label=w{number}")
        if line and line.startswith("queued"):
            log("q")
            while line and line.startswith("queued"):
                line = c.line()
        if not line:
            log("c")  # it asks anew
            continue
        require(line.startswith("granted"), line)
        log("g", amounts)
        c.held = words
        time.sleep(dice.random() * 0.002)
        c.ask("ping")  # it may find that the gate's process has ended, and claims
        log("r")
        c.held = ""
        c.ask("give")


class Crowd:
    def __init__(self, path, size, life=life):
        self.path, self.life, self.next, self.children = path, life, 0, {}
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)
        self.ledger, self.rest = Ledger(), b""
        at_end.callback(self.end)
        for _ in range(size):
            self.begin_one()

    def begin_one(self):
        self.next += 1
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            try:
                self.life(self.path, self.next, self.writer)
            finally:
                os._exit(1)  # it is killed, or something is wrong
        self.children[self.next] = pid

    def hear(self):
        with contextlib.suppress(BlockingIOError):
            self.rest += os.read(self.reader, 1 << 16)
        whole = len(self.rest) // EVENT.size * EVENT.size
        for number, what, cores, memory in EVENT.iter_unpack(self.rest[:whole]):
            self.ledger.event(number, what.decode(), (cores, memory))
        self.rest = self.rest[whole:]

    def kill_one(self, number):
        """It is in the ledger before it is done."""
        self.hear()
        os.write(self.writer, EVENT.pack(number, b"k", 0, 0))
        pid = self.children.pop(number)
        os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
        equal(os.WTERMSIG(status), signal.SIGKILL, f"client {number} went on until it was killed")

    def pass_time(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.hear()

    def replace_one(self, dice):
        """At any moment."""
        self.pass_time(dice.random() * 0.004)
        self.kill_one(dice.choice(list(self.children)))
        self.begin_one()

    def go_on(self, grants):
        """So many more are granted."""
        before = self.ledger.grants
        wait_until(lambda: self.hear() or self.ledger.grants > before + grants, "they go on")

    def leave(self, broker):
        """All are killed, and all is free."""
        self.end()
        self.hear()
        broker.all_free()

    def end(self):
        while self.children:
            self.kill_one(next(iter(self.children)))
