#!/usr/bin/env bash
# make demo: viscous Burgers on this machine's CPU: Adam, SOAP, SS-eSOAP and the default (lm) under the same time budget, about three minutes in all.
set -euo pipefail
cd "$(dirname "$0")/.."
lather=build/release/bin/lather
seconds=${LATHER_DEMO_SECONDS:-38}
out=runs/demo-$(date +%Y%m%d-%H%M%S)

echo "Viscous Burgers, nu = 0.01/pi. Adam, SOAP, SS-eSOAP and the default, Levenberg–Marquardt (lm), $seconds s each."
"$lather" compare burgers --optimizers adam,soap,ss-esoap,lm --seeds 1 --time "$seconds" --steps 100000 \
  --set training.record_every=10 --set training.validate_every=20 --out "$out"
echo
echo "All four had $seconds seconds and double precision; each had the network, points and schedule of its family of methods (docs/training.md)."
echo "lm solves with the Jacobian of the residuals (docs/gauss-newton.md); \`lather train burgers\` is its recipe, three minutes long."
echo "For comparison, the paper (Table: relative L2 errors, Burgers) reports 8.45e-5 with SS-eSOAP, 3.21e-4 with SOAP and 4.12e-3 with Adam."
"$lather" report "$out" --figure "$out/report.svg"
