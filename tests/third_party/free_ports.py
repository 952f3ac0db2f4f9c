"""Ports of 127.0.0.1 that are free.

    python3 free_ports.py [N]

They lie below those that the system gives to whoever connects: until somebody listens, or while a server that is killed
comes back, nobody else gets them by chance.
"""

import random
import socket
import sys

# Those that were given to somebody, who may not listen yet.
given = set()


def free_ports(n):
    """So many that nobody has got yet."""
    held = []
    while len(held) < n:
        port = random.randrange(12_000, 32_000)
        if port in given:
            continue
        given.add(port)
        try:
            held.append(socket.create_server(("127.0.0.1", port)))
        except OSError:
            pass
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


if __name__ == "__main__":
    print(*free_ports(int(sys.argv[1]) if len(sys.argv) > 1 else 1))
