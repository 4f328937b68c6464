#!/usr/bin/env python3
"""`lather watch` among clients that are silent, slow, numerous or rude, and over run folders that strangers made.

After each attack, and while it lasts, somebody who asks for the page gets it, somebody who watches goes on watching, nothing
comes from outside the folders, and the server ends when it is told to.
"""
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from campaign import Campaign, lather

SECRET = b"a-secret-of-somebody-else"
PATIENCE = 60  # seconds in which others must have their answer; it takes thousandths on a machine that is not busy
FILES = ["config.json", "summary.json", "environment.json", "history.csv", "history.jsonl", "timing.csv", "diagnostics.jsonl",
         "events.jsonl", "fields.json", "lock", "checkpoints", "data"]


class Watch(Campaign):
    def __init__(self):
        super().__init__("watch", cases=60)
        self.counts = {}
        self.server = self.tab = None

    def start(self):
        self.server = subprocess.Popen([lather(), "watch", "runs", "--port", "0"], stdout=subprocess.PIPE, text=True)
        self.port = int(re.search(r":(\d+)/", self.server.stdout.readline())[1])
        self.tab = None

    def stop(self, words):
        self.server.send_signal(signal.SIGTERM)
        try:
            if self.server.wait(timeout=PATIENCE):
                self.crash(f"ended with {self.server.returncode}", words)
        except subprocess.TimeoutExpired:
            self.hang("does not end when it is told to", words)
            self.server.kill()
            self.server.wait()

    def connection(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def ask(self, request, enough=None):
        """All that is answered; what comes before the server gave up, if it did."""
        with self.connection() as link:
            answer = b""
            try:
                link.sendall(request)
                while piece := link.recv(65536):
                    answer += piece
                    if enough and enough in answer:
                        break
            except ConnectionError:
                pass
            return answer

    @staticmethod
    def get(target, more=b""):
        return b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\n" + more + b"\r\n"

    def others_are_served(self, words):
        """A page, the list, a file, and a tab that has been open all the time, or opens anew as a browser does."""
        if self.server.poll() is not None:
            self.crash(f"the server ended with {self.server.returncode}", words)
            return self.start()
        begin = time.monotonic()
        try:
            for request, part in [(b"/", b"EventSource"), (b"/runs", b'"runs"'), (b"/events", b"event: runs")]:
                if part not in self.ask(self.get(request), part):
                    self.silent(f"{request} is not answered", words)
            if not self.tab or not self.tab_lives():
                self.tab = self.connection()
                self.tab.sendall(self.get(b"/events?run=" + self.run_id))
                if b"event: " not in self.tab.recv(65536):
                    self.silent("a new tab gets nothing", words)
        except TimeoutError:
            self.hang(f"others wait for more than {PATIENCE} s", words)
        self.slowest = max(getattr(self, "slowest", 0), time.monotonic() - begin)

    def tab_lives(self):
        self.tab.setblocking(False)
        try:
            while piece := self.tab.recv(65536):
                if SECRET in piece:
                    self.silent("a tab shows what a link leads to", "events")
            return False
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            self.tab.settimeout(PATIENCE)

    def answered(self, request, words, statuses=(b"200", b"206", b"400", b"403", b"404", b"405", b"408", b"416", b"431")):
        answer = self.ask(request, enough=b"event: runs" if b"events" in request else None)
        if SECRET in answer:
            self.silent("sends what a link leads to", words)
        if answer and answer[9:12] not in statuses:
            self.silent(f"answers {answer[:60]}", words)

    # Attacks.
    def half_open(self, chance):
        count = chance.choice([40, 150, 400])
        links = []
        for number in range(count):
            links.append(self.connection())
            try:
                links[-1].sendall(chance.choice([b"", b"G", b"GET / HTTP/1.1\r\nHost: loc", b"GET /events HTTP/1.1\r\n", b"\r"]))
            except OSError:
                pass
            if number % 50 == 49:
                self.others_are_served(f"{number + 1} half-open connections")
        return links, f"{count} half-open connections"

    def streams(self, chance):
        count, links = chance.choice([50, 300, 600]), []
        target = chance.choice([b"/events", b"/events?run=" + self.run_id])
        for number in range(count):
            links.append(self.connection())
            links[-1].sendall(self.get(target))
            if number % 100 == 99:
                self.others_are_served(f"{number + 1} streams")
        return links, f"{count} streams of {target!r}"

    def slow_readers(self, chance):
        links = []
        for _ in range(chance.choice([20, 100, 200])):
            link = socket.socket()
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            link.connect(("127.0.0.1", self.port))
            link.sendall(self.get(chance.choice([b"/run/" + self.run_id + b"/large", b"/run/" + self.run_id + b"/fields.json", b"/"])))
            links.append(link)
        return links, f"{len(links)} slow readers"

    def endless_senders(self, chance):
        links = []
        for _ in range(chance.choice([1, 5, 20])):
            links.append(self.connection())
            links[-1].settimeout(0.2)
            try:
                if chance.random() < 0.5:
                    links[-1].sendall(self.get(b"/events"))
                for _ in range(20):
                    links[-1].sendall(b"x" * 60000)
            except OSError:
                pass
        return links, f"{len(links)} endless senders"

    def come_and_go(self, chance):
        for _ in range(300):
            link = self.connection()
            if chance.random() < 0.5:
                link.sendall(self.get(chance.choice([b"/", b"/events", b"/runs"])))
            if chance.random() < 0.5:  # with a reset instead of an end
                link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            link.close()
        return [], "300 that come and go"

    def requests(self, chance):
        """One request that is none, or asks for what is none of its business."""
        up = chance.choice([b"..", b"%2e%2e", b"..%2f..", b"%252e%252e", b".%00.", b"...."])
        target = chance.choice([
            b"/" + b"/".join([up] * chance.randrange(1, 9)) + b"/elsewhere/secret",
            b"/run/" + self.run_id + b"/" + up + b"/" + up + b"/elsewhere/secret",
            b"/run/" + self.run_id + b"/" + chance.choice([b"linked", b"lock", b"checkpoints", b"", b"config.json%00.txt", b"CONFIG.JSON"]),
            b"/run/" + chance.choice([b"0" * 16, b"", b"..", b"a" * 5000]) + b"/config.json",
            b"//etc/passwd", b"/etc/passwd", b"http://localhost/runs", b"*", b"/%", b"/%zz", b"/events?run=../../elsewhere",
            b"/events?run=" + b"&run=" * 1000, b"/" + chance.randbytes(30).replace(b"\n", b"").replace(b" ", b""),
        ])
        method = chance.choice([b"GET", b"GET", b"GET", b"HEAD", b"POST", b"PUT", b"CONNECT", b"", b"G" * 3000])
        host = chance.choice([b"localhost", b"localhost", b"127.0.0.1", b"[::1]:80", b"evil.example", b"localhost.evil.example", b"", b"localhost\x00"])
        more = chance.choice([b"", b"", b"Range: bytes=0-5\r\n", b"Range: bytes=99999999999999999999-\r\n", b"Range: bytes=-0\r\n", b"Range: bytes=5-2\r\n",
                              b"Content-Length: 99999999\r\n", b"Transfer-Encoding: chunked\r\n", b"Host: localhost\r\n", b"X: " + b"y" * 20000 + b"\r\n", b": \r\n" * 500])
        request = method + b" " + target + chance.choice([b" HTTP/1.1", b" HTTP/1.0", b" HTTP/9.9", b"", b" FTP/1"]) + b"\r\nHost: " + host + b"\r\n" + more + b"\r\n"
        if chance.random() < 0.2:
            request = bytes(chance.randrange(256) if chance.random() < 0.05 else byte for byte in request)
        self.answered(request, repr(request[:300]))
        return [], repr(request[:300])

    def folders(self, chance):
        """Something else lies in place of one of a run's files, while it is watched."""
        name = chance.choice(FILES)
        path = "runs/a/" + name
        kind = chance.choice(["fifo", "link", "link to a folder", "link to itself", "device", "folder", "sparse", "deep", "gone", "huge line"])
        shutil.rmtree(path) if os.path.isdir(path) else os.path.lexists(path) and os.remove(path)
        secret = os.path.abspath("elsewhere/secret")
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "folder":
            os.mkdir(path)
        elif kind in ("sparse", "deep", "huge line"):
            with open(path, "wb") as file:
                file.write({"deep": b"[" * 300000, "huge line": b'{"step": 1, "x": "' + b"y" * (8 << 20)}.get(kind, b""))
                if kind == "sparse":
                    file.truncate(1 << 42)
        elif kind != "gone":
            os.symlink({"link": secret, "link to a folder": os.path.dirname(secret), "link to itself": name}.get(kind, "/dev/zero"), path)
        words = f"{name} is a {kind}"
        for target in (b"/runs", b"/events?run=" + self.run_id, b"/run/" + self.run_id + b"/" + name.encode()):
            # A file of a terabyte is sent if it is asked for; nobody has to take it.
            self.answered(self.get(target, b"Range: bytes=0-99\r\n"), words)
        time.sleep(0.6)  # until it is looked at again
        self.others_are_served(words)
        return [], words

    def case(self, chance):
        attack = chance.choice([self.half_open, self.streams, self.slow_readers, self.endless_senders, self.come_and_go,
                                self.folders, self.folders, self.folders, *[self.requests] * 8])
        self.counts[attack.__name__] = self.counts.get(attack.__name__, 0) + 1
        links, words = [], attack.__name__
        try:
            links, words = attack(chance)
            self.others_are_served(words)
        except TimeoutError:
            self.hang(f"no answer within {PATIENCE} s", words)
        except ConnectionError as error:
            if self.server.poll() is not None:
                self.others_are_served(words)
            else:
                self.silent(f"turned away: {error}", words)
        for link in links:
            link.close()
        if attack == self.folders:
            shutil.rmtree("runs/a")
            shutil.copytree("whole", "runs/a")
        if chance.random() < 0.05:
            self.stop(words)
            self.start()


def main():
    campaign = Watch()
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        os.chdir(folder)
        os.mkdir("elsewhere")
        with open("elsewhere/secret", "wb") as file:
            file.write(b'{"step": 1, "message": "' + SECRET + b'"}\n')
        trained = subprocess.run([lather(), "train", "heat-1d", "--optimizer", "adam", "--steps", "20", "--threads", "1", "--quiet", "--set",
                                  "network.width=8", "--out", "whole"], capture_output=True, text=True)
        if trained.returncode:
            sys.exit(trained.stderr)
        os.mkdir("runs")
        shutil.copytree("whole", "runs/a")
        os.symlink("../elsewhere", "runs/linked")
        campaign.start()
        campaign.run_id = re.search(rb'"id":"([0-9a-f]+)"', campaign.ask(campaign.get(b"/runs")))[1]
        while campaign.more():
            campaign.case(campaign.chance())
        campaign.stop("the end")
        print(", ".join(f"{count} {label}" for label, count in sorted(campaign.counts.items())) + f"; others waited at most {campaign.slowest:.2f} s")
        os.chdir("/")
    campaign.end()


main()
