"""handover_kit.py: what the tests of restarts have together: a process that takes over from voltgate, or is taken over
from, by hand."""

from voltgate_kit import *


class Successor:
    """A process that takes over as far as the test wants it to."""

    HELLO, REFUSED, LISTENER, OFFERED, TAKES, GATE, READY, PERMITS, GO, ACCEPTS, GIVE, WANT = range(1, 13)
    PERMIT_GATE, PASSES, CLIENT, PART, PASSED, ADOPTED = range(17, 23)

    def __init__(self, at=None):
        self.bytes, self.fds = b"", []
        at_end.callback(self.die)
        self.s = socket.socket(socket.AF_UNIX)
        self.s.settimeout(LIMIT)
        if at:
            self.s.connect(at)

    @staticmethod
    def of(connection):
        one = Successor()
        one.s = connection
        one.s.settimeout(LIMIT)
        return one

    def send(self, kind, number=0, name="", text=""):
        name, text = name.encode(), text.encode()
        self.s.sendall(struct.pack("!BIHH", kind, number, len(name), len(text)) + name + text)

    def receive(self):
        """(kind, number, name, text), or None at the end."""
        while True:
            if len(self.bytes) >= 9:
                kind, number, name, text = struct.unpack("!BIHH", self.bytes[:9])
                size = 9 + name + text
                if len(self.bytes) >= size:
                    body, self.bytes = self.bytes[9:size], self.bytes[size:]
                    return kind, number, body[:name].decode(), body[name:].decode()
            more, fds, _, _ = socket.recv_fds(self.s, 4096, 8)
            self.fds += fds
            if not more:
                return None
            self.bytes += more

    def until(self, kind):
        seen = []
        while True:
            message = self.receive()
            require(message, f"it has ended, after {seen}")
            seen.append(message)
            if message[0] == kind:
                return seen

    def offered(self):
        self.send(self.HELLO, 1, text="by hand")
        return [m for m in self.until(self.OFFERED)[:-1] if m[0] == self.LISTENER]

    def choose(self, *gates):
        """All that is offered. gates: (kind, number, name) of those that it has."""
        for i, _ in enumerate(self.offered()):
            self.send(self.TAKES, i)
        for gate in gates:
            self.send(*gate)

    def ready(self, *gates):
        self.choose(*gates)
        self.send(self.READY)

    def die(self):
        self.s.close()
        while self.fds:
            os.close(self.fds.pop())
