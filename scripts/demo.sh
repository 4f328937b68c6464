#!/usr/bin/env bash
# make demo: viscous Burgers on this machine's CPU, three optimizers under the same time budget, about three minutes in all.
set -euo pipefail
cd "$(dirname "$0")/.."
lather=build/release/bin/lather
seconds=${LATHER_DEMO_SECONDS:-50}
out=runs/demo-$(date +%Y%m%d-%H%M%S)

echo "Viscous Burgers, nu = 0.01/pi. Adam, SS-eSOAP and Levenberg–Marquardt, $seconds s each; the network is the same tanh MLP."
"$lather" compare burgers --optimizers adam,ss-esoap,lm --seeds 1 --time "$seconds" --steps 100000 \
  --set training.record_every=10 --set training.validate_every=20 --out "$out"
echo
echo "All three above had the same network, points, precision and $seconds seconds; lm solves with the Jacobian of the residuals (docs/natural-gradients.md)."
echo "For comparison, the paper (Table: relative L2 errors, Burgers) reports 8.45e-5 with SS-eSOAP, 3.21e-4 with SOAP and 4.12e-3 with Adam."
"$lather" report "$out" --figure "$out/report.svg"
