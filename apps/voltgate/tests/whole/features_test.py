#!/usr/bin/env python3
"""features_test.py PROGRAM [--whole] [test]...: what PostgreSQL's clients use, with the
gate between and without, by voltgate_features (libpq) and message by message. What a client sees has
to be the same."""

import difflib

from voltgate_kit import *

HBA = """
host  all by_scram    127.0.0.1/32 scram-sha-256
host  all by_md5      127.0.0.1/32 md5
host  all by_password 127.0.0.1/32 password
local all by_scram                 scram-sha-256
local all by_md5                   md5
local all by_password              password
"""
ROLES = ["SET password_encryption = 'scram-sha-256'",
         "CREATE ROLE by_scram LOGIN PASSWORD 'secret1'",
         "CREATE ROLE by_password LOGIN PASSWORD 'secret3'", "CREATE ROLE by_trust LOGIN",
         "SET password_encryption = 'md5'", "CREATE ROLE by_md5 LOGIN PASSWORD 'secret2'"]


def features():
    return os.path.join(os.path.dirname(program()), "voltgate_features")


def libpq():
    """program that asks (it needs libpq-dev)"""
    return os.path.exists(features())


def openssl():
    return shutil.which("openssl") is not None


def database():
    """The PostgreSQL of this file; it offers TLS by the certificate of the test."""
    if not hasattr(database, "server"):
        settings = {"wal_level": "logical", "max_prepared_transactions": 2}
        if openssl():
            database.certificate, database.key = certificate(unprivileged())
            settings.update(ssl="on", ssl_cert_file=database.certificate, ssl_key_file=database.key)
        database.server = Postgres(hba=HBA, settings=settings)
        database.server.run(*ROLES)
    return database.server


def certificate(owner=None, name="localhost"):
    """A certificate for `name` and 127.0.0.1, and its key, in files of their own."""
    directory = scratch()
    cert, key = os.path.join(directory, "cert.pem"), os.path.join(directory, "key.pem")
    made = Process(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext",
                    f"subjectAltName=DNS:{name},IP:127.0.0.1", "-keyout", key, "-out", cert])
    equal(made.process.wait(LIMIT), 0, f"openssl: {made.said()}")
    os.chmod(key, 0o600)
    if owner and os.getuid() == 0:
        os.chown(key, pwd.getpwnam(owner).pw_uid, -1)
    return cert, key


def conninfo(port, more="sslmode=disable"):
    return f"host=127.0.0.1 port={port} user=postgres dbname=postgres {more}"


