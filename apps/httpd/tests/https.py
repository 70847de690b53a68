#!/usr/bin/env python3
"""https.py PROGRAM [TEST...]: what httpd does by TLS alone: versions, clients that break it off, redirection, HSTS, and
certificates that are loaded anew under load. What it does by TLS as without is wire.py's.

Certificates are loaded anew some hundred times; with VOLT_TEST_SECONDS of 5 and more, 10,000 times."""
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpd_kit
import secure
from httpd_kit import GET, LAST, LONG, RESET, Server, check, is_cut_off, make_site, read_all, statuses, until
from secure import Certificate

RELOADS = 10000 if float(os.environ.get("VOLT_TEST_SECONDS", "0")) >= 5 else 300


def fails(step, *errors):
    """The error by which a step fails, or None."""
    try:
        step()
    except errors or OSError as error:
        return error
    return None


def plain(server):
    s = socket.create_connection(("127.0.0.1", server.port), LONG)
    s.settimeout(LONG)
    return s


def context_of(version):
    context = httpd_kit.certificate.trusting()
    context.minimum_version = context.maximum_version = version
    return context


# ---- what is spoken ----

def test_versions(program, root):
    with Server(program, "--root", root) as server:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            with plain(server) as s, context_of(version).wrap_socket(s, server_hostname="localhost") as tls:
                tls.sendall(GET % b"/a.txt" + GET % b"/64k")
                found = b""
                while not found.endswith((Path(root) / "64k").read_bytes()):
                    found += tls.recv(65536)
                check(f"two requests at once by {version.name}", statuses(found) == ["200", "200"])
        for version in ("-tls1", "-tls1_1"):
            text = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", version, "-cipher",
                                   "ALL:@SECLEVEL=0"], input=b"", capture_output=True, timeout=LONG)
            check(f"s_client {version} is refused", b"alert protocol version" in text.stderr, f"{text}")
        for offers, wanted in ((["h2", "http/1.1"], "http/1.1"), (["h2"], None), ([], "")):
            context = httpd_kit.certificate.trusting()
            if offers:
                context.set_alpn_protocols(offers)
            with plain(server) as s:
                try:
                    chosen = context.wrap_socket(s, server_hostname="localhost").selected_alpn_protocol() or ""
                except ssl.SSLError:
                    chosen = None
            check(f"of the protocols {offers} it takes {wanted}", chosen == wanted, f"{chosen}")


def test_resumed(program, root):
    context = httpd_kit.certificate.trusting()
    with Server(program, "--root", root) as server:
        session = None
        for begins in ("a full handshake", "a session is taken up", "also behind a reload"):
            with plain(server) as s, context.wrap_socket(s, server_hostname="localhost", session=session) as tls:
                tls.sendall(GET % b"/a.txt")
                tls.recv(1000)
                check(begins, tls.session_reused == (session is not None))
                session = tls.session
            if begins.startswith("a session"):
                reload(server)


def test_commands(program, root):
    with Server(program, "--root", root, "--hsts", "31536000") as server:
        at = f"localhost:{server.port}"
        if shutil.which("curl"):
            for version in ("1.2", "1.3"):
                text = subprocess.run(
                    ["curl", "-sS", "-i", "--cacert", httpd_kit.certificate.chain, "--resolve", f"{at}:127.0.0.1", f"--tlsv{version}",
                     "--tls-max", version, f"https://{at}/a.txt", "-r", "2-4"], capture_output=True, timeout=LONG)
                check(f"curl by TLS {version}: a part", text.stdout.startswith(b"HTTP/1.1 206 ")
                      and text.stdout.endswith(b"\r\n\r\n234"), f"{text}")
                check("and it is to come by https alone",
                      b"\r\nStrict-Transport-Security: max-age=31536000\r\n" in text.stdout)
        else:
            print("skipped: curl is not there")
        for version in ("-tls1_2", "-tls1_3"):
            text = subprocess.run(
                ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-CAfile", httpd_kit.certificate.chain,
                 "-verify_hostname", "localhost", "-verify_return_error", "-ign_eof", "-quiet", version],
                input=b"HEAD /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", capture_output=True, timeout=LONG)
            check(f"s_client {version}: HEAD", text.stdout.startswith(b"HTTP/1.1 200 ")
                  and text.stdout.endswith(b"\r\n\r\n"), f"{text}")


