#!/usr/bin/env python3
"""reload_test.py PROGRAM [--whole] [test]...: configurations that change under load, ends that
are graceful, sockets that others have made, a new process in the place of the old one."""

import fcntl
import ssl

from voltgate_kit import *


class Load:
    """Clients that connect, ask, and are answered, over and over; what went wrong is kept."""

    def __init__(self, address, count=8):
        self.address, self.stop, self.served, self.wrong = address, False, 0, []
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(count)]

    def once(self):
        s = connect(self.address)
        try:
            s.sendall(b"ask")
            equal(receive_all(s), (b"ask", "end"), "answer")
        finally:
            s.close()

    def run(self):
        while not self.stop:
            try:
                self.once()
                self.served += 1
            except (OSError, AssertionError) as e:
                self.wrong.append(f"{type(e).__name__} {e}")

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop = True
        for thread in self.threads:
            thread.join(LIMIT)

    def goes_on(self):
        seen = self.served
        wait_until(lambda: self.served >= seen + 20 or self.wrong, "the load goes on")
        require(not self.wrong, f"{len(self.wrong)} went wrong: {self.wrong[:3]}")


def ini(upstream, limit=4, more="", listen="127.0.0.1:0", head="", tail=""):
    return f"""[voltgate]
{head}
[gate main]
listen = {listen}
to = 127.0.0.1:{upstream.port}
limit = {limit}
queue-timeout = 30s
{more}
{tail}
"""


def reloads(gate, how):
    """The n-th reload has been done."""
    before = len(re.findall(r"reload", gate.said()))
    if how == "signal":
        gate.send_signal(signal.SIGHUP)
        wait_until(lambda: len(re.findall(r"reload", gate.said())) > before, "the log says it")
    else:
        equal(gate.http("POST", "/reload")[0], 200, "POST /reload")


def test_reload():
    """reload under load by SIGHUP and POST: limits, gates that come and go; nobody notices"""
    upstream = Upstream(hold=0.002)
    gate = Gate(ini=ini(upstream))
    address = gate.address
    with Load(address) as load:
        load.goes_on()
        for turn, how in enumerate(["signal", "post"] * many(2, 20)):
            limit = 2 + turn
            gate.configure(ini(upstream, limit, f"queue = {500 + turn}\ntenant-by = source",
                               tail=f"""[gate second]
listen = 127.0.0.1:0
to = 127.0.0.1:{upstream.port}
limit = 7
"""))
            reloads(gate, how)
            wait_until(lambda: gate.status("main")["limit"] == limit, f"limit {limit}")
            equal(gate.status("main")["queue"]["bound"], 500 + turn, "queue")
            wait_until(lambda: len(gate.whole_status()["gates"]) == 2, "two gates")
            second = gate.status("second")["listen"][0]
            Load(second).once()
            load.goes_on()
            gate.configure(ini(upstream, limit))
            reloads(gate, how)
            wait_until(lambda: len(gate.whole_status()["gates"]) == 1, "one gate")

            def refused():
                try:
                    connect(second).close()
                    return False
                except OSError:
                    return True
            wait_until(refused, "the second one listens no more")
            load.goes_on()
            gate.metrics()
    require(not load.wrong, f"{load.wrong[:3]}")
    gate.settle("main")
    return f"{load.served} served meanwhile"


def test_descriptors_are_said_once():
    """too few descriptors for the clients that were asked for: one warning, and anew when they change"""
    upstream = Upstream()

    def said():
        return [line for line in gate.said().splitlines() if "descriptors: of 128" in line]
    gate = Gate(ini=ini(upstream, more="clients = 50"), descriptors=128)
    equal(said(), [], "50 of them fit")
    for clients, lines in ((500, 1), (500, 1), (600, 2), (50, 2), (500, 3)):
        gate.configure(ini(upstream, more=f"clients = {clients}"))
        reloads(gate, "post")
        wait_until(lambda: len(said()) >= lines, f"{clients} clients: {said()}")
        equal(len(said()), lines, f"{clients} clients: {said()}")
    require("level=warn" in said()[0] and "set nofile" in said()[0], said()[0])
    gate = Gate(ini=ini(upstream), descriptors=128)  # clients: a preset
    wait_until(lambda: said(), "what it serves at once")
    require("level=info" in said()[0] and "set nofile" not in said()[0], said()[0])


