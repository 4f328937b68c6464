export PATH=/usr/local/cuda/bin:$PATH LATHER_CACHE=/tmp/lc PYTHONUNBUFFERED=1
L=build/release/bin/lather; mkdir -p /tmp/log2; cd "$(dirname "$0")/.."
stamp() { echo "== $1 $(date +%T)"; }
finish() { tar czf $OUT/log2.tgz -C /tmp log2; }
trap finish EXIT
stamp engine
timeout 60 build/release/bin/bench_engine_cuda 2>&1 | tee /tmp/log2/engine.log
stamp cpu
timeout 40 build/release/bin/bench_engine 16 > /tmp/log2/cpu.log 2>&1; tail -n 12 /tmp/log2/cpu.log
stamp jax
timeout 110 python3 .staged/peers/peer_jax.py > /tmp/log2/peer_jax.log 2>&1; grep JAX /tmp/log2/peer_jax.log
stamp torch
timeout 60 python3 .staged/peers/peer_torch.py > /tmp/log2/peer_torch.log 2>&1; grep "W=" /tmp/log2/peer_torch.log
stamp slow
(timeout 330 $L reference --tables > /tmp/log2/references.md 2>/tmp/log2/references.err; stamp tables >> /tmp/log2/references.err) &
timeout 330 ctest --preset release -L slow -j 7 --timeout 320 > /tmp/log2/slow.log 2>&1; grep -E "Passed|Failed|Timeout|\*\*\*" /tmp/log2/slow.log | awk '{print $0}' | cut -c1-140 | tail -n 60
stamp more
timeout 100 python3 bench/peer_jax_more.py > /tmp/log2/more.log 2>&1; grep JAX /tmp/log2/more.log
wait; tail -n 2 /tmp/log2/references.err; stamp end
