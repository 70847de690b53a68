#!/usr/bin/env python3
"""ports_test.py: a port that ports.py keeps is its servers', and is given to no other."""
import errno
import socket
import sys

from ports import keep_port


def error_of(step):
    try:
        step()
        return 0
    except OSError as e:
        return e.errno


def check(what, holds):
    if not holds:
        sys.exit(f"FAILED: {what}")
    print(f"ok: {what}")


def main():
    port = keep_port()
    places = [(socket.AF_INET, a) for a in ("127.0.0.1", "127.0.0.2", "0.0.0.0")]
    if error_of(
            lambda: socket.create_server(("::1", 0), family=socket.AF_INET6).close()) == 0:
        places += [(socket.AF_INET6, a) for a in ("::1", "::")]
    for family, address in places:
        with socket.socket(family) as s:  # as the kernel looks for a port that is free
            check(f"{address} is not given to others",
                  error_of(lambda: s.bind((address, port))) == errno.EADDRINUSE)
        for time in ("first", "second"):
            with socket.socket(family) as s, socket.socket(family) as client:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                s.bind((address, port))
                s.listen()
                client.connect(s.getsockname())
                check(f"a server at {address} takes connections, the {time} time", s.accept()[0])
        with socket.socket(family) as client:
            check(f"{address} refuses while no server is there",
                  error_of(lambda: client.connect((address, port))) == errno.ECONNREFUSED)


main()
