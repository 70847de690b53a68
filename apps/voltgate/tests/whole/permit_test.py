#!/usr/bin/env python3
"""permit_test.py PROGRAM [--whole] [test]...: a gate that grants amounts to processes: order, limits,
kill -9 of either side, claims, changes, drain."""

import ssl

from permit_kit import *


# ---- one after the other ----

def by_hand():
    """socat is a client"""
    if not shutil.which("socat"):
        raise Skip("there is no socat")
    broker = Broker()
    hand = subprocess.Popen(["socat", "-", f"UNIX-CONNECT:{broker.path}"], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True, bufsize=1)
    at_end.callback(hand.kill)
    hand.stdin.write("hello 1\r\n")
    equal(hand.stdout.readline(), "hello 1 voltgate 1.0 main\n", "hello")
    hand.stdin.write('take cores=2 memory=4K label="by hand"\n')
    equal(hand.stdout.readline(), "granted cores=2 memory=4096 id=1 wait_ms=0\n", "take")
    equal(broker.kinds()["cores"]["held"], 2, "held")
    listed = [line for line in broker.client().list() if line.startswith("holder ")]
    require(f" pid={hand.pid} uid={os.getuid()} " in listed[0] and 'label="by hand"' in listed[0],
            f"the holder is listed: {listed}")
    hand.kill()  # -9
    hand.wait()
    broker.all_free()


def words():
    """each refusal is said in words, and once"""
    broker = Broker(more="queue = 1\nmost = memory=64K\nqueue-timeout = 60s")
    holder = broker.client("take cores=4")
    holder.granted()
    one = broker.client()
    for line, word in (("take gpu=1", "kind"), ("take cores=5", "impossible"), ("take memory=65K", "never"),
                       ("take cores=1 wait=0", "busy"), ("give cores=1", "state")):
        answer = one.ask(line)
        require(answer.startswith(f"refused {word}: ") and len(answer) < 256, f"{line}: {answer}")
    equal(one.ask("take cores=1 wait=1ms"), "queued 1", "it waits")
    require(one.line().startswith("refused timeout: "), "timeout")
    equal(one.ask("take cores=1"), "queued 1", "it waits again")
    require(one.ask("take cores=1").startswith("refused state: "), "state")
    for line, word in (("take cores=1", "full"), ("hello 2", "version"), ("bogus", "syntax"),
                       ("take cores=", "syntax"), ("x" * 1024, "syntax")):
        other = broker.client(line)
        answer = other.line()
        require(answer.startswith(f"refused {word}: "), f"{line}: {answer}")
        equal(other.line(), None, f"{word} closes")
    equal(one.ask("give"), "given", "it leaves")
    equal(one.ask("ping"), "pong", "it is still there")
    refused = broker.status()["totals"]["refused"]
    for reason, count in (("impossible", 1), ("never", 1), ("busy", 1), ("queue-timeout", 1), ("queue-full", 1)):
        equal(refused[reason], count, reason)


def who_may():
    """users and tenants by the socket's peer"""
    if os.getuid() != 0:
        raise Skip("not root")
    broker = Broker(more="users = nobody\ntenant-by = user",
                    tail="[tenant main/nobody]\nkinds = cores=1")
    os.chmod(broker.path, 0o666)
    refused = broker.client("take cores=1")
    require(refused.line().startswith("refused who: "), "root is not named")
    equal(refused.line(), None, "who closes")
    user = pwd.getpwnam("nobody")
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)
        one, other = Client(broker.path), Client(broker.path)
        said = [one.ask("take cores=2"), one.ask("take cores=1"), other.ask("take cores=1")]
        one.close()
        said.append(other.line())
        os.write(writer, "\n".join(said).encode())
        os._exit(0)
    os.waitpid(child, 0)
    said = os.read(reader, 4096).decode().split("\n")
    require(said[0].startswith("refused never: ") and said[1].startswith("granted cores=1 ") and
            said[2] == "queued 1" and said[3].startswith("granted cores=1 "), f"nobody has 1: {said}")


def cgroup_root():
    """Where cgroups (v2) are mounted, or None."""
    for line in open("/proc/mounts"):
        _, at, kind = line.split()[:3]
        if kind == "cgroup2" and os.access(at, os.W_OK):
            return at
    return None


