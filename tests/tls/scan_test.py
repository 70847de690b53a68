#!/usr/bin/env python3
"""scan_test.py HTTPD TLS_ECHO: what sslscan and testssl.sh find of a server of files and of the example of an echo server:
nothing above low. testssl.sh, which takes minutes, in the long form alone, by VOLT_TEST_SECONDS of 5 and more."""
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import ports
from authority import Authority

HTTPD, ECHO = sys.argv[1:]
LONG = 120
WHOLE = float(os.environ.get("VOLT_TEST_SECONDS") or 0) >= 5
TESTSSL = shutil.which("testssl") or shutil.which("testssl.sh")
HARMLESS = ("OK", "INFO", "LOW", "DEBUG")  # the last is of the tool
# Of the tool itself: Debian's OpenSSL has no engine for GOST.
NOT_OF_SERVERS = ("engine_problem",)
done = []


def check(what, holds, why=""):
    print(f"ok: {what}" if holds else f"FAILED: {what}: {why}", flush=True)
    done.append(holds)


@contextlib.contextmanager
def running(port, *command):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + LONG
        while True:
            with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
                break
            if process.poll() is not None or time.monotonic() > end:
                sys.exit(f"{command[0]} does not listen: {process.poll()}")
        yield
    finally:
        process.kill()
        process.wait()


def sslscan(name, port):
    text = subprocess.run(["sslscan", "--xml=-", f"127.0.0.1:{port}"], capture_output=True, timeout=20 * LONG, check=True).stdout
    found = xml.etree.ElementTree.fromstring(text).find("ssltest")
    protocols = {f"{p.get('type')} {p.get('version')}" for p in found.iter("protocol") if p.get("enabled") == "1"}
    check(f"{name}: TLS 1.2 and 1.3 alone", protocols == {"tls 1.2", "tls 1.3"}, protocols)
    ciphers = [(c.get("cipher"), c.get("bits"), c.get("strength")) for c in found.iter("cipher")]
    weak = [c for c in ciphers if int(c[1]) < 128 or c[2] not in ("strong", "acceptable")]
    check(f"{name}: none of {len(ciphers)} ciphers is weak", len(ciphers) > 3 and not weak, weak)
    check(f"{name}: no compression, no renegotiation, no heartbleed",
          all(e.get("supported") == "0" for tag in ("compression", "renegotiation") for e in found.iter(tag))
          and [e.get("vulnerable") for e in found.iter("heartbleed")] == ["0", "0"], text)


def testssl(name, port, directory):
    report = pathlib.Path(directory, f"{name}.json")
    subprocess.run([TESTSSL, "--quiet", "--warnings", "off", "--color", "0", "--ip", "127.0.0.1", "--add-ca",
                    f"{directory}/root.pem", "--jsonfile", report, f"localhost:{port}"], stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, timeout=20 * LONG)
    found = json.loads(report.read_text())
    bad = [f"{f['severity']} {f['id']}: {f['finding']}" for f in found
           if f["severity"] not in HARMLESS and f["id"] not in NOT_OF_SERVERS]
    check(f"{name}: testssl.sh: none of {len(found)} findings is above low", len(found) > 100 and not bad, bad)


def main():
    for tool in ("openssl", "sslscan"):
        if not shutil.which(tool):
            print(f"skipped: {tool} is not here")
            sys.exit(77)
    with tempfile.TemporaryDirectory() as scratch:
        a = Authority(scratch)
        a.root("root")
        a.issue("host", "root", "subjectAltName=DNS:localhost,IP:127.0.0.1", "basicConstraints=critical,CA:FALSE",
                "keyUsage=critical,digitalSignature", "extendedKeyUsage=serverAuth",
                "crlDistributionPoints=URI:http://127.0.0.1/crl", ends=300)
        pathlib.Path(a.path("index.html")).write_text("<!doctype html><title>here</title>\n")
        of_httpd, of_echo = ports.keep_port(), ports.keep_port()
        with running(of_httpd, HTTPD, "--listen", f"127.0.0.1:{of_httpd}", "--tls", a.path("host.pem"), a.path("host.key"),
                     "--hsts", "31536000", scratch), \
                running(of_echo, ECHO, a.path("host.pem"), a.path("host.key"), f"127.0.0.1:{of_echo}"):
            for name, port in (("httpd", of_httpd), ("echo", of_echo)):
                sslscan(name, port)
                if WHOLE and TESTSSL:
                    testssl(name, port, scratch)
        if not (WHOLE and TESTSSL):
            print("left out: testssl.sh", "is not here" if WHOLE else "is of the long form")
    sys.exit(not all(done))


main()
