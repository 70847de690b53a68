#!/usr/bin/env python3
"""server_tls_test.py PROGRAM [--whole] [test]...: TLS towards the server: what is checked, in which words
a client hears what is wrong, and what becomes of SCRAM with channel binding. The servers are a PostgreSQL and
a redis with certificates of an authority that openssl makes here, and a server in Python."""

import ssl
import threading

from voltgate_kit import *

HBA = "hostssl all by_scram 127.0.0.1/32 scram-sha-256\nhostnossl all all 127.0.0.1/32 trust\n"


def openssl():
    """openssl"""
    return shutil.which("openssl") is not None


def run_openssl(*arguments):
    made = Process(["openssl", *arguments])
    equal(made.process.wait(LIMIT), 0, f"openssl {arguments}: {made.said()}")


class Authority:
    """A root, and certificates by it."""

    def __init__(self, name="authority"):
        self.directory = scratch()
        self.root = os.path.join(self.directory, "root.pem")
        self.key = os.path.join(self.directory, "root.key")
        run_openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "2", "-subj", f"/CN={name}", "-keyout", self.key, "-out", self.root)

    def make(self, name, names="DNS:localhost,IP:127.0.0.1", days=2):
        """The paths of a certificate and its key. days: -1: it has expired."""
        cert, key, request, extensions = (os.path.join(self.directory, f"{name}.{end}")
                                          for end in ("pem", "key", "csr", "ext"))
        with open(extensions, "w") as f:
            f.write(f"subjectAltName={names}\n")
        run_openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                    f"/CN={name}", "-keyout", key, "-out", request)
        run_openssl("x509", "-req", "-in", request, "-CA", self.root, "-CAkey", self.key, "-set_serial",
                    str(abs(hash(name)) + 1), "-days", str(days), "-extfile", extensions, "-out", cert)
        os.chmod(key, 0o600)
        return cert, key


