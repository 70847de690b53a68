#!/usr/bin/env python3
"""refused_test.py TLS_PEER: what is wrong with a certificate, a protocol or a cipher, of a peer that is another
implementation of TLS: which code volt's side has, and which words. As a client of openssl's s_server, as a server of
its s_client, and as both of a peer that has no more than bytes. Certificates are of an authority of its own."""
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import ports
from authority import CA, Authority

PEER = sys.argv[1]
SECONDS = 240
RSA_1024 = ("-newkey", "rsa:1024")
RSA_2048 = ("-newkey", "rsa:2048")
HOST = "subjectAltName=DNS:localhost"
WEAK = "ALL:@SECLEVEL=0"  # the bad side has to be able to use what is bad
failures = []


def check(what, holds, why=""):
    print(f"ok: {what}" if holds else f"FAILED: {what}: {why}", flush=True)
    if not holds:
        failures.append(what)


# ---- certificates ----

def make(a):
    """All are checked by root.pem."""
    a.root("root")
    a.root("other", common="root")  # of the same name, and another key
    a.root("alone", extensions=(HOST, "basicConstraints=critical,CA:FALSE"))
    a.issue("middle", "root", *CA)
    a.issue("narrow", "root", *CA, "nameConstraints=critical,permitted;DNS:example.org")
    a.issue("no-ca", "root", "basicConstraints=critical,CA:FALSE")
    a.issue("short", "root", "basicConstraints=critical,CA:TRUE,pathlen:0", "keyUsage=critical,keyCertSign")
    a.issue("below-short", "short", *CA)
    a.issue("weak-middle", "root", *CA, key=RSA_1024)
    for name, issuer, extensions, how in (
            ("good", "root", (), {}), ("by-middle", "middle", (), {}),
            ("expired", "root", (), {"begins": -30, "ends": -1}), ("not-yet", "root", (), {"begins": 1}),
            ("by-other", "other", (), {}), ("by-narrow", "narrow", (), {}), ("by-no-ca", "no-ca", (), {}),
            ("too-deep", "below-short", (), {}), ("by-weak-middle", "weak-middle", (), {}),
            ("revoked", "root", (), {}), ("sha-1", "root", (), {"digest": "sha1"}),
            ("rsa-1024", "root", (), {"key": RSA_1024}), ("rsa-2048", "root", (), {"key": RSA_2048}),
            ("for-clients", "root", ("extendedKeyUsage=clientAuth",), {}),
            ("for-servers", "root", ("extendedKeyUsage=serverAuth",), {}),
            ("by-unknown-need", "root", ("1.2.3.4=critical,ASN1:NULL",), {})):
        a.issue(name, issuer, HOST, *extensions, **how)
    for name, names in (("another-host", "DNS:example.com"), ("no-name", "email:a@b.example"),
                        ("address", "IP:192.0.2.1"), ("wildcard", "DNS:*.example.org"), ("star-org", "DNS:*.org"),
                        ("star", "DNS:*"), ("part", "DNS:w*.example.org"), ("two-stars", "DNS:*.*.example.org"),
                        ("inner-star", "DNS:www.*.org")):
        a.issue(name, "root", f"subjectAltName={names}")
    a.crl("crl-before", "root")
    a.revoke("revoked", "root")
    a.crl("crl", "root")
    a.crl("crl-old", "root", "-crl_lastupdate", "20200101000000Z", "-crl_nextupdate", "20200201000000Z")
    a.crl("crl-other", "middle")
    for to, *chain in (("with-middle", "by-middle", "middle"), ("with-other", "by-other", "other"),
                       ("with-narrow", "by-narrow", "narrow"), ("with-no-ca", "by-no-ca", "no-ca"),
                       ("with-short", "too-deep", "below-short", "short"),
                       ("with-weak-middle", "by-weak-middle", "weak-middle")):
        a.bundle(to, *chain)
    forge(a)


