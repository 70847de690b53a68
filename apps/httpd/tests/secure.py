"""secure.py: a certificate, and a client's side of TLS that behaves as a socket: it can be read after its own end,
and what was given to it before the handshake is kept until that is done."""
import contextlib
import socket
import ssl
import subprocess
from pathlib import Path


class Certificate:
    """One that signs itself, made by the command openssl."""

    def __init__(self, directory, name, common="localhost"):
        self.chain, self.key = str(Path(directory, f"{name}.pem")), str(Path(directory, f"{name}.key"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-subj", f"/CN={common}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-days", "2",
                        "-keyout", self.key, "-out", self.chain], check=True, stderr=subprocess.DEVNULL)
        self.context = self.trusting()

    def trusting(self, *others):
        """A client's context that trusts it, and others."""
        context = ssl.create_default_context(cafile=self.chain)
        for other in others:
            context.load_verify_locations(other.chain)
        return context


class Truncated(ConnectionAbortedError):
    """The connection has ended without TLS's own end."""


class Stream:
    def __init__(self, plain, context, session=None):
        self.plain, self.waiting = plain, []
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost", session=session)
        self.is_open = False
        self.close, self.settimeout, self.setsockopt = plain.close, plain.settimeout, plain.setsockopt

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def flush(self):
        if self.outgoing.pending:
            self.plain.sendall(self.outgoing.read())

    def repeat(self, step, *arguments):
        """A step of TLS, with what it wants to receive before."""
        while True:
            try:
                result = step(*arguments)
                self.flush()
                return result
            except ssl.SSLWantReadError:
                self.flush()
                piece = self.plain.recv(65536)
                if piece:
                    self.incoming.write(piece)
                else:
                    self.incoming.write_eof()
            except ssl.SSLEOFError:
                raise Truncated("truncated") from None
            except ssl.SSLZeroReturnError:
                return b""

    def handshake(self):
        if not self.is_open:
            self.repeat(self.tls.do_handshake)
            self.is_open = True
        while self.waiting:
            self.tls.write(self.waiting.pop(0))
        self.flush()

    def sendall(self, data):
        """As of a socket: that the server has closed before the handshake is said by recv()."""
        if data:
            self.waiting.append(data)
        with contextlib.suppress(Truncated):
            self.handshake()

    def recv(self, size):
        self.handshake()
        return self.repeat(self.tls.read, size)

    def shutdown(self, how):
        """SHUT_WR: says that nothing more comes."""
        assert how == socket.SHUT_WR
        self.handshake()
        try:
            self.tls.unwrap()
        except ssl.SSLWantReadError:
            pass
        self.flush()
