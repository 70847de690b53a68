"""permit_peer.py: a gate that grants permits, of the tests' own: it shares no code with voltgate's. It keeps books
of what its clients say, and can end, and begin again, at any moment."""

import os
import selectors
import socket
import struct
import threading

CREDENTIALS = struct.Struct('3i')


class Client:
    def __init__(self, link):
        self.link, self.rest, self.held, self.wants, self.command, self.label = link, b'', {}, None, '', ''
        self.pid = CREDENTIALS.unpack(link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))[0]


def amounts_of(words):
    scale = {'K': 10, 'M': 20, 'G': 30, 'T': 40}
    found = {}
    for word in words:
        kind, _, value = word.partition('=')
        if kind not in ('wait', 'label', 'command'):
            found[kind] = int(value[:-1]) << scale[value[-1]] if value[-1] in scale else int(value)
    return found


def words_of(line):
    """What is in quotes is one word."""
    words, word, quoted, escaped = [], '', False, False
    for c in line + ' ':
        if escaped or c not in '"\\ ' or (quoted and c == ' '):
            word, escaped = word + c, False
        elif c == '\\':
            escaped = True
        elif c == '"':
            quoted = not quoted
        elif word:
            words.append(word)
            word = ''
    return words


class Peer:
    """One that serves at a path until end(); begin() serves there again."""

    def __init__(self, path, **limits):
        self.path, self.limits, self.said, self.highest, self.grants = path, limits, [], {}, 0
        self.lock = threading.Lock()
        self.is_mute = False  # accepts, and says nothing
        self.begin()

    def begin(self):
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(100)
        self.clients, self.queue, self.is_over = [], [], False
        self.wakes, self.wake = socket.socketpair()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def end(self):
        """As by kill -9: every connection ends."""
        self.is_over = True
        self.wake.send(b'.')
        self.thread.join()

    def set(self, **limits):
        with self.lock:
            self.limits.update(limits)
            self.grant()

    def held(self, kind='cores'):
        with self.lock:
            return self.sum(kind)

    def waiting(self):
        with self.lock:
            return len(self.queue)

    def lines(self, begin=''):
        with self.lock:
            return [line for line in self.said if line.startswith(begin)]

    def holders(self):
        with self.lock:
            return [c for c in self.clients if c.held]

    # ---- with the lock ----

    def sum(self, kind):
        return sum(c.held.get(kind, 0) for c in self.clients)

    def fits(self, wants):
        return all(self.sum(kind) + n <= self.limits[kind] for kind, n in wants.items())

    def say(self, client, line):
        try:
            client.link.sendall(line.encode() + b'\n')
        except OSError:
            pass  # it has gone: its end is read next

    def give_to(self, client, wants):
        client.held = wants
        self.grants += 1
        for kind in wants:
            self.highest[kind] = max(self.highest.get(kind, 0), self.sum(kind))
        self.say(client, 'granted ' + ' '.join(f'{k}={n}' for k, n in wants.items()) + f' id={client.pid} wait_ms=0')

    def grant(self):
        while self.queue and self.fits(self.queue[0].wants):
            client = self.queue.pop(0)
            self.give_to(client, client.wants)
        for place, client in enumerate(self.queue):
            self.say(client, f'queued {place + 1}')

    def handle(self, client, line):
        words = words_of(line)
        self.said.append(line)
        if words[0] == 'hello':
            self.say(client, 'hello 1 voltgate 0 peer')
        elif words[0] in ('take', 'claim'):
            wants, named = amounts_of(words[1:]), dict(w.split('=', 1) for w in words[1:])
            client.command, client.label = named.get('command', ''), named.get('label', '')
            if not all(kind in self.limits for kind in wants):
                self.say(client, 'refused kind: there is no such kind')
            elif any(n > self.limits[kind] for kind, n in wants.items()):
                self.say(client, 'refused impossible: more than the limit')
            elif words[0] == 'claim':
                self.give_to(client, wants)
            elif named.get('wait') == '0' and (self.queue or not self.fits(wants)):
                self.say(client, 'refused busy: not free')
            elif len(named.get('wait', '0')) in (3, 4) and not self.fits(wants):  # 1ms, 10ms
                self.say(client, 'refused timeout: it was not free in time')  # no clock: at once
            else:
                client.wants = wants
                self.queue.append(client)
                self.grant()
        elif words[0] == 'give':
            part = amounts_of(words[1:])
            client.held = {k: n - part.get(k, 0) for k, n in client.held.items() if n > part.get(k, 0)} if part else {}
            self.queue = [c for c in self.queue if c is not client]
            self.say(client, ' '.join(['given'] + [f'{k}={n}' for k, n in client.held.items()]))
            self.grant()

    def leave(self, client):
        client.link.close()
        self.clients.remove(client)
        self.queue = [c for c in self.queue if c is not client]
        self.grant()

    def read(self, client):
        try:
            got = client.link.recv(4096)
        except OSError:
            got = b''
        if not got:
            return False
        client.rest += got
        while b'\n' in client.rest:
            line, client.rest = client.rest.split(b'\n', 1)
            if not self.is_mute:
                self.handle(client, line.decode(errors='replace'))
        return True

    def serve(self):
        with selectors.DefaultSelector() as ready:
            ready.register(self.listener, selectors.EVENT_READ)
            ready.register(self.wakes, selectors.EVENT_READ)
            while not self.is_over:
                for key, _ in ready.select():
                    with self.lock:
                        if key.fileobj is self.listener:
                            client = Client(self.listener.accept()[0])
                            self.clients.append(client)
                            ready.register(client.link, selectors.EVENT_READ, client)
                        elif key.data and not self.read(key.data):
                            ready.unregister(key.data.link)
                            self.leave(key.data)
            self.listener.close()
            for client in self.clients:
                client.link.close()
            self.clients, self.queue = [], []
            self.wakes.close()
            self.wake.close()
