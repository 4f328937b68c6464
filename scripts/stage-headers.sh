#!/usr/bin/env bash
# Copies what a machine without packages needs to build Lather into .staged (ignored by git): header-only libraries, the sources
# of GoogleTest, and the peers the GPU benchmark is measured against. Then carry .staged along with the source.
set -euo pipefail
cd "$(dirname "$0")/.."
rm -rf .staged
mkdir -p .staged/include .staged/peers
for folder in eigen3 kissfft toml++ CLI nlohmann fmt; do cp -rL "/usr/include/$folder" .staged/include/; done
[ -d /usr/src/googletest/googletest ] && cp -rL /usr/src/googletest .staged/googletest
for peers in ../shared/peers ../../shared/peers; do
  [ -d "$peers" ] && cp "$peers"/*.py .staged/peers/
done
du -sh .staged