def forge(a):
    """good, with another signature: its last byte is changed."""
    subprocess.run(["openssl", "x509", "-in", "good.pem", "-outform", "DER", "-out", "good.der"], cwd=a.directory, check=True)
    content = bytearray(pathlib.Path(a.path("good.der")).read_bytes())
    content[-1] ^= 1
    pathlib.Path(a.path("forged.der")).write_bytes(content)
    subprocess.run(["openssl", "x509", "-inform", "DER", "-in", "forged.der", "-out", "forged.pem"], cwd=a.directory, check=True)
    shutil.copy(a.path("good.key"), a.path("forged.key"))


OK = "HTTP/1.0 200"
UNTRUSTED = "VOLT_TLS_EUNTRUSTED"
NAME = "VOLT_TLS_ENAME", "hostname mismatch"

# Of either side: the chain, the key, the CRL, the code, the words.
OF_BOTH = (
    ("good", "good", None, OK, ""),
    ("with-middle", "by-middle", None, OK, ""),
    ("rsa-2048", "rsa-2048", None, OK, ""),
    ("expired", "expired", None, "VOLT_TLS_EEXPIRED", "certificate has expired"),
    ("not-yet", "not-yet", None, "VOLT_TLS_ENOTYET", "certificate is not yet valid"),
    ("alone", "alone", None, UNTRUSTED, "self-signed certificate"),
    ("by-other", "by-other", None, UNTRUSTED, "unable to get local issuer certificate"),
    ("with-other", "by-other", None, UNTRUSTED, "self-signed certificate in certificate chain"),
    ("by-middle", "by-middle", None, UNTRUSTED, "unable to get local issuer certificate"),
    ("with-narrow", "by-narrow", None, UNTRUSTED, "permitted subtree violation"),
    ("with-no-ca", "by-no-ca", None, UNTRUSTED, "invalid CA certificate"),
    ("with-short", "too-deep", None, UNTRUSTED, "path length constraint exceeded"),
    ("with-weak-middle", "by-weak-middle", None, UNTRUSTED, "CA certificate key too weak"),
    ("rsa-1024", "rsa-1024", None, UNTRUSTED, "EE certificate key too weak"),
    ("sha-1", "sha-1", None, UNTRUSTED, "CA signature digest algorithm too weak"),
    ("forged", "forged", None, UNTRUSTED, "certificate signature failure"),
    ("by-unknown-need", "by-unknown-need", None, UNTRUSTED, "unhandled critical extension"),
    ("good", "good", "crl", OK, ""),
    ("revoked", "revoked", "crl-before", OK, ""),
    ("revoked", "revoked", "crl", "VOLT_TLS_EREVOKED", "certificate revoked"),
    ("good", "good", "crl-old", UNTRUSTED, "CRL has expired"),
    ("good", "good", "crl-other", UNTRUSTED, "unable to get certificate CRL"),
)

# Of a server alone: the certificate, the name that is wanted, the code, the words.
OF_SERVERS = (
    ("for-servers", "localhost", OK, ""),
    ("for-clients", "localhost", UNTRUSTED, "unsuitable certificate purpose"),
    ("good", "LOCALHOST", OK, ""),
    ("another-host", "localhost", *NAME),
    ("no-name", "no-name", *NAME),  # the CN does not count
    ("address", "192.0.2.1", OK, ""),
    ("address", "192.0.2.2", "VOLT_TLS_ENAME", "IP address mismatch"),
    ("wildcard", "www.example.org", OK, ""),
    ("wildcard", "example.org", *NAME),
    ("wildcard", "a.b.example.org", *NAME),
    ("star-org", "example.org", *NAME),
    ("star", "localhost", *NAME),
    ("part", "www.example.org", *NAME),
    ("two-stars", "a.b.example.org", *NAME),
    ("inner-star", "www.example.org", *NAME),
)

# What a client is told by the alert: the words of s_client.
ALERTS = {"VOLT_TLS_EEXPIRED": "certificate expired", "VOLT_TLS_ENOTYET": "bad certificate",
          "VOLT_TLS_EREVOKED": "certificate revoked"}


# ---- volt is the client ----