def test_gate_that_goes_while_its_server_is_away():
    """a gate that is not configured any more does not look for its server any more"""
    upstream = Upstream()
    dead, other = keep_port(), keep_port()

    def away(name, port):
        return f"""[gate {name}]
listen = 127.0.0.1:0
to = 127.0.0.1:{port}
breaker = 1
breaker-retry = 10ms
"""
    gate = Gate(ini=ini(upstream, tail=away("goes", dead) + away("stays", other)), gates=3)
    for name in ("goes", "stays"):
        equal(receive_all(connect(gate.by_name[name])), (b"", "end"), name)
        wait_until(lambda: gate.status(name)["state"] == "breaker", f"the breaker of {name}")
    gate.configure(ini(upstream, tail=away("stays", other)))
    reloads(gate, "post")
    wait_until(lambda: "gate=goes msg=drained" in gate.said(), "it has gone")
    with socket.create_server(("127.0.0.1", dead)) as listener:
        listener.setblocking(False)
        before = gate.status("stays")["totals"]["connect_failures"]
        wait_until(lambda: gate.status("stays")["totals"]["connect_failures"] > before + 10,
                   "the other looks again and again")
        try:
            listener.accept()
            require(False, "the gate that has gone looks, too")
        except BlockingIOError:
            pass


def test_wrong_configuration():
    """a configuration that is wrong changes nothing, and is told with its line"""
    upstream = Upstream(hold=0.002)
    gate = Gate(ini=ini(upstream))
    good = ini(upstream)
    with Load(gate.address) as load:
        for text, word in ((good.replace("limit = 4", "limit = many"), "limit"),
                           (good.replace("limit = 4", "limit = 0"), "limit"),
                           (good + "no-such-key = 5\n", "no-such-key"),
                           (good.replace("queue-timeout = 30s", "queue-timeout = 30"), "queue-timeout"),
                           (good + "tls = server\ntls-cert = /none.pem\ntls-key = /none.pem\n", "none.pem"),
                           (good + "[gate other]\nlisten = 127.0.0.1:0\n", "to"),
                           ("nonsense\n", ""), ("", "")):
            before = gate.status("main")
            gate.configure(text)
            code, answer = gate.http("POST", "/reload")
            equal(code, 409, f"{word}: {answer}")
            answer = json.loads(answer)
            equal(answer["ok"], False, "ok")
            require(word in answer["error"], f"{word} in {answer['error']}")
            gate.send_signal(signal.SIGHUP)
            load.goes_on()
            after = gate.status("main")
            equal([after[k] for k in ("limit", "listen", "to")], [before[k] for k in ("limit", "listen", "to")],
                  "the gate")
        os.unlink(gate.file)
        equal(gate.http("POST", "/reload")[0], 409, "no file")
        gate.configure(good.replace("limit = 4", "limit = 5"))
        equal(gate.http("POST", "/reload")[0], 200, "a right one")
        equal(gate.status("main")["limit"], 5, "limit")
        load.goes_on()


def test_what_needs_a_restart():
    """workers and the like: told in the log; listen: the new address is taken, sessions go on"""
    upstream = Upstream()
    gate = Gate(ini=ini(upstream, head="io = epoll"))
    old = gate.address
    s = connect(old)
    s.sendall(b"stays")
    wait_until(lambda: upstream.count() == 1, "it is served")
    gate.configure(ini(upstream, head="io = auto", listen="127.0.0.1:0,127.0.0.2:0"))
    equal(gate.http("POST", "/reload")[0], 200, "reload")
    wait_until(lambda: "restart" in gate.said(), f"the log says what needs a restart: {gate.said()}")
    listen = gate.status("main")["listen"]
    equal(len(listen), 2, f"listens on {listen}")
    upstream.release()
    equal(receive_all(s)[0], b"stays", "the session that was there")
    s.close()
    upstream.hold = 0
    for address in listen:
        Load(address).once()
    gate.settle("main")
    # The address that it got, in words; and another one on its port, which may need a restart, but
    # does no harm.
    gate = Gate(ini=ini(upstream, listen="0.0.0.0:0"))
    port = gate.port
    for listen, codes in ((f"0.0.0.0:{port}", (200,)), (f"127.0.0.1:{port}", (200, 409))):
        gate.configure(ini(upstream, listen=listen))
        code, answer = gate.http("POST", "/reload")
        require(code in codes, f"{listen}: {code} {answer}")
        Load(f"127.0.0.1:{port}").once()