class Tls(Postgres):
    """A PostgreSQL with ssl = on, whose certificate can be exchanged."""

    def __init__(self):
        self.authority = Authority()
        self.cert, self.key = (os.path.join(scratch(), name) for name in ("cert.pem", "key.pem"))
        self.kinds = {"good": self.authority.make("good"),
                      "expired": self.authority.make("expired", days=-1),
                      "other name": self.authority.make("other", "DNS:other.example"),
                      "untrusted": Authority("stranger").make("good")}
        os.chmod(os.path.dirname(self.cert), 0o755)
        self.put("good")
        super().__init__(hba=HBA, settings={"ssl": "on", "ssl_cert_file": self.cert, "ssl_key_file": self.key})
        self.run("SET password_encryption = 'scram-sha-256'", "CREATE ROLE by_scram LOGIN PASSWORD 'secret'")

    def put(self, kind):
        for source, to in zip(self.kinds[kind], (self.cert, self.key)):
            shutil.copyfile(source, to + ".new")
            os.chmod(to + ".new", 0o600)
            if unprivileged():
                os.chown(to + ".new", pwd.getpwnam(unprivileged()).pw_uid, -1)
            os.rename(to + ".new", to)

    def show(self, kind):
        """From now on it shows this certificate."""
        self.put(kind)
        self.run("SELECT pg_reload_conf()")
        with open(self.cert) as f:
            wanted = ssl.PEM_cert_to_DER_cert(f.read())
        wait_until(lambda: self.shown() == wanted, f"the server shows {kind}")

    def shown(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with socket.create_connection(("127.0.0.1", self.port), LIMIT) as s:
            s.sendall(struct.pack("!ii", 8, 80877103))
            equal(s.recv(1), b"S", "the answer to SSLRequest")
            with context.wrap_socket(s) as tls:
                return tls.getpeercert(True)


def server():
    if not hasattr(server, "one"):
        server.one = Tls()
    return server.one


def gate_to(one, **options):
    return Gate(options.pop("to", None) or f"127.0.0.1:{one.port}", protocol="postgres", **options)


def is_encrypted(gate):
    with Pg(gate.port) as pg:
        return pg.one("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")


def refusal(gate):
    """In which words a client is refused."""
    try:
        Pg(gate.port).close()
        return "let in"
    except PgError as e:
        return str(e.message)


# ---- what is checked ----

WORDS = {"expired": "has expired", "other name": "is not for this name: 127.0.0.1",
         "untrusted": "is not trusted"}
FAILS = {"verify-full": ("expired", "other name", "untrusted"), "verify-ca": ("expired", "untrusted"),
         "require": ()}


def test_modes():
    """verify-full, verify-ca, require: which certificates are taken, and the words for the others"""
    root = server().authority.root
    gates = {mode: gate_to(server(), server_tls=mode, breaker=0,
                           **({} if mode == "require" else {"server_ca": root})) for mode in FAILS}
    try:
        for kind in server().kinds:
            server().show(kind)
            for mode, gate in gates.items():
                if kind not in FAILS[mode]:
                    equal(is_encrypted(gate), "t", f"{mode}, {kind}: TLS")
                    continue
                said = refusal(gate)
                require(WORDS[kind] in said and "no connection to the server" in said, f"{mode}, {kind}: {said}")
    finally:
        server().show("good")
    for mode, gate in gates.items():
        equal(gate.refused("connect"), len(FAILS[mode]), f"{mode}: refused")
        if FAILS[mode]:
            wait_until(lambda: "cannot connect" in gate.said() and "has expired" in gate.said(), "the log says the first")


def test_defaults():
    """another option of server-... asks for verify-full; server-name is checked in place of the host"""
    root = server().authority.root
    equal(is_encrypted(gate_to(server(), server_ca=root)), "t", "verify-full")
    gate = gate_to(server(), server_ca=root, server_name="db.example", breaker=0)
    require("is not for this name: db.example" in refusal(gate), "another name")
    equal(is_encrypted(gate_to(server(), server_ca=root, server_name="localhost")), "t", "its name")
    require("is not trusted" in refusal(gate_to(server(), server_tls="verify-full")), "the system's roots")
    equal(is_encrypted(gate_to(server())), "f", "off")
    equal(is_encrypted(gate_to(server(), to=f"unix:{server().socket}")), "f", "a unix socket")


def test_breaker():
    """a certificate that fails opens the breaker; a new one closes it, without a client"""
    gate = gate_to(server(), server_ca=server().authority.root, breaker=1, breaker_retry="10ms")
    try:
        server().show("expired")
        require("has expired" in refusal(gate), "the first client")
        require("the server is away" in refusal(gate) and "has expired" in refusal(gate), "the next")
    finally:
        server().show("good")
    wait_until(lambda: "breaker closed" in gate.said(), "the probe has seen the new one")
    equal(is_encrypted(gate), "t", "TLS")


def test_no_tls():
    """a server without TLS: words; one that does not answer: connect-timeout"""
    plain = Postgres()
    gate = gate_to(plain, server_tls="require", breaker=0)
    require("does not speak TLS" in refusal(gate), "ssl = off")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        gate = gate_to(None, to=f"127.0.0.1:{silent.getsockname()[1]}", server_tls="require", breaker=0,
                       connect_timeout="200ms")
        require("no answer to SSLRequest" in refusal(gate), "silence")


def test_reload():
    """a reload reads server-ca again; connections that are there stay"""
    root = os.path.join(scratch(), "root.pem")
    shutil.copyfile(server().authority.root, root)
    gate = gate_to(server(), server_ca=root, breaker=0)
    with Pg(gate.port) as pg:
        shutil.copyfile(Authority("another").root, root)
        equal(gate.http("POST", "/reload")[0], 200, "reload")
        require("is not trusted" in refusal(gate), "the new root")
        equal(pg.one("SELECT 'still'"), "still", "the connection before")
        with open(root, "w") as f:
            f.write("nothing\n")
        require(gate.http("POST", "/reload")[0] != 200, "a file that is none")
        shutil.copyfile(server().authority.root, root)
        equal(gate.http("POST", "/reload")[0], 200, "reload")
    equal(is_encrypted(gate), "t", "the root of before")


def test_cancel():
    """a CancelRequest goes by TLS, too; a client that vanishes leaves nothing running"""
    gate = gate_to(server(), server_ca=server().authority.root, limit=1)
    with Pg(gate.port) as busy:
        busy.send("SELECT pg_sleep(600)")
        wait_until(lambda: gate.status()["held"] == 1, "it runs")

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
        busy.send("SELECT pg_sleep(600)")
        wait_until(lambda: gate.status()["held"] == 1, "it runs")
        reset(busy.s)
    wait_until(lambda: gate.status()["held"] == 0, "the permit is back")


def test_direct():
    """TLS without SSLRequest: of a gate, which takes that; of PostgreSQL 15, which does not"""
    cert, key = server().kinds["good"]
    root = server().authority.root
    inner = gate_to(server(), tls="server", tls_cert=cert, tls_key=key, tls_required="yes")
    outer = gate_to(inner, server_ca=root, server_tls_negotiation="direct")
    with Pg(outer.port) as pg:
        equal(pg.one("SELECT 1"), "1", "through both")
    equal(is_encrypted(gate_to(inner, server_ca=root)), "f", "with SSLRequest, through both")


# ---- channel binding, by libpq ----

def by_psql(gate, more):
    """Returns True, or what libpq says."""
    info = f"host=127.0.0.1 port={gate.port} user=by_scram dbname=postgres password=secret {more}"
    done = subprocess.run(["psql", "-XqAt", info, "-c", "SELECT 1"], capture_output=True, timeout=LIMIT)
    return done.stdout == b"1\n" or done.stderr.decode()


def test_binding():
    """SCRAM with channel binding: the table of docs/voltgate/tls.md, by libpq"""
    if not psql():
        raise Skip("there is no psql")
    root = server().authority.root
    cert, key = server().kinds["good"]
    other = dict(zip(("tls_cert", "tls_key"), server().authority.make("gate")))
    plain = gate_to(server(), server_ca=root)
    same = gate_to(server(), server_ca=root, tls="server", tls_cert=cert, tls_key=key)
    differs = gate_to(server(), server_ca=root, tls="server", **other)
    through = gate_to(server(), tls="pass")
    for gate, more, expected in (
            (plain, "sslmode=disable", True),
            (plain, "sslmode=disable channel_binding=require", "channel binding"),
            (same, "sslmode=require", True),
            (same, "sslmode=require channel_binding=require", True),
            (same, "sslmode=disable", True),
            (differs, "sslmode=require", "channel binding"),
            (differs, "sslmode=require channel_binding=require", "channel binding"),
            (differs, "sslmode=require channel_binding=disable", True),
            (differs, "sslmode=disable", True),
            (through, "sslmode=require channel_binding=require", True)):
        found = by_psql(gate, more)
        require(found is True if expected is True else expected in str(found),
                f"{gate.command}: {more}: {found}")
    require("which fails through this gate" in differs.said(), f"the log: {differs.said()}")
    require("which fails through this gate" not in same.said(), f"the log: {same.said()}")
    for gate in (plain, same, differs, through):
        gate.settle()


DRIVERS = {  # a program each that prints 42, or what went wrong
    "psycopg2": """
import psycopg2
c = psycopg2.connect(host='127.0.0.1', port=PORT, user='by_scram', password='secret', dbname='postgres', sslmode='require')
k = c.cursor()
k.execute('SELECT 41 + 1')
print(k.fetchone()[0])""",
    "asyncpg": """
import asyncio, asyncpg
async def f():
    c = await asyncpg.connect(host='127.0.0.1', port=PORT, user='by_scram', password='secret', database='postgres',
                              ssl='require')
    print(await c.fetchval('SELECT 41 + 1'))
asyncio.run(f())""",
    "node-postgres": """
const { Client } = require('pg');
const c = new Client({host: '127.0.0.1', port: PORT, user: 'by_scram', password: 'secret', database: 'postgres',
                      ssl: {rejectUnauthorized: false}, enableChannelBinding: BINDS});
c.connect().then(() => c.query('SELECT 41 + 1 AS n')).then(r => { console.log(r.rows[0].n); return c.end(); })
 .catch(e => { console.log(e.message); process.exit(1); });""",
    "JDBC": """
import java.sql.*;
class Main {
  public static void main(String[] a) throws Exception {
    Connection c = DriverManager.getConnection(
        "jdbc:postgresql://127.0.0.1:PORT/postgres?sslmode=require&user=by_scram&password=secret");
    ResultSet r = c.createStatement().executeQuery("SELECT 41 + 1");
    r.next();
    System.out.println(r.getInt(1));
    c.close();
  }
}"""}
JDBC = "/usr/share/java/postgresql.jar"


def drivers():
    """Those that are here: how to run a program of each."""
    found = {}
    python, node, java = (shutil.which(name, path="/usr/bin") for name in ("python3", "node", "java"))
    for name in ("psycopg2", "asyncpg"):
        if python and not subprocess.run([python, "-c", f"import {name}"], capture_output=True).returncode:
            found[name] = [python, "-c"]
    if node and not subprocess.run([node, "-e", "require('pg')"], capture_output=True).returncode:
        found["node-postgres"] = [node, "-e"]
    if java and os.path.exists(JDBC) and shutil.which("javac", path="/usr/bin"):
        found["JDBC"] = [java, "-cp", JDBC]
    return found


def by_driver(name, command, gate, binds):
    """What its program prints last."""
    text = DRIVERS[name].replace("PORT", str(gate.port)).replace("BINDS", "true" if binds else "false")
    with tempfile.TemporaryDirectory() as directory:
        if name == "JDBC":
            file = os.path.join(directory, "Main.java")
            with open(file, "w") as f:
                f.write(text)
            text = file
        done = subprocess.run([*command, text], capture_output=True, text=True, timeout=LIMIT)
    return (done.stdout.strip() or done.stderr.strip())[-300:]


def test_drivers():
    """SCRAM with channel binding: the table of docs/voltgate/tls.md, by psycopg2, asyncpg, node-postgres and JDBC"""
    here = drivers()
    if not here:
        raise Skip("there is none of them")
    root = server().authority.root
    cert, key = server().kinds["good"]
    same = gate_to(server(), server_ca=root, tls="server", tls_cert=cert, tls_key=key)
    differs = gate_to(server(), server_ca=root, tls="server", **dict(zip(("tls_cert", "tls_key"), server().authority.make("gate"))))
    through = gate_to(server(), tls="pass")
    for name, command in here.items():
        for gate, binds in ((same, False), (same, True), (differs, False), (differs, True), (through, True)):
            # libpq binds if it can, node-postgres if it is asked to; the others never do
            fails = gate is differs and (name == "psycopg2" or (name == "node-postgres" and binds))
            said = by_driver(name, command, gate, binds)
            require("channel binding" in said if fails else said == "42", f"{name}, {gate.command}, {binds}: {said}")
    for gate in (same, differs, through):
        gate.settle()
    return ", ".join(here)


# ---- other protocols ----

class Plain(threading.Thread):
    """A server that reads a PROXY header, if it is to, then speaks TLS, and sends back what comes."""

    def __init__(self, context, has_header=False):
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.context, self.has_header, self.headers, self.peers = context, has_header, [], []
        at_end.callback(self.socket.close)
        self.start()

    def run(self):
        while True:
            try:
                s = self.socket.accept()[0]
            except OSError:
                return
            with contextlib.suppress(OSError), s:
                s.settimeout(LIMIT)
                if self.has_header:
                    head = receive(s, 16)
                    self.headers.append(head + receive(s, struct.unpack("!H", head[14:])[0]))
                with self.context.wrap_socket(s, server_side=True) as tls:
                    self.peers.append(tls.getpeercert())
                    while block := tls.recv(100000):
                        tls.sendall(block)


def server_context(kind="good"):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*server().kinds[kind])
    return context