def fetch(a, port, host="localhost", version="any", crl=None):
    return subprocess.run([PEER, "fetch", host, str(port), a.path("root.pem"), version, *([a.path(f"{crl}.pem")] if crl else [])],
                          stdout=subprocess.PIPE, text=True, timeout=SECONDS).stdout.strip()


class Serving:
    """openssl s_server, with options."""

    def __init__(self, a, *options):
        self.port = ports.keep_port()
        self.process = subprocess.Popen(
            ["openssl", "s_server", "-accept", str(self.port), "-www", "-cipher", WEAK, *options], cwd=a.directory,
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self.port
            except ConnectionRefusedError:
                if self.process.poll() is not None:
                    sys.exit(f"s_server has ended: {self.process.stderr.read()}")

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def of(chain, key):
    """The first of a chain is its own; s_server and s_client have a word of their own for the others."""
    return "-cert", f"{chain}.pem", "-cert_chain", f"{chain}.pem", "-key", f"{key}.key"


def as_client(a):
    for chain, key, crl, code, words in OF_BOTH:
        with Serving(a, *of(chain, key)) as port:
            for version in ("1.2", "1.3"):
                said = fetch(a, port, version=version, crl=crl)
                holds = OK in said if code == OK else said == f"{code} ({words})"
                check(f"a server with {chain}{', ' + crl if crl else ''}, {version}: {code}", holds, said)
    for name, host, code, words in OF_SERVERS:
        with Serving(a, *of(name, name)) as port:
            said = fetch(a, port, host)
            check(f"a server with {name}, for {host}: {code}", OK in said if code == OK else said == f"{code} ({words})", said)


# ---- volt is the server ----

class Served:
    """tls_peer as a server that asks clients for a certificate. errors: what it says of each connection."""

    def __init__(self, a, crl=None, chain="good"):
        more = (a.path(f"{crl}.pem"),) if crl else ()
        self.process = subprocess.Popen([PEER, "serve", a.path(f"{chain}.pem"), a.path(f"{chain}.key"), a.path("root.pem"), *more],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        self.port = int(self.process.stdout.readline())
        return self

    def said(self):
        return self.process.stderr.readline().strip()

    def __exit__(self, *_):
        self.process.stdin.close()
        check("the server ends well", self.process.wait(SECONDS) == 0, self.process.stderr.read())


def ask(a, port, *options):
    done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-CAfile", "root.pem", "-ign_eof", "-quiet",
                           "-cipher", WEAK, *options], cwd=a.directory, input="GET / HTTP/1.0\r\n\r\n", stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=SECONDS)
    return done.stdout


def as_server(a):
    rows = [*OF_BOTH, ("for-clients", "for-clients", None, OK, ""),
            ("for-servers", "for-servers", None, UNTRUSTED, "unsuitable certificate purpose")]
    for chain, key, crl, code, words in rows:
        with Served(a, crl) as server:
            for version in ("-tls1_2", "-tls1_3"):
                answer, said = ask(a, server.port, version, *of(chain, key)), server.said()
                if code == OK:
                    check(f"a client with {chain}{', ' + crl if crl else ''}, {version}: served",
                          "page" in answer and said.endswith("VOLT_OK ()"), f"{said} {answer}")
                else:
                    check(f"a client with {chain}{', ' + crl if crl else ''}, {version}: {code}",
                          said.endswith(f"{code} ({words})") and "page" not in answer and ALERTS.get(code, "alert") in answer,
                          f"{said} {answer}")
    with Served(a) as server:
        for version in ("-tls1_2", "-tls1_3"):
            answer, said = ask(a, server.port, version), server.said()
            check(f"a client without one, {version}", said.endswith("VOLT_TLS_EPROTOCOL (peer did not return a certificate)")
                  and "page" not in answer, f"{said} {answer}")


def of_its_own(a):
    """What is weak is not loaded."""
    for name, words in (("rsa-1024", "ee key too small"), ("sha-1", "ca md too weak")):
        done = subprocess.run([PEER, "serve", a.path(f"{name}.pem"), a.path(f"{name}.key")], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=SECONDS)
        check(f"a server does not load {name}", done.returncode == 1 and words in done.stderr, done.stderr)