def certificate_seen(port):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    s = context.wrap_socket(connect(port))
    return s, s.getpeercert(binary_form=True)


def make_certificate(directory, name):
    cert, key = os.path.join(directory, "cert.pem"), os.path.join(directory, "key.pem")
    made = Process(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-nodes", "-days", "2", "-subj", f"/CN={name}", "-keyout", key, "-out", cert])
    equal(made.process.wait(LIMIT), 0, made.said())
    os.chmod(key, 0o600)
    return cert, key


def test_certificate():
    """a new certificate is taken at a reload; connections that are there stay"""
    if not shutil.which("openssl"):
        raise Skip("there is no openssl")
    directory = scratch()
    cert, key = make_certificate(directory, "first")
    upstream = Upstream()
    gate = Gate(ini=ini(upstream, more=f"tls = server\ntls-cert = {cert}\ntls-key = {key}"))
    old, first = certificate_seen(gate.port)
    old.sendall(b"stays")
    wait_until(lambda: upstream.count() == 1 and upstream.arrived[0].bytes, "it is served")
    make_certificate(directory, "second")
    again, still = certificate_seen(gate.port)
    equal(still, first, "before the reload")
    again.close()
    reloads(gate, "signal")

    def changed():
        s, seen = certificate_seen(gate.port)
        s.close()
        return seen != first
    wait_until(changed, "the new certificate")
    # One that is broken is told, and the one before stays.
    with open(key, "w") as f:
        f.write("no key\n")
    equal(gate.http("POST", "/reload")[0], 409, "a broken key")
    s, seen = certificate_seen(gate.port)
    s.close()
    require(seen != first, "the second one is still used")
    upstream.release()
    equal(receive_all(old)[0], b"stays", "the old connection")
    old.close()
    gate.settle("main")


def gate_file(gate):
    with open(gate.file) as f:
        return f.read()


def test_logs():
    """SIGUSR1 reopens the logs, SIGUSR2 writes the status into the log"""
    upstream = Upstream(hold=0)
    directory = scratch()
    log, access = os.path.join(directory, "log"), os.path.join(directory, "access")
    gate = Gate(f"127.0.0.1:{upstream.port}", log=log, access_log=access)
    one = Load(gate.address)
    one.once()

    def text(path):
        try:
            with open(path) as f:
                return f.read()
        except FileNotFoundError:
            return ""
    wait_until(lambda: "end=server" in text(access) or "end=client" in text(access), "a line")
    for path in (log, access):
        os.rename(path, path + ".1")
    gate.send_signal(signal.SIGUSR1)
    # A file is there before the log's thread writes to it: until then lines go to the one before.
    sessions = 1

    def lines():
        return [text(access + ".1").count("end="), text(access).count("end=")]

    def is_switched():
        nonlocal sessions
        one.once()
        sessions += 1
        wait_until(lambda: sum(lines()) >= sessions, "the line of a session, in either file")
        equal(sum(lines()), sessions, "a line for each session")
        return lines()[1] > 0
    wait_until(is_switched, "a line in the new one")
    before = lines()
    one.once()
    wait_until(lambda: sum(lines()) > sessions, "another line")
    equal(lines(), [before[0], before[1] + 1], "lines in the old and the new one")
    gate.send_signal(signal.SIGUSR2)
    wait_until(lambda: "held" in text(log) or "held" in gate.said(), "the status is in the log")


def test_drain():
    """SIGTERM: no new clients, running ones end by themselves, exit code 0; a second one ends at once"""
    upstream = Upstream()
    gate = Gate(f"127.0.0.1:{upstream.port}", limit=2)
    crowd = [connect(gate.address) for _ in range(2)]
    for s in crowd:
        s.sendall(b"running")
    wait_until(lambda: upstream.count() == 2 and all(c.bytes for c in upstream.arrived), "they run")
    gate.send_signal(signal.SIGTERM)
    wait_until(lambda: gate.whole_status()["state"] == "draining", "it drains")
    time.sleep(0.1)
    require(gate.alive(), "it waits for those who run")
    upstream.release()
    for s in crowd:
        equal(receive_all(s), (b"running", "end"), "answer")
        s.close()
    equal(gate.process.wait(LIMIT), 0, "exit code")
    # drain-timeout.
    gate = Gate(f"127.0.0.1:{upstream.port}", limit=2, drain_timeout="300ms")
    s = connect(gate.address)
    s.sendall(b"never ends")
    wait_until(lambda: upstream.count() == 1, "it runs")
    begun = time.monotonic()
    equal(gate.stop(), 0, "exit code")
    took = time.monotonic() - begun
    require(took > 0.29, f"after {took:.2f} s of 0.3")
    in_time(took, 5, "it ends")
    s.close()
    upstream.release()
    # A second signal.
    gate = Gate(f"127.0.0.1:{upstream.port}", limit=2)
    s = connect(gate.address)
    s.sendall(b"never ends")
    wait_until(lambda: upstream.count() == 1, "it runs")
    gate.send_signal(signal.SIGTERM)
    wait_until(lambda: gate.whole_status()["state"] == "draining", "it drains")
    begun = time.monotonic()
    gate.stop(signal.SIGINT)
    in_time(time.monotonic() - begun, 5, "it ends")
    s.close()
    # By HTTP.
    gate = Gate(f"127.0.0.1:{upstream.port}", limit=2)
    equal(gate.http("POST", "/drain", token=False)[0], 401, "without a token")
    equal(gate.http("POST", "/drain")[0], 200, "POST /drain")
    equal(gate.process.wait(LIMIT), 0, "exit code")


def test_drain_postgres():
    """SIGTERM: a transaction that runs is finished, idle sessions are told"""
    if not postgres():
        raise Skip("there is no PostgreSQL")
    server = Postgres()
    gate = Gate(f"127.0.0.1:{server.port}", protocol="postgres", limit=2)
    idle, running = Pg(gate.address), Pg(gate.address)
    running.query("BEGIN")
    running.query("CREATE TABLE drained (a int)")
    gate.send_signal(signal.SIGTERM)
    try:
        idle.until_ready()
    except PgError as e:
        require(e.code in ("57P01", "57P03"), f"an idle one is told: {e}")
    running.query("INSERT INTO drained VALUES (1)")
    running.send("COMMIT")
    kinds = [running.message()[0] for _ in range(2)]
    equal(kinds, [b"C", b"Z"], "the answer to COMMIT")
    try:
        running.until_ready()
    except (PgError, ConnectionError) as e:
        require(not isinstance(e, PgError) or e.code in ("57P01", "57P03"), f"{e}")
    equal(gate.process.wait(LIMIT), 0, "exit code")
    equal(server.run("SELECT count(*) FROM drained")[0], [["1"]], "the transaction")


def test_systemd():
    """LISTEN_FDS with names, NOTIFY_SOCKET: ready, reloading, stopping"""
    upstream = Upstream(hold=0)
    listener = socket.create_server(("127.0.0.1", 0))
    other = socket.create_server(("127.0.0.1", 0))
    path = os.path.join(scratch(), "notify")
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.bind(path)
    notify.settimeout(20)

    def give():
        spare = [fcntl.fcntl(s.fileno(), fcntl.F_DUPFD, 60) for s in (listener, other)]
        for i, fd in enumerate(spare):
            os.dup2(fd, 3 + i, inheritable=True)
    gate = Gate(ini=f"""[gate main]
listen = fd:front
to = 127.0.0.1:{upstream.port}
[gate side]
listen = fd:side
to = 127.0.0.1:{upstream.port}
""", env={"LISTEN_FDS": "2", "LISTEN_FDNAMES": "front:side", "NOTIFY_SOCKET": path}, fds=(3, 4),
                before=give, gates=2, wrap=["sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh"])

    def hear(word):
        heard = b""
        while word not in heard.split(b"\n"):
            heard = notify.recv(4096)
        return heard
    hear(b"READY=1")
    for s in (listener, other):
        Load(s.getsockname()[1]).once()
    equal(gate.status("side")["totals"]["accepted"], 1, "accepted at the side")
    gate.configure(gate_file(gate) + "limit = 3\n")
    gate.send_signal(signal.SIGHUP)
    hear(b"RELOADING=1")
    hear(b"READY=1")
    equal(gate.status("side")["limit"], 3, "limit")
    Load(listener.getsockname()[1]).once()
    gate.send_signal(signal.SIGTERM)
    hear(b"STOPPING=1")
    equal(gate.process.wait(LIMIT), 0, "exit code")
    notify.close()


def run_program(*arguments, **named):
    done = subprocess.run([program(), *arguments], capture_output=True, timeout=LIMIT, **named)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_commands():
    """check, status, limit, reload, drain, top --once: exit codes and words"""
    upstream = Upstream(hold=0)
    gate = Gate(ini=ini(upstream))
    token = os.path.join(scratch(), "token")
    with open(token, "w") as f:
        f.write(Gate.TOKEN + "\n")
    os.chmod(token, 0o600)
    admin = ["--admin", f"127.0.0.1:{gate.admin_port}"]
    equal(run_program("check", "--config", gate.file)[0], 0, "check")
    wrong = os.path.join(scratch(), "wrong.ini")
    with open(wrong, "w") as f:
        f.write("[gate main]\nlisten = :0\nto = 127.0.0.1:1\nlimit = -4\n")
    code, _, errors = run_program("check", "--config", wrong)
    require(code == 2 and "limit" in errors and "4" in errors, f"check: {code} {errors}")
    with open(wrong, "w") as f: # neither the certificate nor the key is one
        f.write(f"[gate main]\nlisten = :0\nto = 127.0.0.1:1\ntls = server\n"
                f"tls-cert = {token}\ntls-key = {token}\n")
    code, _, errors = run_program("check", "--config", wrong)
    require(code == 2 and f"gate main: tls: certificate in {token}" in errors, f"check: {code} {errors}")
    code, _, errors = run_program("--limit", "3")
    require(code == 2 and errors, f"no gate: {code} {errors}")
    code, _, errors = run_program("--listen", gate.address, "--to", "127.0.0.1:1")
    require(code == 1 and "in use" in errors.lower(), f"an address in use: {code} {errors}")
    code, out, errors = run_program("status", *admin)
    require(code == 0 and "main" in out, f"status: {code} {out} {errors}")
    code, out, errors = run_program("limit", "main", "9", *admin, "--token-file", token)
    require(code == 0 and gate.status()["limit"] == 9, f"limit: {code} {out} {errors}")
    code, out, errors = run_program("limit", "main", "10", *admin, env={**os.environ,
                                                                         "VOLTGATE_TOKEN": "wrong"})
    require(code == 1 and gate.status()["limit"] == 9, f"a wrong token: {code} {out} {errors}")
    code, out, errors = run_program("limit", "none", "9", *admin, "--token-file", token)
    require(code == 1 and "gate" in errors, f"no such gate: {code} {out} {errors}")
    code, out, errors = run_program("top", "--once", *admin)
    require(code == 0 and "main" in out, f"top: {code} {out} {errors}")
    equal(run_program("reload", *admin, "--token-file", token)[0], 0, "reload")
    equal(gate.status()["limit"], 4, "the limit is the file's again")
    wait_until(lambda: "limit 9 -> 4, as configured" in gate.said(), "the log says so")
    equal(run_program("--version")[0], 0, "--version")
    code, out, _ = run_program("--help")
    require(code == 0 and "--listen" in out, "--help")
    equal(run_program("drain", *admin, "--token-file", token)[0], 0, "drain")
    equal(gate.process.wait(LIMIT), 0, "exit code")
    code, _, errors = run_program("status", *admin)
    require(code == 1 and errors, f"nobody is there: {code} {errors}")


def test_guard():
    """the admin side: no change without the token, from elsewhere, or by another site"""
    upstream = Upstream(hold=0)
    gate = Gate(f"127.0.0.1:{upstream.port}", limit=3)

    def put(**headers):
        return gate.http("PUT", "/gates/main/limit", "9", headers={k.replace("_", "-"): v
                                                                    for k, v in headers.items()})[0]
    equal(gate.http("PUT", "/gates/main/limit", "9", token=False)[0], 401, "no token")
    equal(put(Authorization="Bearer wrong"), 401, "a wrong token")
    require(put(Origin="http://evil.example") in (400, 403), "another origin")
    require(put(Origin="null") in (400, 403), "no origin")
    require(put(Host="evil.example") in (400, 403, 421), "another host")
    require(gate.http("GET", "/status", headers={"Host": "evil.example"})[0] in (400, 403, 421),
            "a name that is not ours (DNS rebinding)")
    equal(gate.status()["limit"], 3, "the limit")
    equal(put(Origin=f"http://127.0.0.1:{gate.admin_port}"), 200, "our own")
    for body in ("", "0", "-1", "1000001", "9x", "1e3", " 9 9", "99999999999999999999"):
        code = gate.http("PUT", "/gates/main/limit", body)[0]
        require(400 <= code < 500, f"limit {body!r}: {code}")
    equal(gate.http("PUT", "/gates/none/limit", "3")[0], 404, "no such gate")
    require(gate.http("GET", "/gates/main/limit")[0] in (404, 405), "GET of a limit")
    equal(gate.http("GET", "/nothing")[0], 404, "no such page")
    require(gate.http("PATCH", "/status")[0] in (405, 501), "PATCH")
    equal(gate.status()["limit"], 9, "the limit")
    code, page = gate.http("GET", "/")
    require(code == 200 and "<html" in page.lower(), "the page")
    require(not re.search(r'(?:src|href)\s*=\s*["\']?(?:https?:)?//', page), "the page loads nothing")


def test_hot_restart():
    """hot restart: not one connect is refused, the limit holds for both together, sessions go on"""
    upstream = Upstream(hold=0.002)
    path = os.path.join(scratch(), "handover")
    address = f"127.0.0.1:{keep_port()}"
    named = dict(limit=4, queue_timeout="30s", handover=path, listen=address)
    gate = Gate(f"127.0.0.1:{upstream.port}", **named)
    if not os.path.exists(path):
        raise Skip("this voltgate hands nothing over")
    with Load(address, count=16) as load:
        load.goes_on()
        for _ in range(many(3, 20)):
            long_one = connect(address)
            long_one.sendall(b"ask")
            new = Gate(f"127.0.0.1:{upstream.port}", take_over=path, **named)
            equal(receive_all(long_one), (b"ask", "end"), "the answer to one of before")
            long_one.close()
            equal(gate.process.wait(20), 0, f"the old one ends: {gate.said()[-500:]}")
            gate = new
            load.goes_on()
    require(not load.wrong, f"{len(load.wrong)} went wrong: {load.wrong[:3]}")
    require(upstream.most <= 4, f"{upstream.most} at once")
    gate.settle("main")
    return f"{load.served} served, {upstream.most} at once at most"


run_tests([gate_is_there], test_reload, test_descriptors_are_said_once, test_gate_that_goes_while_its_server_is_away,
          test_wrong_configuration, test_what_needs_a_restart,
          test_certificate, test_logs, test_drain, test_drain_postgres, test_systemd, test_commands,
          test_guard, test_hot_restart)
