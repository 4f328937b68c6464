#!/usr/bin/env bash
# Everything about CUDA in one go, on a machine with a GPU and no network: build, tests (label gpu), compute-sanitizer, benchmark,
# peers. Needs .staged (scripts/stage-headers.sh) where packages are missing. Logs go to $OUT (default: build/gpu-logs).
#   scripts/gpu-check.sh [build|test|sanitize|bench|fused|profile|cpu|peers|python|ranks]…      default: build test bench peers
set -uo pipefail
cd "$(dirname "$0")/.."
OUT=${OUT:-build/gpu-logs}
mkdir -p "$OUT"
export PATH=/usr/local/cuda/bin:$PATH LATHER_CACHE=$PWD/build/kernel-cache PYTHONUNBUFFERED=1
steps=("$@")
[ ${#steps[@]} -eq 0 ] && steps=(build test bench peers)
status=0
note() { echo "== $1: $(date +%T)"; }
for step in "${steps[@]}"; do
  note "$step"
  case $step in
    build)
      { cmake --preset cuda && cmake --build --preset cuda --target test_gpu bench_engine_cuda bench_optimizers_cuda bench_engine; } >"$OUT/build.log" 2>&1 ||
        { grep -E "error|Error|FAILED" -A5 "$OUT/build.log" | head -60; exit 1; } ;;
    test) ctest --test-dir build/cuda -L gpu -j 12 --output-on-failure >"$OUT/test.log" 2>&1 || status=1
      grep -E "Failure|tests passed|tests failed|\*\*\*|terminate|what" "$OUT/test.log" | head -60 ;;
    sanitize)  # all tests, in 16 programs side by side: about five minutes
      for shard in {0..15}; do
        GTEST_TOTAL_SHARDS=16 GTEST_SHARD_INDEX=$shard compute-sanitizer --error-exitcode 9 build/cuda/bin/test_gpu >"$OUT/sanitize-$shard.log" 2>&1 &
      done
      for job in $(jobs -p); do wait "$job" || status=1; done
      grep -h -E "ERROR SUMMARY|PASSED|FAILED" "$OUT"/sanitize-*.log | sort | uniq -c ;;
    bench) build/cuda/bin/bench_engine_cuda 2>&1 | tee "$OUT/bench.log"
      build/cuda/bin/bench_optimizers_cuda 2>&1 | tee "$OUT/optimizers.log" ;;
    fused) nvcc -O3 -std=c++17 -arch=sm_90 -o build/fused_layer bench/fused_layer.cu -lcublas && build/fused_layer ;;
    profile)
      ncu --clock-control none --metrics gpu__time_duration.sum,launch__registers_per_thread --csv build/cuda/bin/bench_engine_cuda once 128 >"$OUT/profile.csv" 2>&1 ;;
    cpu) build/cuda/bin/bench_engine 16 2>&1 | tee "$OUT/cpu.log" ;;
    peers)
      python3 .staged/peers/peer_jax.py 2>&1 | tee "$OUT/peer_jax.log" | grep -E "JAX|Error"
      python3 bench/peer_jax_more.py 2>&1 | tee "$OUT/peer_jax_more.log" | grep -E "JAX|Error"
      python3 .staged/peers/peer_torch.py 2>&1 | tee "$OUT/peer_torch.log" | grep -E "W=|Error" ;;
    python)  # the package on CUDA tensors; needs build, PyTorch, NumPy
      { cmake --preset cuda && cmake --build --preset cuda --target lather_shared; } >"$OUT/python-build.log" 2>&1 || { tail -20 "$OUT/python-build.log"; exit 1; }
      LATHER_LIBRARY=build/cuda/lib/liblather.so PYTHONPATH=python python3 python/tests/gpu_check.py "$OUT/python.json" 2>&1 | tee "$OUT/python.log"
      [ "${PIPESTATUS[0]}" -eq 0 ] || status=1 ;;
    ranks)  # ranks on the GPU, by the host and by NCCL; several processes on the cores of that machine beside the estimate
      { cmake --preset cuda && cmake --build --preset cuda --target lather_command bench_nccl_cuda; } >"$OUT/ranks-build.log" 2>&1 || { tail -20 "$OUT/ranks-build.log"; exit 1; }
      scripts/gpu-ranks.sh build/cuda/bin/lather 2>&1 | tee "$OUT/gpu-ranks.log"
      [ "${PIPESTATUS[0]}" -eq 0 ] || status=1
      RANKS="1 2 4 8 16" scripts/scaling.sh build/cuda/bin/lather 2>&1 | tee "$OUT/ranks.log"
      [ "${PIPESTATUS[0]}" -eq 0 ] || status=1 ;;
    *) echo "unknown step $step" >&2; exit 2 ;;
  esac
done
note end
exit $status
