#!/usr/bin/env bash
# Installs the Debian packages Lather builds with, where they are missing; where it may not, prints the command.
#   scripts/install-dependencies.sh [--checks|--lab]      --checks: also the tools of the checks of form (clang-format, clang-tidy);
#                                                          --lab: also what the laboratory is written with
set -euo pipefail
packages=(g++ cmake ninja-build libeigen3-dev libcli11-dev libfmt-dev nlohmann-json3-dev libtomlplusplus-dev libkissfft-dev
          libgtest-dev libopenmpi-dev openmpi-bin)
[ "${1:-}" != --checks ] || packages+=(clang-format-14 clang-tidy-14 clang-14)
[ "${1:-}" != --lab ] || packages+=(python3-scipy python3-matplotlib python3-jinja2)
# NumPy, for the tests of the Python package: a python3 other than Debian's may have its own.
python3 -c "import numpy" 2>/dev/null || packages+=(python3-numpy)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "install ok installed" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

command=(apt-get install -y --no-install-recommends "${missing[@]}")
if ! command -v apt-get >/dev/null; then
  echo "This system has no apt-get. Please install the equivalents of: ${missing[*]}" >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  if sudo -n true 2>/dev/null; then
    sudo apt-get update -qq && exec sudo "${command[@]}"
  fi
  echo "Missing packages. Please run:  sudo ${command[*]}" >&2
  exit 1
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive exec "${command[@]}"