def test_tcp():
    """tcp: a PROXY header in the clear, then TLS; many bytes; an end is an end"""
    one = Plain(server_context(), has_header=True)
    gate = Gate(f"127.0.0.1:{one.port}", server_ca=server().authority.root, proxy_out="v2")
    block = os.urandom(many(1 << 20, 1 << 24))
    s = connect(gate.port)
    writer = threading.Thread(target=lambda: (s.sendall(block), s.shutdown(socket.SHUT_WR)))
    writer.start()
    equal(receive_all(s)[0] == block, True, "the same bytes")
    writer.join()
    s.close()
    equal([header[:12] for header in one.headers], [b"\r\n\r\n\0\r\nQUIT\n"], "the header")


def test_client_certificate():
    """the server asks for voltgate's certificate: it is shown; without one the client hears of it"""
    context = server_context()
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(server().authority.root)
    context.maximum_version = ssl.TLSVersion.TLSv1_2  # its refusal is a part of the handshake
    one = Plain(context)
    cert, key = server().authority.make("voltgate")
    gate = Gate(f"127.0.0.1:{one.port}", server_ca=server().authority.root, server_cert=cert, server_key=key)
    s = connect(gate.port)
    s.sendall(b"hello")
    equal(receive(s, 5), b"hello", "echo")
    s.close()
    equal(one.peers[-1]["subject"], ((("commonName", "voltgate"),),), "its subject")
    gate = Gate(f"127.0.0.1:{one.port}", server_ca=server().authority.root, refuse="http", breaker=0)
    s = connect(gate.port)
    said = receive_all(s)[0]
    require(b"the server refuses TLS" in said, f"words: {said}")
    s.close()
    context.maximum_version = ssl.TLSVersion.TLSv1_3  # behind the handshake
    s = connect(gate.port)
    s.sendall(b"hello")
    receive_all(s)
    s.close()
    wait_until(lambda: "TLS with the server: tlsv13 alert certificate required" in gate.said(), "the log")