def by_cgroup():
    """tenants by the cgroup of the process that asks: what is below a named one counts there; no pid stands for another"""
    root = cgroup_root()
    if os.getuid() != 0 or not root:
        raise Skip("no cgroups can be made")
    own = next(line.strip() for line in open("/proc/self/cgroup") if line.startswith("0::"))[3:].lstrip("/")
    name = f"voltgate-test-{os.getpid()}"
    top = os.path.join(root, own, name)
    try:
        os.makedirs(os.path.join(top, "below"))
    except OSError as e:
        raise Skip(f"no cgroups can be made: {e}")
    at_end.callback(lambda: [os.path.isdir(at) and os.rmdir(at) for at in (os.path.join(top, "below"), top)])
    broker = Broker(more="tenant-by = cgroup", tail=f"[tenant main/{os.path.join(own, name)}]\nkinds = cores=1")

    def inside(at, lines):
        """What a process in that cgroup hears."""
        reader, writer = os.pipe()
        if (child := os.fork()) == 0:
            with open(os.path.join(at, "cgroup.procs"), "w") as f:
                f.write(str(os.getpid()))
            c = Client(broker.path)
            os.write(writer, "\n".join(c.ask(line) for line in lines).encode())
            os._exit(0)
        os.waitpid(child, 0)
        os.close(writer)
        with open(reader) as f:
            return f.read().split("\n")

    for at in (top, os.path.join(top, "below")):
        said = inside(at, ("take cores=2", "take cores=1"))
        require(said[0].startswith("refused never: cores: 2 asked for, the limit is 1") and
                said[1].startswith("granted cores=1 "), f"one core: {said}")
    outside = broker.client("take cores=2")
    outside.granted()
    here, there = socket.socketpair()
    broker.send_signal(signal.SIGSTOP)  # so that it looks when the process has ended
    if (child := os.fork()) == 0:
        s = socket.socket(socket.AF_UNIX)
        s.connect(broker.path)
        socket.send_fds(there, [b"x"], [s.fileno()])
        os._exit(0)
    os.waitpid(child, 0)
    orphan = Client.of(socket.socket(fileno=socket.recv_fds(here, 1, 1)[1][0]))
    orphan.s.settimeout(LIMIT)
    broker.send_signal(signal.SIGCONT)
    require(orphan.line().startswith("refused who: "), "its cgroup is not known")
    equal(outside.ask("ping"), "pong", "others go on")


