#!/usr/bin/env python3
"""network.py [--delay SECONDS] [--cut HOST SECONDS] COUNT COMMAND...

Runs a command in the first of COUNT network namespaces, attnlab-1 to attnlab-COUNT, whose addresses are 10.99.0.1
to 10.99.0.COUNT. A packet takes DELAY seconds from one to another. --cut lets no packet from or to HOST (2 to
COUNT) pass from so many seconds on. Ends with the command's status. Needs root, iproute2 and /dev/net/tun.
"""

import argparse
import collections
import fcntl
import os
import select
import struct
import subprocess
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
LARGEST_PACKET = 65536


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


def open_tunnel(host):
    """A device in the namespace of a host, whose packets are read and written here."""
    tunnel = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    name = f"attnlab{host}"
    fcntl.ioctl(tunnel, TUNSETIFF, struct.pack("16sH22s", name.encode(), IFF_TUN | IFF_NO_PI, b""))
    namespace = f"attnlab-{host}"
    ip("netns", "add", namespace)
    ip("link", "set", name, "netns", namespace)
    ip("-n", namespace, "address", "add", f"10.99.0.{host}/24", "dev", name)
    ip("-n", namespace, "link", "set", "lo", "up")
    ip("-n", namespace, "link", "set", name, "up")
    return tunnel


class Network:
    def __init__(self, count, delay, cut):
        self.delay = delay
        self.cut_host, self.cut_time = (cut[0], time.monotonic() + cut[1]) if cut else (None, 0.0)
        self.tunnels = {}
        for host in range(1, count + 1):
            self.tunnels[host] = open_tunnel(host)
        self.under_way = collections.deque()  # of (time of arrival, host, packet)

    def close(self):
        for host, tunnel in self.tunnels.items():
            os.close(tunnel)
            ip("netns", "delete", f"attnlab-{host}")

    def passes(self, *hosts):
        return self.cut_host not in hosts or time.monotonic() < self.cut_time

    def read(self, host):
        try:
            packet = os.read(self.tunnels[host], LARGEST_PACKET)
        except BlockingIOError:
            return
        if packet[0] >> 4 != 4:  # IPv6 looks for neighbours; nobody needs it here
            return
        destination = packet[19]
        if packet[16:19] == bytes([10, 99, 0]) and destination in self.tunnels and self.passes(host, destination):
            self.under_way.append((time.monotonic() + self.delay, destination, packet))

    def deliver(self):
        while self.under_way and self.under_way[0][0] <= time.monotonic():
            _, host, packet = self.under_way.popleft()
            try:
                os.write(self.tunnels[host], packet)
            except BlockingIOError:
                pass  # lost, as on any network

    def carry_until(self, process):
        hosts = {tunnel: host for host, tunnel in self.tunnels.items()}
        while process.poll() is None:
            pause = max(0.0, self.under_way[0][0] - time.monotonic()) if self.under_way else 0.05
            readable, _, _ = select.select(list(hosts), [], [], min(pause, 0.05))
            for tunnel in readable:
                self.read(hosts[tunnel])
            self.deliver()


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--cut", nargs=2, type=float)
    parser.add_argument("count", type=int)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    network = Network(arguments.count, arguments.delay, arguments.cut)
    try:
        process = subprocess.Popen(["ip", "netns", "exec", "attnlab-1", *arguments.command])
        network.carry_until(process)
        return process.returncode
    finally:
        network.close()


if __name__ == "__main__":
    sys.exit(main())