def test_redis():
    """redis with tls-port: bursts, and the breaker's probe by PING"""
    if not redis():
        raise Skip("there is no redis")
    cert, key = server().kinds["good"]
    one = Redis.__new__(Redis)
    one.directory, one.port = scratch(), keep_port()

    def start():
        one.server = Process(["redis-server", "--bind", "127.0.0.1", "--port", "0", "--tls-port", str(one.port),
                              "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file",
                              server().authority.root, "--tls-auth-clients", "no", "--save", "",
                              "--appendonly", "no", "--dir", one.directory])
    start()
    gate = Gate(f"127.0.0.1:{one.port}", protocol="redis", server_ca=server().authority.root, breaker=1,
                breaker_retry="10ms")

    def answers():
        with contextlib.suppress(OSError, RespError):
            with Resp(gate.port) as r:
                return r("PING") == "PONG"
        return False
    wait_until(answers, "redis answers by TLS")
    with Resp(gate.port) as r:
        equal(r("SET", "a", "x" * 100000), "OK", "SET")
        equal(len(r("GET", "a")), 100000, "GET")
    one.server.kill()
    wait_until(lambda: not answers() and "breaker open" in gate.said(), "the breaker opens")
    closed = gate.said().count("breaker closed")
    start()
    wait_until(lambda: gate.said().count("breaker closed") > closed, "it closes by the probe")
    wait_until(answers, "redis answers again")