def tls():
    """over TLS, and TCP without it"""
    if not shutil.which("openssl"):
        raise Skip("there is no openssl")
    home = scratch()
    key, certificate = os.path.join(home, "key.pem"), os.path.join(home, "cert.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-subj", "/CN=localhost", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    os.chmod(key, 0o600)
    gate = Gate(ini=f"""[gate main]
protocol = permit
listen = 127.0.0.1:0
kinds = cores=2
claim-period = 0
tls = server
tls-cert = {certificate}
tls-key = {key}
[gate plain]
protocol = permit
listen = 127.0.0.1:0
kinds = cores=1
claim-period = 0
""", gates=2)
    done = subprocess.run([program(), "check", "--connect", "--config", gate.file], text=True, capture_output=True,
                          timeout=LIMIT)
    require(done.returncode == 0 and done.stdout.count(": it has no server\n") == 2, f"check --connect: {done}")
    context = ssl.create_default_context(cafile=certificate)
    context.check_hostname = False
    holder, waiter = (Client.of(context.wrap_socket(connect(gate.by_name["main"]))) for _ in range(2))
    holder.say("take cores=2")
    holder.granted()
    equal(waiter.ask("take cores=1"), "queued 1", "it waits")
    listed = [line for line in waiter.list() if line.startswith("holder ")]
    require(" pid=" not in listed[0] and " uid=" not in listed[0], f"nobody knows whose it is: {listed}")
    waiter.s.sendall(b"ping\n" * 500)  # more than one record
    for _ in range(500):
        equal(waiter.line(), "pong", "pong")
    holder.s.close()
    waiter.granted()
    waiter.close()
    plain = Client.of(connect(gate.by_name["plain"]))
    equal(plain.ask("take cores=1"), "granted cores=1 id=1 wait_ms=0", "in the clear")
    plain.close()


# ---- many at once, and killed ----

def killed():
    """clients are killed at any moment: never above the limits, in order, nothing is lost"""
    broker = Broker(f"cores={LIMITS[0]} memory={LIMITS[1]}", more="queue = 4000")  # those whose death is not seen yet, too
    dice, deaths = random.Random(7), many(400, 10000)
    crowd = Crowd(broker.path, many(24, 1000))
    for _ in range(deaths):
        crowd.replace_one(dice)
    crowd.go_on(100)
    crowd.leave(broker)
    return f"{deaths} deaths, {crowd.ledger.grants} grants, {crowd.ledger.cancels} cancels"


def waiters_leave():
    """all waiters but one are killed: the queue is empty at once, and the next is granted"""
    count = many(300, 1000)
    broker = Broker("cores=1", more="queue = 2000")
    holder = broker.client("take cores=1")
    holder.granted()
    here, there = socket.socketpair()
    if (child := os.fork()) == 0:
        here.close()
        crowd = [Client(broker.path, "take cores=1") for _ in range(count)]
        there.recv(1)  # until the test ends, if it does not kill this first
        os._exit(len(crowd) % 2)
    there.close()
    wait_until(lambda: broker.holders()[1] == count, f"{count} wait")
    last = broker.client("take cores=1")
    equal(last.line(), f"queued {count + 1}", "the last")
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    here.close()
    while (line := last.line()) != "queued 1":
        require(line.startswith("queued "), line)
    holder.close()
    last.granted()
    equal(broker.status()["totals"]["left"], count, "those that left")


# ---- the broker is killed ----

def claims():
    """kill -9 of the broker: what was held is claimed before anything else is granted"""
    broker = Broker("cores=4", claim="500ms")
    holders = [broker.client(f"take cores=2 label=h{i}") for i in range(2)]
    for c in holders:
        c.granted()
    waiter = broker.client("take cores=1")
    equal(waiter.line(), "queued 1", "it waits")
    broker.send_signal(signal.SIGKILL)
    broker.process.wait()
    for c in (*holders, waiter):
        with contextlib.suppress(ConnectionResetError):
            equal(c.line(), None, "the broker has ended")
    # Less than before: what is held still counts. The period is long, so that it ends behind the claims.
    broker = Broker("cores=3", claim="8s", directory=broker.home)
    waiter = broker.client("take cores=1")
    equal(waiter.line(), "queued 1", "a take waits")
    claimed = [broker.client(f"claim cores=2 label=h{i}") for i in range(2)]
    for c in claimed:
        require(c.line().startswith("granted cores=2 "), "it is claimed")
    equal(broker.kinds()["cores"], {"limit": 3, "held": 4, "free": 0}, "above the limit")
    wait_until(lambda: "claims are over" in broker.said(), "the period is over")
    late = broker.client("claim cores=1")
    equal(late.line(), "queued 2", "too late: as a take")
    claimed[0].close()
    waiter.granted()
    equal(broker.kinds()["cores"], {"limit": 3, "held": 3, "free": 0}, "within the limit again")
    claimed[1].close()
    late.granted()
    waiter.close()
    late.close()
    broker.all_free()


# ---- changes ----

def limits_change():
    """limits change at run time, by the file and by the command"""
    broker = Broker("cores=4 memory=1M")
    holder = broker.client("take cores=4")
    holder.granted()
    waiter = broker.client("take cores=3")
    equal(waiter.line(), "queued 1", "the first")
    other = broker.client("take cores=2")
    equal(other.line(), "queued 2", "the second")
    broker.configure(broker.text("memory=1M cores=2"))  # in another order
    equal(broker.http("POST", "/reload", "")[0], 200, "reload")
    require(waiter.line().startswith("refused impossible: "), "more than the limit is now")
    equal(holder.ask("give cores=2"), "given cores=2", "above the limit: it is nobody's")
    equal(broker.kinds()["cores"], {"limit": 2, "held": 2, "free": 0}, "as configured")
    broker.limit_to("4", what="kinds/cores")
    other.granted()
    answer = subprocess.run([program(), "limit", "main", "cores=3", "--admin", f"127.0.0.1:{broker.admin_port}"],
                            env={**os.environ, "VOLTGATE_TOKEN": broker.TOKEN}, text=True, capture_output=True)
    equal((answer.returncode, answer.stdout), (0, "gate main: cores 3, 4 are held: 1 above it\n"), answer.stderr)
    equal(broker.kinds()["cores"], {"limit": 3, "held": 4, "free": 0}, "by the command")
    for kinds, words in (("cores=4", "a kind that is new or gone needs a restart"),
                         ("cores=4 gpu=1", "a kind that is new or gone needs a restart")):
        broker.configure(broker.text(kinds))
        code, text = broker.http("POST", "/reload", "")
        require(code == 409 and words in text, f"reload {kinds}: {code} {text}")
    for path, code in (("kinds/gpu", 404), ("limit", 409), ("kinds/cores", 400)):
        equal(broker.http("PUT", f"/gates/main/{path}", "x" if code == 400 else "1")[0], code, path)


def drains():
    """a drain: no more is granted, and holders stay until they end"""
    broker = Broker("cores=1")
    holder = broker.client("take cores=1")
    holder.granted()
    waiter, idle = broker.client("take cores=1"), broker.client("ping")
    equal(waiter.line(), "queued 1", "it waits")
    equal(idle.line(), "pong", "it is there")
    broker.send_signal(signal.SIGTERM)
    for c in (waiter, idle):
        require(c.line().startswith("refused draining: "), "draining")
        equal(c.line(), None, "it is closed")
    equal(holder.ask("ping"), "pong", "the holder stays")
    require(broker.alive(), "it has not ended")
    equal(holder.ask("give"), "given", "it gives back")
    require(holder.line().startswith("refused draining: "), "then it has to go")
    equal(broker.process.wait(LIMIT), 0, "it ends")
    cut = Broker("cores=1", more="drain-timeout = 100ms")
    holder = cut.client("take cores=1")
    holder.granted()
    cut.send_signal(signal.SIGTERM)
    require(holder.line().startswith("refused draining: "), "cut off")
    equal(cut.process.wait(LIMIT), 0, "it ends, too")


# ---- what is seen ----

def seen():
    """status, queue, holders, metrics and the access log"""
    log = os.path.join(scratch(), "access.log")
    broker = Broker("cores=2 memory=4K", arguments=["--access-log", log])
    holder = broker.client('take cores=2 memory=1K label="a b" command="make -j2"')
    holder.granted()
    waiter = broker.client("take cores=1 label=w")
    waiter.line()
    status = broker.status()
    equal(status["protocol"], "permit", "protocol")
    equal([{k: v for k, v in one.items()} for one in status["kinds"]],
          [{"name": "cores", "limit": 2, "held": 2, "free": 0, "excess": 0, "waiters": 1},
           {"name": "memory", "limit": 4096, "held": 1024, "free": 3072, "excess": 0, "waiters": 0}], "kinds")
    equal((status["held"], status["queue"]["length"]), (1, 1), "clients")
    one = json.loads(broker.http("GET", "/holders?gate=main")[1])["permits"][0]
    equal((one["pid"], one["uid"], one["label"], one["command"], one["amounts"]),
          (os.getpid(), os.getuid(), "a b", "make -j2", {"cores": 2, "memory": 1024}), "the holder")
    one = json.loads(broker.http("GET", "/queue?gate=main")[1])["permits"][0]
    equal((one["place"], one["label"], one["amounts"], one["lacks"]), (1, "w", {"cores": 1}, ["cores"]), "the waiter")
    metrics = broker.http("GET", "/metrics")[1]
    for line in ('voltgate_kind_limit{gate="main",kind="memory"} 4096', 'voltgate_kind_held{gate="main",kind="cores"} 2',
                 'voltgate_kind_waiters{gate="main",kind="cores"} 1', 'voltgate_kind_excess{gate="main",kind="cores"} 0'):
        require(line in metrics, line)
    text = subprocess.run([program(), "status", "--admin", f"127.0.0.1:{broker.admin_port}"], text=True,
                          capture_output=True).stdout
    require("cores 2 of 2, memory 1024 of 4096" in text, text)
    text = subprocess.run([program(), "top", "--once", "--admin", f"127.0.0.1:{broker.admin_port}"], text=True,
                          capture_output=True).stdout
    require("held  cores 2 of 2  memory 1024 of 4096" in text and " to " not in text, text)
    holder.close()
    waiter.granted()
    waiter.close()
    wait_until(lambda: open(log).read().count("end=client") >= 2, "both are in the access log")


run_tests([], by_hand, words, who_may, by_cgroup, tls, killed, waiters_leave, claims, limits_change, drains, seen)