# ---- protocols and ciphers ----

PROTOCOL = "VOLT_TLS_EPROTOCOL"


def old_servers(a):
    """It says what it refuses, or hears that it is refused."""
    for name, options, words in (
            ("TLS 1.0", ("-tls1",), (PROTOCOL, "unsupported protocol")),
            ("TLS 1.1", ("-tls1_1",), (PROTOCOL, "unsupported protocol")),
            ("no cipher but null", ("-tls1_2", "-cipher", "eNULL:@SECLEVEL=0"),
             ("VOLT_TLS_EREFUSED", "sslv3 alert handshake failure")),
            ("no cipher but anonymous", ("-tls1_2", "-cipher", "aNULL:@SECLEVEL=0"),
             ("VOLT_TLS_EREFUSED", "sslv3 alert handshake failure"))):
        with Serving(a, *of("good", "good"), *options) as port:
            said = fetch(a, port)
            check(f"a server of {name}", said in (f"{words[0]} ({words[1]})", "VOLT_TLS_EREFUSED (tlsv1 alert protocol version)"),
                  said)


def old_clients(a):
    with Served(a) as server:
        for name, options, code, words in (
                ("TLS 1.0", ("-tls1",), PROTOCOL, "unsupported protocol"),
                ("TLS 1.1", ("-tls1_1",), PROTOCOL, "unsupported protocol"),
                ("no cipher but null", ("-tls1_2", "-cipher", "eNULL:@SECLEVEL=0"), PROTOCOL, "no shared cipher"),
                ("no cipher but anonymous", ("-tls1_2", "-cipher", "aNULL:@SECLEVEL=0"), PROTOCOL, "no shared cipher"),
                ("no signature but SHA-1", ("-tls1_2", "-sigalgs", "ECDSA+SHA1:RSA+SHA1"), PROTOCOL, "no shared signature algorithms")):
            answer, said = ask(a, server.port, *options), server.said()
            check(f"a client of {name}", said.endswith(f"{code} ({words})") and "alert" in answer, f"{said} {answer}")


def record(kind, content, version=b"\3\3"):
    return bytes([kind]) + version + len(content).to_bytes(2, "big") + content


def message(kind, content):
    return record(22, bytes([kind]) + len(content).to_bytes(3, "big") + content)


EXPORT = b"\0\3"  # TLS_RSA_EXPORT_WITH_RC4_40_MD5: no OpenSSL of today has it, so a peer is made of bytes


def export_ciphers(a):
    hello = b"\3\3" + bytes(32) + b"\0" + b"\0\2" + EXPORT + b"\1\0"
    with Served(a) as server:
        with socket.create_connection(("127.0.0.1", server.port), SECONDS) as s:
            s.sendall(message(1, hello))
            alert = s.recv(100)
        said = server.said()
        check("a client of export ciphers", said.endswith(f"{PROTOCOL} (no shared cipher)") and alert[:1] == b"\x15"
              and alert[-1] == 40, f"{said} {alert}")
    answer = b"\3\3" + bytes(32) + b"\0" + EXPORT + b"\0"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        heard = []

        def serve():
            s, _ = listener.accept()
            with s:
                s.recv(4096)
                s.sendall(message(2, answer))
                heard.append(s.recv(100))
        thread = threading.Thread(target=serve)
        thread.start()
        said = fetch(a, listener.getsockname()[1], version="1.2")
        thread.join(SECONDS)
        check("a server of export ciphers", said == f"{PROTOCOL} (unknown cipher returned)" and heard[0][:1] == b"\x15",
              f"{said} {heard}")


def main():
    if not shutil.which("openssl"):
        print("skipped: there is no openssl")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as scratch:
        a = Authority(scratch)
        make(a)
        for test in (as_client, as_server, of_its_own, old_servers, old_clients, export_ciphers):
            test(a)
    sys.exit(f"{len(failures)} have failed" if failures else None)


main()
