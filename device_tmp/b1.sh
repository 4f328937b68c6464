export PATH=/usr/local/cuda/bin:$PATH LATHER_CACHE=/tmp/lc PYTHONUNBUFFERED=1
L=build/release/bin/lather; mkdir -p /tmp/log; cd "$(dirname "$0")/.."
stamp() { echo "== $1 $(date +%T)"; }
finish() { cp -r /tmp/matched/table.md /tmp/log/ 2>/dev/null; for p in /tmp/matched/*/; do for f in $p/*/summary.json; do echo $f; cat $f; done; done > /tmp/log/matched-summaries.txt 2>/dev/null; for r in /tmp/long /tmp/half /tmp/lm /tmp/lmcpu; do [ -d $r ] && mkdir -p /tmp/log/runs/$(basename $r) && cp $r/summary.json $r/environment.json $r/history.csv $r/timing.csv /tmp/log/runs/$(basename $r)/ 2>/dev/null; done; tar czf $OUT/log.tgz -C /tmp log; }
trap finish EXIT
stamp build
cmake --preset release -DLATHER_BENCH=ON >/tmp/log/conf.log 2>&1
cmake --build --preset release -j16 -- -k 0 >/tmp/log/build.log 2>&1; grep -E "error|FAILED" /tmp/log/build.log | head
stamp matched
(SECONDS_PER_RUN=40 JOBS=11 timeout 430 scripts/matched-table.sh /tmp/matched >/tmp/log/matched.log 2>&1; stamp "matched done" >>/tmp/log/matched.log) &
stamp tests
timeout 80 build/release/bin/test_gpu --gtest_brief=1 >/tmp/log/gpu.log 2>&1; tail -n 3 /tmp/log/gpu.log | cut -c1-300
stamp optimizers
timeout 60 build/release/bin/bench_optimizers_cuda 2>&1 | tee /tmp/log/optimizers.log
stamp long
COMMON="train burgers --device cuda --optimizer ss-esoap --seed 1 --set network.width=128 --set training.points.interior=8192 --set training.sampling.every=1000 --set optimizer.schedule.decay=cosine --set optimizer.schedule.total_steps=100000 --set training.record_every=1000 --set training.validate_every=1000"
timeout 130 $L $COMMON --steps 100000 --out /tmp/long 2>&1 | tail -n 7
nvidia-smi --query-gpu=memory.used --format=csv
stamp half
timeout 80 $L $COMMON --steps 50000 --out /tmp/half 2>&1 | tail -n 4
timeout 80 $L train --resume /tmp/half --steps 100000 2>&1 | tail -n 5
cmp /tmp/long/history.csv /tmp/half/history.csv && echo SAME_HISTORY
for f in $(ls /tmp/long/checkpoints | tail -n 1); do ls -la /tmp/long/checkpoints /tmp/half/checkpoints; done
stamp lm
LM="train burgers --optimizer lm --seed 1 --set network.width=32 --set network.depth=5 --set training.points.interior=12000 --set training.sampling.every=10 --set training.validate_every=10"
timeout 60 $L $LM --device cuda --steps 400 --time 45 --out /tmp/lm 2>&1 | tail -n 25
timeout 40 $L $LM --device cpu --threads 4 --steps 10 --out /tmp/lmcpu 2>&1 | tail -n 5
stamp end
wait; tail -n 14 /tmp/log/matched.log
