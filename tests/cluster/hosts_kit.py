"""hosts_kit.py: hosts of one semaphore, each a process (host.c), the resource that they write to, and
what they noted, checked by history.py at the end.

    run = Run(zks, limit=4)                    # a semaphore of its own
    a, b = run.hosts(2, tasks=6)               # when this returns, each has had a permit
    ... something happens ...
    run.progress()                             # each host that runs gets permits
    return run.finish()                        # all end; nothing has leaked; the history is right

Sessions last SESSION_MS here. That is short, so that a test does not take long; on a machine that is
busy a session may end though nothing was done to its host. Nothing that is checked depends on it."""

import itertools
import tempfile

import history
from zookeeper_kit import *

TICK_MS, SESSION_MS = 250, 2000
SESSION = SESSION_MS / 1000
MS = 1_000_000


def boot_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Resource:
    """What the permits protect: takes a write unless it has a fence older than one that it has taken
    for that slot. checks=False: takes everything. Each write is a line, and answered by 1 or 0."""

    def __init__(self, checks=True):
        self.checks, self.newest, self.lock = checks, {}, threading.Lock()
        self.lines = []
        self.address = f"unix:@volt-resource-{os.getpid()}-{os.urandom(4).hex()}"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind("\0" + self.address[6:])
        self.listener.listen(256)
        at_end.callback(self.listener.close)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                s = self.listener.accept()[0]
                threading.Thread(target=self.serve, args=(s,), daemon=True).start()

    def serve(self, s):
        with s, s.makefile("r") as lines, contextlib.suppress(OSError):
            for line in lines:
                s.sendall(b"1" if self.take(line.strip()) else b"0")

    def take(self, line):
        values = dict(word.split("=") for word in line.split())
        fence = tuple(int(values[name]) for name in ("era", "epoch", "grant"))
        with self.lock:
            newest = self.newest.get(values["slot"], fence)
            accepted = not self.checks or fence >= newest
            if accepted:
                self.newest[values["slot"]] = max(fence, newest)
            self.lines.append(f"{boot_ns()} wrote {line} accepted={int(accepted)}")
        return accepted


class Host(Process):
    """One host. Options by name: hold_ms=20 is --hold-ms 20."""

    def __init__(self, run, name, /, **options):
        self.name, self.file = name, os.path.join(run.directory, f"{name}.host")
        command = [os.path.join(program(), "cluster_host"), "--out", self.file, "--host", name]
        for option, value in {"session_ms": SESSION_MS, **options}.items():
            command += ["--" + option.replace("_", "-"), str(value)]
        there, self.input = os.pipe()
        super().__init__(command, before=lambda: os.dup2(there, 0))
        os.close(there)
        self.offset, self.events, self.is_stopped = 0, [], False
        self.stats_ids = itertools.count(1)

    def tell(self, command):
        try:
            os.write(self.input, f"{command}\n".encode())
        except BrokenPipeError:
            raise AssertionError(f"{self.name} ended with {self.process.wait(LIMIT)}: {self.said()[-3000:]}") from None

    def look(self):
        """Every event so far: (when, what, values)."""
        with contextlib.suppress(FileNotFoundError), open(self.file) as f:
            f.seek(self.offset)
            text = f.read()
            whole = text.rfind("\n") + 1
            self.offset += whole
            self.events += [history.parsed(line) for line in text[:whole].splitlines()]
        return self.events

    def count(self, what, since=0, **values):
        return sum(w == what and at >= since and values.items() <= v.items() for at, w, v in self.look())

    def held(self):
        """Its permits that were acquired, not released, and not said to be lost: {(task, n): values}."""
        found = {}
        for _, what, v in self.look():
            key = v.get("task"), v.get("n")
            if what == "acquired":
                found[key] = v
            elif what in ("release", "lost"):
                found.pop(key, None)
        return found

    def stats(self):
        number = next(self.stats_ids)
        self.tell(f"stats {number}")
        wait_until(lambda: self.count("stats", id=number) or not self.alive(), f"{self.name} says its stats")
        require(self.alive(), f"{self.name} ended: {self.said()[-3000:]}")
        return next(v for _, what, v in self.look() if what == "stats" and v["id"] == number)

    def pause(self):
        """SIGSTOP. What it notes by then is what it has noted."""
        self.is_stopped = True
        self.send_signal(signal.SIGSTOP)
        wait_until(lambda: all(state == "T" for state in self.states()), f"{self.name} is stopped")

    def states(self):
        for thread in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{thread}/stat") as f:
                yield f.read().rpartition(")")[2].split()[0]

    def go_on(self):
        self.send_signal(signal.SIGCONT)
        self.is_stopped = False

    def end(self, command="quit"):
        """It ends as it is asked to."""
        self.tell(command)
        os.close(self.input)
        code = self.process.wait(LIMIT)
        require(code == 0, f"{self.name} ended with {code}: {self.said()[-2000:]}")