def run_features(*arguments):
    done = subprocess.run([features(), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=LIMIT * 5, env={**os.environ, "LC_ALL": "C", "PGPASSFILE": "/none"})
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def direct_output():
    """What is seen without a gate; every feature has to do there what its name says."""
    if not hasattr(direct_output, "text"):
        ci = conninfo(database().port)
        code, text, errors = run_features("all", ci, ci)
        require(code == 0, f"without a gate: {text[-2000:]} {errors[-500:]}")
        require(len(re.findall(r"^\w+$", text, re.M)) >= 31, "features are missing")
        direct_output.text = text
    return direct_output.text


def same_features(gate, more="sslmode=disable", only=()):
    expected = direct_output()
    ci = conninfo(gate.port, more)
    code, text, errors = run_features("all", ci, ci, *only)
    if only:
        parts = re.split(r"^(?=\w+$)", expected, flags=re.M)
        expected = "".join(p for p in parts if p.split("\n")[0] in only)
    difference = list(difflib.unified_diff(expected.splitlines(), text.splitlines(), "direct", "gate",
                                           lineterm="", n=8))
    require(not difference, "the output differs:\n    " + "\n    ".join(difference[:60])
            + f"\n  {errors[-300:]}\n  {gate.said()[-1500:]}")
    require(code == 0, f"exit code {code}: {errors}")
    gate.settle()


def test_postgres_mode():
    """postgres: every feature does what it does without a gate"""
    gate = Gate(f"127.0.0.1:{database().port}", protocol="postgres", limit=4)
    same_features(gate)
    totals = gate.status()["totals"]
    require(totals["admitted"] > 1100, f"a permit for each transaction: {totals}")
    equal(sum(totals["refused"].values()), 0, "refused")
    require(totals["cancels"] >= 3, f"cancels are counted: {totals}")
    gate.metrics()
    equal(gate.stop(), 0, "exit code")


def test_unix_upstream():
    """postgres: the same to and from a unix socket, one worker"""
    at = os.path.join(scratch(), ".s.PGSQL.5432")
    gate = Gate(f"unix:{database().socket}", protocol="postgres", limit=4, workers=1,
                listen=[f"unix:{at}", "127.0.0.1:0"], gates=2)
    gate.port = next(Gate.port_of(a) for a in gate.addresses if not a.startswith("unix:"))
    # By its socket libpq names the directory and the port.
    with Pg(f"unix:{at}") as pg:
        equal(pg.one("SELECT 7"), "7", "by the gate's unix socket")
    if whole():
        same_features(gate)
    else:
        same_features(gate, only=("session", "authentication", "pipeline", "copy", "copy_fails",
                                  "large", "cancel", "listen", "logical"))


def test_tcp_mode():
    """tcp: every feature, a permit for a connection"""
    gate = Gate(f"127.0.0.1:{database().port}", limit=10)
    same_features(gate)


def test_tls_server():
    """TLS towards clients: every feature, verified, by 1.2 and 1.3"""
    if not openssl():
        raise Skip("there is no openssl")
    cert, key = certificate()
    gate = Gate(f"127.0.0.1:{database().port}", protocol="postgres", limit=4, tls="server",
                tls_cert=cert, tls_key=key)
    same_features(gate, f"sslmode=verify-full sslrootcert={cert}")
    same_features(gate, f"sslmode=require ssl_max_protocol_version=TLSv1.2",
                  only=("session", "authentication", "pipeline", "large", "cancel"))
    same_features(gate, only=("session", "errors"))  # plain clients are let in
    required = Gate(f"127.0.0.1:{database().port}", protocol="postgres", tls="server",
                    tls_cert=cert, tls_key=key, tls_required="yes", tls_min="1.3")
    same_features(required, "sslmode=require", only=("session",))
    for more in ("sslmode=disable", "sslmode=require ssl_max_protocol_version=TLSv1.2"):
        code, text, _ = run_features("all", conninfo(required.port, more), "", "session")
        require(code != 0, f"{more}: let in: {text}")
    required.settle()


def test_server_tls():
    """TLS towards the server: every feature, of clients in the clear and by TLS with the same certificate"""
    if not openssl():
        raise Skip("there is no openssl")
    database()
    root = database.certificate
    own, key = (os.path.join(scratch(), name) for name in ("cert.pem", "key.pem"))
    for source, to in ((root, own), (database.key, key)):
        shutil.copyfile(source, to)
    gate = Gate(f"127.0.0.1:{database().port}", protocol="postgres", limit=4, server_ca=root)
    same_features(gate)
    both = Gate(f"127.0.0.1:{database().port}", protocol="postgres", limit=4, server_ca=root, tls="server",
                tls_cert=own, tls_key=key)
    same_features(both, "sslmode=require", only=() if whole() else ("session", "authentication", "large", "cancel"))


def test_tls_pass():
    """TLS end to end: a permit for a connection, SCRAM with channel binding"""
    if not openssl():
        raise Skip("there is no openssl")
    gate = Gate(f"127.0.0.1:{database().port}", protocol="postgres", limit=10, tls="pass")
    same_features(gate, "sslmode=require", only=() if whole() else (
        "session", "authentication", "pipeline", "copy", "cancel", "listen", "logical"))
    same_features(gate, "sslmode=require channel_binding=require user=by_scram password=secret1",
                  only=("simple",))
    # One that stays without doing anything holds its permit.
    if psql():
        s = subprocess.Popen(["psql", "-XqAt", conninfo(gate.port, "sslmode=require")],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        s.stdin.write(b"SELECT 1;\n")
        s.stdin.flush()
        equal(s.stdout.readline(), b"1\n", "psql")
        equal(gate.status()["held"], 1, "held by an idle session whose bytes cannot be read")
        s.stdin.close()
        s.wait(LIMIT)
    gate.settle()


# ---- message by message ----

def startup_bytes(**more):
    return pg_startup(user="postgres", database="postgres", **more)


QUERY = pg_message(b"Q", b"SELECT 'answer'\0")
BYE = pg_message(b"X")
SSL_REQUEST = struct.pack("!ii", 8, 80877103)
GSS_REQUEST = struct.pack("!ii", 8, 80877104)


def seen(port, pieces, asks=0, ready=None):
    """What a client sees that sends these pieces: answers to `asks` requests for encryption, then
    messages by kind and body until it ends; process ids are left out. `ready`: a goodbye, which is
    sent after so many ReadyForQuery."""
    found = []
    s = connect(port)
    pieces = list(pieces)
    for _ in range(asks):
        s.sendall(pieces.pop(0))
        found.append(receive(s, 1))
    for piece in pieces:
        try:
            s.sendall(piece)
        except OSError:
            break
    pg = Pg(port, s=s, start=False)
    while True:
        try:
            message = pg.message()
        except TimeoutError:
            found.append("nothing more")
            break
        except OSError:
            found.append("reset")
            break
        if message is None:
            found.append("end")
            break
        kind, body = message
        if kind == b"K":
            body = len(body)
        if kind == b"E":  # without the place in the source
            body = {k: v for k, v in PgError(body).fields.items() if k in "SVCMDH"}
        if kind == b"Z" and ready is not None:
            ready -= 1
            if ready == 0:
                s.sendall(BYE)
        found.append((kind, body))
    s.close()
    return found


def bytewise(data):
    return [data[i:i + 1] for i in range(len(data))]


def wire_cases():
    normal = startup_bytes() + QUERY
    parse = pg_message(b"P", b"s\0SELECT $1::int + 1\0\0\0")
    bind = pg_message(b"B", b"\0s\0\0\0\0\1\0\0\0\1" + b"5" + b"\0\0")
    bad_bind = pg_message(b"B", b"\0none\0\0\0\0\0\0\0")
    execute = pg_message(b"E", b"\0\0\0\0\0")
    sync, flush = pg_message(b"S"), pg_message(b"H")
    describe = pg_message(b"D", b"Ss\0")
    extended = parse + describe + bind + execute + sync
    skipped = parse + bad_bind + execute + bind + QUERY + sync + QUERY
    return {
        "all at once": [normal],
        "byte by byte": bytewise(normal),
        "startup in two": [normal[:6], normal[6:]],
        "half a length": [normal[:2], normal[2:]],
        "protocol 3.2": [pg_startup(196610, user="postgres", database="postgres"), QUERY],
        "options of a protocol to come": [startup_bytes(**{"_pq_.some_option": "on"}), QUERY],
        "unknown user": [pg_startup(user="who", database="postgres")],
        "no user": [pg_startup(database="postgres")],
        "unknown database": [pg_startup(user="postgres", database="none")],
        "protocol 2": [struct.pack("!ii", 296, 131072) + bytes(288)],
        "protocol 4": [struct.pack("!ii", 9, 4 << 16) + b"\0"],
        "queries behind each other": [startup_bytes() + QUERY * 50],
        "bytes of queries": [startup_bytes()] + bytewise(QUERY * 3),
        "extended": [startup_bytes(), extended * 3],
        "extended by bytes": [startup_bytes()] + bytewise(extended),
        "an error, skipped to Sync": [startup_bytes(), skipped],
        "a query in a pipeline": [startup_bytes(), parse + QUERY + bind + execute + sync],
        "flush": [startup_bytes(), parse + flush, bind + execute + flush, sync],
        "only Sync": [startup_bytes(), sync * 5],
        "empty": [startup_bytes(), pg_message(b"Q", b"\0")],
        "COPY data that nobody asked for": [startup_bytes(), pg_message(b"d", b"x") + pg_message(b"c")
                                             + pg_message(b"f", b"no\0") + QUERY],
        "COPY, data and query in one": [startup_bytes(), pg_message(
            b"Q", b"CREATE TEMP TABLE x (a int); COPY x FROM STDIN\0") + pg_message(b"d", b"1\n2\n")
            + pg_message(b"c") + pg_message(b"Q", b"SELECT sum(a) FROM x\0")],
        "COPY, failed, then query": [startup_bytes(), pg_message(
            b"Q", b"CREATE TEMP TABLE x (a int); COPY x FROM STDIN\0") + pg_message(b"d", b"no\n")
            + pg_message(b"d", b"more\n") + pg_message(b"c") + QUERY],
        "COPY refused, its data behind it": [startup_bytes(), pg_message(
            b"Q", b"COPY none FROM STDIN\0") + pg_message(b"d", b"no\n") + pg_message(b"c")
            + QUERY],
        "extended COPY in a pipeline": [startup_bytes(), pg_message(
            b"Q", b"CREATE TEMP TABLE x (a int)\0") + pg_message(b"P", b"\0COPY x FROM STDIN\0\0\0")
            + pg_message(b"B", b"\0\0\0\0\0\0\0\0") + execute + sync + pg_message(b"d", b"1\n")
            + pg_message(b"c") + sync + QUERY],
        "function call": [startup_bytes(), pg_message(b"F", struct.pack(
            "!IhhhIIIIh", 177, 1, 1, 2, 4, 40, 4, 2, 1)) + QUERY],
        "close and describe": [startup_bytes(), parse + pg_message(b"C", b"Ss\0") + describe + sync
                                + QUERY],
        "nothing": [startup_bytes()],
        "an unknown message": [startup_bytes(), pg_message(b"z", b"what")],
        "a password at the wrong time": [startup_bytes(), pg_message(b"p", b"secret\0")],
    }


# What the gate may say in its own words: an error that ends the connection.
OWN_WORDS = ("an unknown message", "a password at the wrong time", "protocol 2", "protocol 4",
             "no user")


def same_ending(direct, through):
    """How a refused connection ends is the kernel's: with bytes that nobody has read, by a reset."""
    return through == direct or (through[:-1] == direct[:-1]
                                 and {through[-1], direct[-1]} == {"reset", "end"})


def is_own_refusal(through):
    errors = [f[1] for f in through if isinstance(f, tuple) and f[0] == b"E"]
    return len(errors) == 1 and errors[0]["S"] == "FATAL" and errors[0]["C"] in ("08P01", "0A000",
                                                                                 "28000")


def difference(direct, through):
    """From the first one on."""
    at = next((i for i, (d, t) in enumerate(zip(direct, through)) if d != t),
              min(len(direct), len(through)))
    return f"after {at}: {str(direct[at:at + 4])[:300]} directly, {str(through[at:at + 4])[:300]} here"


def same_wire(gate, goodbye_at_once):
    wrong = []
    for name, pieces in wire_cases().items():
        direct = seen(database().port, [*pieces, BYE])
        ready = sum(isinstance(f, tuple) and f[0] == b"Z" for f in direct)
        if goodbye_at_once:
            through = seen(gate.port, [*pieces, BYE])
        else:
            through = seen(gate.port, pieces, ready=ready)
        if not same_ending(direct, through) and not (name in OWN_WORDS and is_own_refusal(through)):
            wrong.append(f"{name}: {difference(direct, through)}")
    gate.settle()
    require(not wrong, "\n    " + "\n    ".join(wrong))
    return f"{len(wire_cases())} cases"


def test_wire():
    """postgres: message by message, in pieces and in heaps, a client sees what it sees directly"""
    return same_wire(Gate(f"127.0.0.1:{database().port}", protocol="postgres", limit=2), False)


def test_goodbye():
    """postgres: the same with Terminate sent behind what is still to be answered"""
    gate = Gate(f"127.0.0.1:{database().port}", protocol="postgres", limit=2)
    said = same_wire(gate, True)
    # Nobody waits for the answer: what has been sent is still done, as without a gate.
    database().run("CREATE TABLE goodbye (a int)")
    for port in (database().port, gate.port):
        with Pg(port) as pg:
            pg.s.sendall(pg_message(b"Q", b"SELECT pg_sleep(0.05)\0")
                         + pg_message(b"Q", b"INSERT INTO goodbye VALUES (1)\0") + BYE)
            pg.s.shutdown(socket.SHUT_WR)
            receive_all(pg.s)
    wait_until(lambda: database().run("SELECT count(*) FROM goodbye")[0] == [["2"]],
               "both statements have been run")
    gate.settle()
    return said


def test_encryption_requests():
    """SSLRequest and GSSENCRequest are answered by N, in any order, and the session goes on"""
    gate = Gate(f"127.0.0.1:{database().port}", protocol="postgres", limit=2)
    for asks in ([SSL_REQUEST], [GSS_REQUEST], [GSS_REQUEST, SSL_REQUEST], [SSL_REQUEST, GSS_REQUEST]):
        s = connect(gate.port)
        for ask in asks:
            for byte in bytewise(ask):
                s.sendall(byte)
            equal(receive(s, 1), b"N", "answer")
        with Pg(None, s=s, start=False) as pg:
            pg.s.sendall(startup_bytes())
            pg.until_ready()
            equal(pg.one("SELECT 3"), "3", "and goes on")
    gate.settle()


def test_malformed():
    """malformed startup packets and messages are refused with 08P01, counted, and hurt nobody"""
    gate = Gate(f"127.0.0.1:{database().port}", protocol="postgres", limit=2)
    with Pg(gate.port) as neighbour:
        cases = {
            "length 0": struct.pack("!ii", 0, 196608),
            "length 3": struct.pack("!ii", 3, 196608),
            "length 7": struct.pack("!i", 7) + b"abc",
            "negative": struct.pack("!ii", -5, 196608),
            "huge": struct.pack("!ii", 1 << 30, 196608),
            "HTTP": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            "no terminator": struct.pack("!ii", 13, 196608) + b"user\0",
            "name without value": struct.pack("!ii", 14, 196608) + b"user\0\0",
            "TLS at once": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100),
            "message length 0": startup_bytes() + b"Q\0\0\0\0SELECT 1\0",
            "message length 3": startup_bytes() + b"Q\0\0\0\3SELECT 1\0",
            "message length negative": startup_bytes() + b"Q\xff\xff\xff\xffSELECT 1\0",
            "zero bytes": startup_bytes() + bytes(64),
            "0xff": startup_bytes() + b"\xff" * 64,
        }
        before = gate.refused("protocol")
        silent = []
        for name, data in cases.items():
            s = connect(gate.port)
            s.sendall(data)
            answer, how = receive_all(s)
            require(how != "timeout", f"{name}: nothing happens: {answer}")
            if b"C08P01\0" not in answer and b"C0A000\0" not in answer and name != "TLS at once":
                silent.append((name, answer[-200:], how))
            s.close()
            equal(neighbour.one("SELECT 'unhurt'"), "unhurt", "a neighbour")
        require(not silent, f"no 08P01: {silent}")
        wait_until(lambda: gate.refused("protocol") - before >= len(cases) - 3,
                   f"counted as protocol, of {len(cases)}: {gate.status()['totals']}")
    gate.settle()


def test_one_permit():
    """postgres with limit 1: idle sessions hold nothing, sessions take turns, order is kept"""
    gate = Gate(f"127.0.0.1:{database().port}", protocol="postgres", limit=1, queue_timeout="30s")
    sessions = [Pg(gate.port) for _ in range(20)]
    equal(gate.status()["held"], 0, "held by idle sessions")
    sessions[0].query("BEGIN")
    equal(gate.status()["held"], 1, "held in a transaction")
    for i, pg in enumerate(sessions[1:]):
        pg.send("SELECT pg_backend_pid(), txid_current(), clock_timestamp()")
        wait_until(lambda: gate.queue_length() == i + 1, f"{i + 1} wait")
    code, text = gate.http("GET", "/queue?gate=main&limit=100")
    waiting = json.loads(text)["waiting"]
    equal([w["position"] for w in waiting], list(range(1, 20)), "positions")
    require(sorted(w["ticket"] for w in waiting) == [w["ticket"] for w in waiting], "tickets rise")
    require(all(w["age_s"] >= x["age_s"] for w, x in zip(waiting, waiting[1:])), "ages fall")
    sessions[0].query("COMMIT")
    rows = [pg.until_ready()[0] for pg in sessions[1:]]
    transactions = [int(row[1]) for row in rows]
    equal(transactions, sorted(transactions), "the order of transactions")
    # COPY BOTH gives the permit back when it begins.
    with Pg(gate.port, replication="database") as pg:
        at = pg.query("IDENTIFY_SYSTEM")[0][2]
        pg.send(f"START_REPLICATION PHYSICAL {at}")
        while pg.message()[0] != b"W":
            pass
        equal(sessions[3].one("SELECT 'beside it'"), "beside it", "beside a replication")
        pg.s.close()
    for pg in sessions:
        pg.close()
    gate.settle()


def test_cancel():
    """a cancel request hits its query, among busy neighbours, and no other"""
    gate = Gate(f"127.0.0.1:{database().port}", protocol="postgres", limit=6, queue_timeout="60s")
    tries = many(100, 1000)
    code, text, errors = run_features("cancel", str(tries), "12", conninfo(gate.port))
    require(code == 0, f"{text} {errors[-500:]}")
    gate.settle()
    require(gate.status()["totals"]["cancels"] >= tries, f"counted: {gate.status()['totals']}")
    # While every permit is held a cancel request passes at once: it is what frees one.
    gate.limit_to(1)
    with Pg(gate.port) as busy, Pg(gate.port) as queued:
        busy.send("SELECT pg_sleep(600)")
        wait_until(lambda: gate.status()["held"] == 1, "it runs")
        queued.send("SELECT 'next'")
        wait_until(lambda: gate.queue_length() == 1, "one waits")

        def cancelled():
            s = connect(gate.port)
            s.sendall(struct.pack("!ii", 16, 80877102) + busy.key)
            receive_all(s)
            s.close()
            return select.select([busy.s], [], [], 0.1)[0]
        wait_until(cancelled, "the query ends")
        try:
            busy.until_ready()
            raise AssertionError("it has not been cancelled")
        except PgError as e:
            equal(e.code, "57014", "error")
        equal(queued.until_ready(), [["next"]], "the next one")
    gate.settle()
    return text.strip()


run_tests([gate_is_there, postgres, libpq], test_postgres_mode, test_unix_upstream, test_tcp_mode,
          test_tls_server, test_server_tls, test_tls_pass, test_wire, test_goodbye, test_encryption_requests, test_malformed,
          test_one_permit, test_cancel)