def test_wrong_options():
    """what cannot be meant is refused by check, with its words"""
    cert, key = server().kinds["good"]
    for options, words in (("server-name = a\nserver-tls = off", "no effect without server-tls"),
                           ("server-tls = require\nserver-ca = " + cert, "no effect without server-tls = verify"),
                           ("server-cert = " + cert, "no effect without server-key"),
                           ("server-ca = /nonexistent", "/nonexistent"),
                           ("server-tls = verify-full\nserver-ca = " + key, "root in "),
                           ("protocol = redis\nserver-tls-negotiation = direct", "protocol = postgres"),
                           ("server-tls = require\nprotocol = postgres\ntls = pass", "tls = pass")):
        file = os.path.join(scratch(), "wrong.ini")
        with open(file, "w") as f:
            f.write(f"[gate main]\nlisten = :0\nto = 127.0.0.1:1\n{options}\n")
        done = subprocess.run([program(), "check", "--config", file], capture_output=True, timeout=LIMIT)
        require(done.returncode == 2 and words in done.stderr.decode(), f"{options}: {done}")


def test_check_connects():
    """check --connect: connects, shakes hands, and says what the certificate lacks"""
    def tried(options, others=""):
        file = os.path.join(scratch(), "gate.ini")
        with open(file, "w") as f:
            f.write(f"{others}[gate main]\nlisten = 127.0.0.1:0\nto = 127.0.0.1:{server().port}\n"
                    f"protocol = postgres\n{options}\n")
        done = subprocess.run([program(), "check", "--connect", "--config", file], capture_output=True,
                              timeout=LIMIT)
        return done.returncode, done.stdout.decode() + done.stderr.decode()
    root = server().authority.root
    code, said = tried(f"server-ca = {root}")
    require(code == 0 and "connected, by TLSv1.3" in said, said)
    code, said = tried("server-tls = off")
    require(code == 0 and "connected\n" in said, said)
    code, said = tried(f"server-ca = {root}\nserver-name = db.example")
    require(code == 2 and "is not for this name: db.example" in said, said)
    key = server().kinds["good"][1]
    code, said = tried(f"server-ca = {root}", f"[gate other]\nlisten = 127.0.0.1:0\nto = 127.0.0.1:1\nserver-ca = {key}\n")
    require(code == 2 and "gate other: server-tls: root in " in said and "connected, by TLSv1.3" in said, said)
    try:
        server().show("expired")
        code, said = tried(f"server-ca = {root}")
        require(code == 2 and "has expired" in said, said)
    finally:
        server().show("good")


run_tests([gate_is_there, postgres, openssl], test_modes, test_defaults, test_breaker, test_no_tls, test_reload,
          test_cancel, test_direct, test_binding, test_drivers, test_tcp, test_client_certificate, test_redis,
          test_wrong_options, test_check_connects)
