#!/usr/bin/env python3
"""Run folders, caches, output files and names as a stranger might make them, through every command that reads or writes them.

Whatever lies there, a command ends soon, with status 0 or with words; it follows no link out of the folder, neither reading
nor writing; it prints no character that a terminal would obey, and writes no page or picture that is broken or runs a
script; a resumed run has the bytes of an undamaged one, or it is said why not.
"""
import glob
import html.parser
import json
import os
import random
import re
import shutil
import socket
import stat
import tempfile
import threading
import xml.etree.ElementTree as xml

from campaign import Campaign, lather

SECRET = "a-secret-of-somebody-else"
TERMINAL = "\x1b[31m\x1b]0;owned\x07\x9b31m\u202e"
HTML = "<script>alert(7)</script><img src=x onerror=alert(8)>\"'`&{{data}}</title></style>"
TEXTS = [TERMINAL, HTML, "\U0001f9fc\u202e\u0301" * 300, "../../x", "=1+1|a,b\n2", "\\input{/etc/passwd}$%", "x" * 5000, "", "\x00", "\ud800"]
PROBLEM = """name = %s
title = %s
coordinates = ["x", "t"]
fields = ["u"]
[domain]
x = [-1, 1]
t = [0, 1]
[[equation]]
name = %s
residual = "u_t - 0.1*u_xx"
[[condition]]
name = %s
where = "t = 0"
residual = "u - sin(pi*x)"
"""
SMALL = ["--optimizer", "adam", "--threads", "1", "--quiet", "--set", "network.width=8", "--set", "network.depth=2",
         "--set", "training.points.interior=64", "--set", "training.checkpoint_every=10"]
LOGS = ["history.csv", "history.jsonl", "diagnostics.jsonl"]
# What each command cannot do its work without; where it is no regular file, this must be said.
NEEDS = {
    "status": ["config.json", "summary.json", "history.jsonl", "timing.csv"],
    "report": ["config.json", "summary.json", "environment.json", "history.jsonl", "timing.csv", "fields.json"],
    "eval": ["config.json"],
    "board": ["history.jsonl", "timing.csv"],
    "export": ["config.json"],
    "resume": ["config.json", "history.jsonl", "history.csv", "timing.csv", "lock"],
}


def commands(run):
    return {
        "status": ["status", run],
        "report": ["report", run, "--out", "page.html", "--figure", "figure.svg", "--tables", "tables"],
        "eval": ["eval", run],
        "board": ["export", run, "--format", "tensorboard", "--out", "board"],
        "export": ["export", run, "--format", "npz", "--grid", "5", "--out", "fields.npz"],
        "resume": ["train", "--resume", run, "--steps", "40", "--quiet"],
    }


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


class Page(html.parser.HTMLParser):
    bad = ()

    def handle_starttag(self, tag, attributes):
        if tag == "img" or any(name.startswith("on") for name, _ in attributes):
            self.bad += (tag,)