class Run:
    """Hosts of one semaphore."""
    numbers = itertools.count(1)

    def __init__(self, zks, limit=4, checks=True, name=None):
        self.zks, self.limit = zks, limit
        self.name = name or f"shop-{next(self.numbers)}"
        self.path = f"/volt/{self.name}"
        self.directory = scratch()
        self.resource = Resource(checks)
        self.limits = [(0, limit)]
        self.all, self.killed, self.stopped, self.voids = [], set(), set(), []

    def start(self, name=None, servers=None, **options):
        """Starts a host, and waits for nothing."""
        name = name or f"host{len(self.all) + 1}"
        host = Host(self, name, **{"servers": servers or self.zks.address, "name": self.name, "limit": self.limit,
                                   "resource": self.resource.address, "seed": len(self.all) + 1, **options})
        self.all.append(host)
        return host

    def hosts(self, count, **options):
        made = [self.start(**options) for _ in range(count)]
        self.progress(made)
        return made

    def running(self):
        return [h for h in self.all if h.alive() and not h.is_stopped]

    def progress(self, hosts=None, since=None, permits=2):
        """Each of these hosts (all that run) gets that many permits from now on."""
        since = since or boot_ns()
        for host in hosts or self.running():
            wait_until(lambda: host.count("acquired", since) >= permits or not host.alive(),
                       f"{host.name} gets permits: {host.said()[-1500:]}", pause=0.02)
            require(host.alive(), f"{host.name} ended: {host.said()[-3000:]}")

    # What happens to hosts.

    def kill(self, host):
        self.killed.add(host.name)
        host.kill()

    def pause(self, host):
        self.stopped.add(host.name)
        host.pause()

    # The node, as a person edits it.

    def edit(self, **values):
        """Sets lines of the node's data, such as limit=2. Returns when it was done."""
        with Zk(self.zks.address) as zk:
            while True:
                data, stat = zk.get(self.path)
                text = data.decode()
                for name, value in values.items():
                    text, found = re.subn(rf"(?m)^{name} .*$", f"{name} {value}", text)
                    equal(found, 1, f"lines {name} in {text!r}")
                with contextlib.suppress(ZkError):  # another version meanwhile
                    zk.set(self.path, text, stat.version)
                    return boot_ns()

    def limit_to(self, limit):
        before = boot_ns()
        after = self.edit(limit=limit)
        self.limits.append((before if limit > self.limit else after, limit))
        self.limit = limit

    # The end.

    def finish(self):
        """Ends all hosts; another one then gets every slot at once; checks the history."""
        for host in self.running():
            host.end()
        last = self.start("last", tasks=self.limit, hold_ms=3600000, lease_max=self.limit)
        wait_until(lambda: len({v["slot"] for v in last.held().values()}) == self.limit,
                   f"one host gets all {self.limit} slots: {last.said()[-1000:]}")
        last.end()
        told = self.history()
        require(history.all_at_once(told, "last", self.limit), "one host had all slots at once")
        self.check(told)
        return history.said(told)

    def history(self):
        told = history.History.read([h.file for h in self.all], limits=self.limits, killed=self.killed,
                                    stopped=self.stopped)
        told.add_resource(self.resource.lines)
        for void in self.voids:
            told.void_before(*void)
        return told

    def check(self, told):
        complaints = history.check(told)
        if complaints:
            kept = tempfile.mkdtemp(prefix="volt-history-")
            for host in self.all:
                shutil.copy(host.file, kept)
                with open(os.path.join(kept, f"{host.name}.log"), "w") as f:
                    f.write(host.said())
            with open(os.path.join(kept, "resource"), "w") as f:
                f.write("\n".join(self.resource.lines) + "\n")
            raise AssertionError(f"{len(complaints)} complaints, the first: {complaints[:3]}; all is in {kept}")
