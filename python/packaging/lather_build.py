"""The build backend of the package (PEP 517 and 660), in plain Python.

A wheel is the folder python/lather with liblather.so and the problem files, for every Python 3 on this kind of machine.
liblather.so is $LATHER_LIBRARY where that is set; else it is built with CMake by the preset $LATHER_PRESET (default:
release, made for this machine; `portable` runs on any machine of the architecture). A build that is up to date is used
as it is.
"""
from __future__ import annotations

import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def _project() -> dict[str, str]:
    text = (ROOT / "pyproject.toml").read_text()
    fields = {key: re.search(rf'^{key} = "([^"]*)"', text, re.M).group(1)
              for key in ("name", "version", "description", "requires-python")}
    fields["dependencies"] = re.search(r"^dependencies = \[([^\]]*)\]", text, re.M).group(1)
    return fields


def _library() -> Path:
    chosen = os.environ.get("LATHER_LIBRARY")
    if chosen:
        return Path(chosen)
    preset = os.environ.get("LATHER_PRESET", "release")
    build = ROOT / "build" / preset
    commands = []
    if not (build / "CMakeCache.txt").exists():
        build = ROOT / "build" / f"python-{preset}"
        commands.append(["cmake", "--preset", preset, "-B", str(build), "-DLATHER_TESTS=OFF"])
    commands.append(["cmake", "--build", str(build), "--target", "lather_shared"])
    for command in commands:
        try:
            subprocess.run(command, cwd=ROOT, check=True, stdout=sys.stderr)
        except FileNotFoundError:
            raise SystemExit("cmake was not found: run scripts/install-dependencies.sh, or set LATHER_LIBRARY to a built "
                             "liblather.so") from None
    return build / "lib" / "liblather.so"


def _metadata(project: dict[str, str]) -> str:
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}",
             f"Summary: {project['description']}", "License: Apache-2.0",
             f"Requires-Python: {project['requires-python']}"]
    lines += [f"Requires-Dist: {name}" for name in re.findall(r'"([^"]+)"', project["dependencies"])]
    return "\n".join(lines) + "\n"


def _tag() -> str:
    return f"py3-none-linux_{platform.machine()}"


def _write(wheel_directory: str, files: dict[str, bytes]) -> str:
    project = _project()
    info = f"{project['name']}-{project['version']}.dist-info"
    files = {**files, f"{info}/METADATA": _metadata(project).encode(),
             f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: lather_build\nRoot-Is-Purelib: false\nTag: {_tag()}\n".encode()}
    record = f"{info}/RECORD"
    lines = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}")
    files[record] = "\n".join([*lines, f"{record},,"]).encode() + b"\n"
    wheel = f"{project['name']}-{project['version']}-{_tag()}.whl"
    with zipfile.ZipFile(Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))  # the same content gives the same bytes
            entry.external_attr, entry.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return wheel


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    files = {f"lather/{path.name}": path.read_bytes() for path in sorted((ROOT / "python/lather").iterdir())
             if path.suffix == ".py" or path.name == "py.typed"}
    for path in sorted((ROOT / "problems").rglob("*")):
        if path.is_file():
            files[f"lather/problems/{path.relative_to(ROOT / 'problems')}"] = path.read_bytes()
    files["lather/liblather.so"] = _library().read_bytes()
    return _write(wheel_directory, files)


def build_editable(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    _library()
    return _write(wheel_directory, {"lather-editable.pth": f"{ROOT / 'python'}\n".encode()})


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    project = _project()
    name = f"{project['name']}-{project['version']}"
    subprocess.run(["git", "archive", "--format=tar.gz", f"--prefix={name}/", "-o",
                    str(Path(sdist_directory).resolve() / f"{name}.tar.gz"), "HEAD"], cwd=ROOT, check=True)
    return f"{name}.tar.gz"