# ---- who breaks it off ----

def test_handshakes(program, root):
    with Server(program, "--root", root, "--handshake-s", "2") as server:
        before = server.descriptors()
        silent, slow = plain(server), plain(server)
        stream = secure.Stream(slow, httpd_kit.certificate.context)
        fails(stream.tls.do_handshake, ssl.SSLWantReadError)
        hello, ended = stream.outgoing.read(), b"no"
        slow.settimeout(0.1)
        for byte in hello * 1000:  # more than two seconds': each byte takes a tenth
            try:
                slow.sendall(bytes([byte]))
                ended = slow.recv(1)
                break
            except TimeoutError:
                continue
            except OSError:
                ended = b""
                break
        check("a handshake that trickles is given up", ended == b"", f"{ended}")
        check("so is one that does not begin", silent.recv(1) == b"")
        check("these are timeouts", until(lambda: server.status()["timeouts"] >= 2), f"{server.status()}")
        for name, sent in (("plain HTTP", GET % b"/"), ("noise", bytes(range(256)) * 20), ("a record too long", b"\x16\3\1\xff\xff" * 9)):
            with plain(server) as s:
                s.sendall(sent)
                found = read_all(s)
                check(f"{name} gets an alert at most", not found or found[0] == 0x15 or found == RESET, f"{found}")
        for size in (1, 5, len(hello) // 2, len(hello)):
            with plain(server) as s:
                s.sendall(hello[:size])
        check("handshakes that are broken off leave nothing", until(lambda: server.descriptors() == before),
              f"{server.descriptors()} not {before}")
        check("and it still serves", server.get("/a.txt")[2] == b"0123456789")


def test_truncation(program, root):
    """The end of TCP without that of TLS is no end of a request, and what the server has to say has both."""
    with Server(program, "--root", root) as server:
        s = server.connect()
        s.sendall(b"GET /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12")
        s.plain.shutdown(socket.SHUT_WR)
        error = fails(lambda: s.recv(1000))
        check("a request that is cut off is not answered", error is not None or s.recv(1000) == b"", f"{error}")
        s.close()
        check("it is counted", until(lambda: server.status()["broken_off"] == 1), f"{server.status()}")
        for name in ("/a.txt", "/64k", "/missing"):
            with server.connect() as s:
                s.sendall(GET % name.encode() + LAST)
                found = read_all(s)
            check(f"{name}: the answer ends with the end of TLS", not is_cut_off(found)
                  and len(statuses(found)) == 2, f"{found[-40:]}")
        with server.connect() as s:
            s.sendall(b"GET /a.txt HTTP/1.1\r\nHos")
            s.shutdown(socket.SHUT_WR)
            check("so does the answer to half a request", read_all(s) == b"")


# ---- to https ----

def redirected(port, request):
    with socket.create_connection(("127.0.0.1", port), LONG) as s:
        s.settimeout(LONG)
        s.sendall(request)
        return read_all(s).decode()


def test_redirect(program, root):
    with Server(program, "--root", root, "--redirect", "0", "--hsts", "60") as server:
        port = int(re.match(r"redirecting on 127\.0\.0\.1:(\d+)\n", server.process.stdout.readline())[1])
        here = f":{server.port}"
        end = "Connection: close\r\n\r\n"
        for method, target, host, status, location in (
                ("GET", "/a.txt", "example.org", 301, "https://example.org%s/a.txt"),
                ("HEAD", "/", "example.org:80", 301, "https://example.org%s/"),
                ("GET", "/dir/?a=b&c", "[::1]:8080", 301, "https://[::1]%s/dir/?a=b&c"),
                ("GET", "//example.com/%0d%0aSet-Cookie:a", "x", 301, "https://x%s/example.com/%%0D%%0ASet-Cookie:a"),
                ("OPTIONS", "/a", "x", 308, "https://x%s/a"),
                ("GET", "http://y/a", "x", 301, "https://x%s/a"),
                ("POST", "/a", "x", 405, None), ("GET", "/.git/config", "x", 404, None),
                ("GET", "/", "", 400, None), ("GET", "/" + "%ff" * 1000, "x", 414, None)):
            answer = redirected(port, f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{end}".encode())
            said = re.search(r"\r\nLocation: (.*)\r\n", answer)
            wanted = location and location % here
            check(f"{method} {target[:40]} of {host or 'no host'}: {status}", answer.startswith(f"HTTP/1.1 {status} ")
                  and (said[1] if said else None) == wanted and "Strict-Transport" not in answer, answer)
        answer = redirected(port, b"GET /a HTTP/1.0\r\n\r\n")
        check("a client of HTTP/1.0 that names no host: 400", answer.startswith("HTTP/1.1 400 "), answer)
        head = server.get("/missing")[1]
        check("each answer by https says to come so alone", "\r\nStrict-Transport-Security: max-age=60\r\n" in head, head)


def test_places(program, root):
    """Each listener has places of its own: one at which nobody comes, or too many, keeps none from the other."""
    with Server(program, "--root", root, "--connections", "1", "--redirect", "0") as server:
        port = int(re.match(r"redirecting on 127\.0\.0\.1:(\d+)\n", server.process.stdout.readline())[1])
        request = b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n"
        with server.connect() as s:
            s.settimeout(LONG)
            s.sendall(GET % b"/a.txt")
            check("the site has a place while nobody comes to be redirected", s.recv(1000).endswith(b"0123456789"))
            with socket.create_connection(("127.0.0.1", port), LONG) as other:
                other.settimeout(LONG)
                other.sendall(request)
                check("so has who is redirected while the site has none", other.recv(1000).startswith(b"HTTP/1.1 301 "))
                s.sendall(GET % b"/status")
                now = json.loads(s.recv(10000).partition(b"\r\n\r\n")[2])
                check("both are counted", (now["connections"], now["connections_max"]) == (2, 2), f"{now}")
                later = socket.create_connection(("127.0.0.1", port), LONG)
                later.settimeout(LONG)
                later.sendall(request)
            check("and the next who is redirected then", later.recv(1000).startswith(b"HTTP/1.1 301 "))
            later.close()


# ---- new certificates ----

def reload(server):
    before = server.status()["reloads"]
    server.process.send_signal(signal.SIGHUP)
    return until(lambda: server.status()["reloads"] > before)


def name_of(server, context):
    with plain(server) as s, context.wrap_socket(s, server_hostname="localhost") as tls:
        return dict(part[0] for part in tls.getpeercert()["subject"])["commonName"]


def test_reload(program, root):
    first, second = httpd_kit.certificate, Certificate(root, ".second", "second")
    both = first.trusting(second)
    with tempfile.TemporaryDirectory() as scratch:
        now = Certificate.__new__(Certificate)
        now.chain, now.key, now.context = f"{scratch}/chain", f"{scratch}/key", both

        def put(chain, key):
            for content, path in ((chain, now.chain), (key, now.key)):
                Path(path + ".new").write_bytes(content)
                os.replace(path + ".new", path)
        contents = [(Path(c.chain).read_bytes(), Path(c.key).read_bytes()) for c in (first, second)]
        put(*contents[0])
        httpd_kit.certificate = now
        try:
            with Server(program, "--root", root, "--requests", "1000000000") as server:
                long = server.connect()
                long.sendall(GET % b"/a.txt")
                long.recv(1000)
                check("the first certificate", name_of(server, both) == "localhost")
                put(*contents[1])
                check("another one is loaded", reload(server) and name_of(server, both) == "second")
                for name, chain, key in (("a key of another certificate", contents[1][0], contents[0][1]),
                                         ("no certificate", b"nothing", contents[1][1]),
                                         ("half a key", contents[1][0], contents[1][1][:100])):
                    put(chain, key)
                    errors = server.status()["reload_errors"]
                    server.process.send_signal(signal.SIGHUP)
                    check(f"{name} is not loaded", until(lambda: server.status()["reload_errors"] == errors + 1))
                    check("the one of before stays", name_of(server, both) == "second")
                os.unlink(now.key)
                server.process.send_signal(signal.SIGHUP)
                check("nor is a file that is not there", until(lambda: server.status()["reload_errors"] == 4))
                os.mkfifo(now.key)
                server.process.send_signal(signal.SIGHUP)
                check("nor is a FIFO, which is not waited for", until(lambda: server.status()["reload_errors"] == 5))
                log = server.errors()
                check("the log says why", log.count("certificate and key stay as they were\n") == 5
                      and all(why in log for why in ("key values mismatch", "there is none in it", "bad end line",
                                                     "the file of the key: No such file",
                                                     "the file of the key: it is no regular file")), log)
                long.sendall(GET % b"/a.txt")
                check("a connection of before goes on", long.recv(1000).endswith(b"0123456789"))
                long.close()
                put(*contents[0])
                reload_under_load(server, both, put, contents)
        finally:
            httpd_kit.certificate = first


def reload_under_load(server, both, put, contents):
    """Clients come and go, and one keeps its connection: none of them fails."""
    errors, done = [], threading.Event()
    counts = [0, 0, 0]

    def client(number, keeps):
        try:
            kept = server.connect()
            while not done.is_set():
                s = kept if keeps else server.connect()
                s.sendall(GET % b"/a.txt")
                if not s.recv(1000).endswith(b"0123456789"):
                    errors.append("no answer")
                counts[number] += 1
                if not keeps:
                    s.close()
            kept.close()
        except OSError as error:
            errors.append(repr(error))
    threads = [threading.Thread(target=client, args=(i, i == 0)) for i in range(3)]
    for thread in threads:
        thread.start()
    with server.connect() as s:
        def loaded():
            s.sendall(GET % b"/status")
            return json.loads(s.recv(10000).partition(b"\r\n\r\n")[2])["reloads"]
        first = last = loaded()
        for i in range(RELOADS):  # the next one only then: two signals that come together are one
            put(*contents[i % 2])
            server.process.send_signal(signal.SIGHUP)
            end = time.monotonic() + LONG
            while (now := loaded()) == last and time.monotonic() < end:
                pass
            if now == last:
                break
            last = now
    done.set()
    for thread in threads:
        thread.join(LONG)
    check(f"{RELOADS} reloads under load", last - first == RELOADS, f"{last - first}")
    check(f"{sum(counts)} requests meanwhile, and none failed", not errors and all(counts), f"{errors[:3]} {counts}")


def test_options(program, root):
    chain, key = httpd_kit.certificate.chain, httpd_kit.certificate.key
    for options, code, words in ((["--tls", chain], 2, "wants two files"), (["--redirect", "80"], 2, "want --tls"),
                                 (["--hsts", "9"], 2, "want --tls"), (["--tls", chain, "/nowhere"], 1, "key: No such file"),
                                 (["--tls", chain, key, "--redirect", "65536"], 2, "0 to 65535"),
                                 (["--tls", key, chain], 1, "there is none in it")):
        said = subprocess.run([program, "--listen", "127.0.0.1:0", "--root", root, *options], capture_output=True, text=True,
                              timeout=LONG)
        check(f"refused: {options}", said.returncode == code and words in said.stderr, f"{said}")
    certificate, httpd_kit.certificate = httpd_kit.certificate, None
    server = Server(program, "--root", root)
    httpd_kit.certificate = certificate
    server.process.send_signal(signal.SIGHUP)
    check("without TLS SIGHUP ends it, as any program", server.process.wait(LONG) == -signal.SIGHUP)


def main():
    program, *wanted = sys.argv[1:]
    program = os.path.abspath(program)
    with tempfile.TemporaryDirectory() as scratch:
        root = os.path.join(scratch, "site")
        os.mkdir(root)
        make_site(root)
        httpd_kit.certificate = Certificate(scratch, "localhost")
        for name, test in list(globals().items()):
            if name.startswith("test_") and (not wanted or name[5:] in wanted):
                test(program, root)
    print(f"{httpd_kit.failures} checks failed" if httpd_kit.failures else "all passed")
    return httpd_kit.failures > 0


if __name__ == "__main__":
    sys.exit(main())
