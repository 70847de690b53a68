#!/usr/bin/env python3
"""ports.py [COUNT]: ports for servers that are started on a port of a test's choice.

As a program it writes COUNT of them on a line, and keeps them until its standard input ends.

A port that was free a moment ago may be another process's by the time that a server binds it: the
kernel gives ports to servers that ask for any, and to every connection that is made. So a port is kept
while it is in use: bound at all addresses with SO_REUSEADDR, and not listened at. A server that sets
SO_REUSEADDR may bind it all the same, at any address, as often as it is started; the kernel gives it to
nothing else; and what connects to it while no server is there is refused."""
import socket
import sys

kept = []  # for as long as the process lives


def keep_port():
    """A port that is this process's, and its servers', until it ends."""
    try:
        kept.append(bound(socket.AF_INET6))  # at the addresses of IPv4, too
    except OSError:
        kept.append(bound(socket.AF_INET))  # there is no IPv6
    return kept[-1].getsockname()[1]


def bound(family):
    s = socket.socket(family)
    try:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        s.bind(("", 0))
    except OSError:
        s.close()
        raise
    return s


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    print(*(keep_port() for _ in range(count)), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