class RunFolders(Campaign):
    def __init__(self):
        super().__init__("run folders", cases=120)
        self.counts = {}

    def prepare(self):
        write("problem.toml", (PROBLEM % tuple(map(json.dumps, ("heat", "t", "heat", "start")))).encode())
        self.lather(["train", "problem.toml", "--steps", "30", "--out", "whole", *SMALL], must=True)
        shutil.copytree("whole", "golden")
        self.lather(commands("golden")["resume"], must=True)
        self.golden = self.logs("golden")
        os.mkdir("elsewhere")
        write("elsewhere/file", json.dumps({"step": 1, "message": SECRET, "reason": "steps"}).encode())
        write("elsewhere/table.csv", b"x,y\n1,2\n")
        self.elsewhere = self.tree("elsewhere")

    def lather(self, arguments, must=False, **more):
        self.given = (arguments, self.words)
        done = self.run([lather(), *arguments], **more)
        if done is None:
            return None
        text = (done.stdout + done.stderr).decode(errors="surrogateescape")
        given = repr(self.given)
        if must and done.returncode:
            raise SystemExit(f"{arguments}: {text}")
        if done.returncode not in (0, 1, 2, 3):
            self.silent(f"status {done.returncode}: {text[:500]}", given)
        if done.returncode in (1, 2) and not done.stderr.strip():
            self.silent("refused without a word", given)
        if bad := re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\udc80-\udcff]", text):
            self.silent(f"a terminal would obey {bad[:3]}", given)
        if SECRET in text:
            self.silent("prints what a link leads to", given)
        return done.returncode, text

    words = "nothing yet"

    @staticmethod
    def logs(run):
        return {name: read(f"{run}/{name}") for name in LOGS}

    @staticmethod
    def tree(folder):
        return {path: (os.lstat(path).st_mode, read(path) if os.path.isfile(path) else b"")
                for path in [folder, *glob.glob(folder + "/**", recursive=True)]}

    def check_pages(self):
        """What was written: whole pictures, no scripts of others, nothing from elsewhere."""
        if self.tree("elsewhere") != self.elsewhere:
            self.silent("wrote where a link leads", repr(self.given))
            shutil.rmtree("elsewhere")
            raise SystemExit(1)
        for path in glob.glob("*.html") + glob.glob("*.svg") + glob.glob("tables/*"):
            content = read(path).decode(errors="replace")
            if SECRET in content:
                self.silent(f"{path} shows what a link leads to", repr(self.given))
            if path.endswith(".svg"):
                try:
                    xml.fromstring(content)
                except xml.ParseError as error:
                    self.silent(f"{path}: {error}", repr(self.given))
            if path.endswith(".html"):
                page = Page()
                page.feed(content)
                if page.bad or "<script>alert" in content or "</title></style>" in content.split("<body")[0][:3000]:
                    self.silent(f"{path} runs what a name says: {page.bad[:3]}", repr(self.given))
            os.remove(path)

    # Things that are not what they should be.
    KINDS = ["fifo", "link", "link to a folder", "link to itself", "broken link", "link to a device", "folder", "socket", "sparse", "device"]

    def put(self, path, kind):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.remove(path)
        up = os.path.abspath("elsewhere")
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "folder":
            os.makedirs(path + "/inside")
        elif kind == "socket":
            here = socket.socket(socket.AF_UNIX)
            name = "s" + str(self.number)
            here.bind(name)
            os.rename(name, path)
            here.close()
        elif kind == "sparse":
            with open(path, "wb") as file:
                file.truncate(1 << 42)
        elif kind == "device" and os.geteuid() == 0:
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero
        else:
            os.symlink({"link": up + "/file", "link to a folder": up, "link to itself": os.path.basename(path),
                        "broken link": up + "/new"}.get(kind, "/dev/zero"), path)

    def replaced(self, chance):
        """One file, or a folder, is something else."""
        name = chance.choice([*sorted(set(sum(NEEDS.values(), []))), "diagnostics.jsonl", "events.jsonl", "checkpoints", "data", "start.json"])
        kind = chance.choice(self.KINDS)
        self.words = f"{name} is a {kind}"
        self.put("run/" + name, kind)
        for label, arguments in chance.sample(sorted(commands("run").items()), 3):
            # Resuming writes some files anew, and looks at the end of logs alone.
            must_say = name in NEEDS[label] and (os.path.islink("run/" + name) or not os.path.isfile("run/" + name))
            done = self.lather(arguments)
            if done and done[0] == 0 and must_say and name not in done[1]:
                self.silent(f"{label} says nothing of {name}", repr(self.given))
            self.check_pages()

    def mutated(self, chance):
        """The bytes of one file, or the values in it, are others."""
        files = [path for path in glob.glob("run/**", recursive=True) if os.path.isfile(path)]
        path = chance.choice(sorted(files))
        data = bytearray(read(path))
        kind = chance.choice(["cut", "bit", "bytes", "value", "value", "text", "text", "deep", "double"])
        self.words = f"{path}: {kind}"
        if kind == "cut":
            data = data[:chance.randrange(len(data) + 1)]
        elif kind == "bit" and data:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        elif kind == "bytes" and data:
            at = chance.randrange(len(data))
            data[at:at + chance.randrange(20)] = chance.randbytes(chance.randrange(20))
        elif kind == "deep":
            data = b"[" * 100000
        elif kind == "double":
            data = data + data
        elif path.endswith((".json", ".jsonl")):
            lines = data.decode().splitlines() if path.endswith("l") else [data.decode()]
            if lines:
                at = chance.randrange(len(lines))
                lines[at] = json.dumps(self.other_value(json.loads(lines[at]), chance, kind))
            data = "\n".join(lines).encode() + b"\n"
        write(path, data)
        for _, arguments in chance.sample(sorted(commands("run").items()), 2):
            self.lather(arguments)
            self.check_pages()

    def other_value(self, tree, chance, kind):
        if isinstance(tree, (dict, list)) and tree and chance.random() < 0.9:
            key = chance.choice(sorted(tree)) if isinstance(tree, dict) else chance.randrange(len(tree))
            tree[key] = self.other_value(tree[key], chance, kind)
            return tree
        if kind == "text":
            return chance.choice([text for text in TEXTS if "\ud800" not in text])
        return chance.choice([None, True, -1, 0, 1e300, -1e300, 2**63, 2**64, "nan", "", [], {}, [[[]]], {"a": {"b": 1}}, [1] * 1000])

    def checkpoints(self, chance):
        """The newest checkpoint, or both, are damaged: the run goes on as it would have, or it is said why not."""
        files = sorted(glob.glob("run/checkpoints/*"))[::-1][:2]
        damaged = files[:1 + (chance.random() < 0.3)]
        for path in damaged:
            data = bytearray(read(path))
            kind = chance.choice(["cut", "bit", "header", "longer", "empty", "older"])
            if kind == "cut":
                data = data[:chance.randrange(len(data))]
            elif kind in ("bit", "header"):
                bit = chance.randrange(8 * (48 if kind == "header" else len(data)))
                data[bit // 8] ^= 1 << bit % 8
            elif kind == "older":
                data = read(files[1])
            else:
                data = data + b"x" if kind == "longer" else b""
            write(path, data)
        self.words = f"{len(damaged)} checkpoints damaged"
        before = self.logs("run")
        done = self.lather(commands("run")["resume"])
        if done and done[0] == 0 and self.logs("run") != self.golden and not re.search("cannot be used|are lost|no checkpoint yet", done[1]):
            self.silent("went on with other bytes and said nothing", repr(self.given))
        if done and done[0] and self.logs("run") != before:
            self.silent("refused, and changed the logs", repr(self.given))

    def cache(self, chance):
        """What is kept of a reference is damaged, a trap, or somebody else's: the value is the right one all the same."""
        ask = ["reference", "kdv", "--set", "modes=32", "--set", "tolerance=1e-4", "--at", "0.3,0.01"]
        folder = os.path.abspath("cache")
        surroundings = {**os.environ, "LATHER_CACHE": folder}
        right = self.lather(ask, env=surroundings)
        if not right or right[0]:
            return self.silent("no reference", repr(right))
        (file,) = glob.glob("cache/*.reference")
        kind = chance.choice([*self.KINDS, "cut", "bit", "open to all", "folder is a link", "no home", "file as folder"])
        self.words = f"the cache: {kind}"
        if kind in ("cut", "bit"):
            data = bytearray(read(file))
            at = chance.randrange(len(data))
            data[at] ^= 1 << chance.randrange(8)
            write(file, data[:at] if kind == "cut" else data)
        elif kind == "open to all":
            data = bytearray(read(file))
            data[-8:] = bytes(8)
            write(file, data)
            os.chmod(folder, 0o777)
        elif kind == "folder is a link":
            surroundings["LATHER_CACHE"] = os.path.abspath("linked")
            os.symlink("elsewhere", "linked")
        elif kind == "no home":
            for name in ("HOME", "XDG_CACHE_HOME", "LATHER_CACHE"):
                surroundings.pop(name, None)
            surroundings["HOME"] = os.path.abspath("home")  # so that this does not touch the account's own
        elif kind == "file as folder":
            surroundings["LATHER_CACHE"] = file
        else:
            self.put(file, kind)
        for _ in range(2):
            done = self.lather(ask, env=surroundings)
            if done and done != right:
                self.silent(f"another value: {done} instead of {right}", repr(self.given))
        done = self.lather(ask[:-2], env=surroundings)
        if done and kind in ("open to all", "folder is a link", "file as folder") and "is not used" not in done[1]:
            self.silent("does not say that the cache is not used", repr(done))
        self.check_pages()

    def outputs(self, chance):
        """--out is a link, a FIFO, a device: it stays one, and gets the bytes."""
        label, arguments = chance.choice([
            ("export", ["export", "run", "--format", chance.choice(["npz", "vtk", "safetensors"])]),
            ("report", ["report", "run"]),
            ("predict", ["predict", "run", "points.csv"]),
        ])
        write("points.csv", b"x,t\n0.5,0.5\n")
        kind = chance.choice(["plain", "new", "link", "broken link", "link to itself", "fifo", "folder", "null", "full", "missing folder"])
        self.words = f"--out is {kind}"
        option, target, taken = "--out", "target", []
        if kind in ("null", "full"):
            target = "/dev/" + kind
        elif kind == "missing folder":
            target = "missing/target"
        elif kind == "plain":
            write(target, b"old")
        elif kind in ("link", "broken link"):
            os.symlink("target-of-link", target)
            if kind == "link":
                write("target-of-link", b"old")
        elif kind != "new":
            self.put(target, kind)
        if kind == "fifo":
            reader = threading.Thread(target=lambda: taken.append(read(target)))
            reader.start()
        done = self.lather([*arguments, option, target])
        if kind == "fifo":
            try:
                os.close(os.open(target, os.O_WRONLY | os.O_NONBLOCK))  # lets the reader go, if nothing came
            except OSError:
                pass
            reader.join()
        if done is None:
            return
        works = kind in ("plain", "new", "link", "broken link", "fifo", "null")
        if works != (done[0] == 0):
            self.silent(f"{label} to {kind}: status {done[0]}", repr(done))
        mode = os.lstat(target).st_mode if os.path.lexists(target) else 0
        is_kind = {"link": stat.S_ISLNK, "broken link": stat.S_ISLNK, "fifo": stat.S_ISFIFO, "null": stat.S_ISCHR, "full": stat.S_ISCHR,
                   "folder": stat.S_ISDIR, "link to itself": stat.S_ISLNK}.get(kind)
        if is_kind and not is_kind(mode):
            self.silent(f"{label} replaced a {kind}", repr(self.given))
        if works and kind != "null":
            got = taken[0] if kind == "fifo" else read(target)
            if len(got) < 10:
                self.silent(f"{label} to {kind}: {len(got)} bytes", repr(self.given))

    def names(self, chance):
        """Names and titles that are no names, in a problem file and as a folder."""
        texts = ["heat", "t", "heat", "start"]
        at = chance.randrange(5)
        evil = chance.choice(TEXTS)
        quoted = lambda text: json.dumps(text) if "\ud800" not in text else '"\udc80\udcff"'
        if at < 4:
            texts[at] = evil
            out = "named"
        else:
            out = evil.replace("/", "").replace("\x00", "").replace("\ud800", "\udcff")[:60] or "named"
        self.words = f"text {at} is {evil[:40]!r}"
        write("named.toml", (PROBLEM % tuple(map(quoted, texts))).encode(errors="surrogateescape"))
        if self.lather(["check", "named.toml"]) is None or self.lather(["list", "problems"]) is None:
            return
        done = self.lather(["train", "named.toml", "--steps", "2", "--out", out, *SMALL])
        if done and done[0] == 0:
            for _, arguments in sorted(commands(out).items()):
                if self.lather(arguments):
                    self.check_pages()
            self.lather(["status", "."])

    def case(self, chance):
        kind = chance.choice([self.replaced, self.replaced, self.mutated, self.mutated, self.checkpoints, self.cache, self.outputs, self.names])
        label = kind.__name__
        self.counts[label] = self.counts.get(label, 0) + 1
        before = set(os.listdir("."))
        shutil.copytree("whole", "run", symlinks=True)
        try:
            kind(chance)
        finally:
            for name in set(os.listdir(".")) - before:
                shutil.rmtree(name) if os.path.isdir(name) and not os.path.islink(name) else os.remove(name)


def main():
    campaign = RunFolders()
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        os.chdir(folder)
        campaign.prepare()
        while campaign.more():
            campaign.case(campaign.chance())
        print(", ".join(f"{count} {label}" for label, count in sorted(campaign.counts.items())))
        os.chdir("/")
    campaign.end()


main()
