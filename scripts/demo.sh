#!/usr/bin/env bash
# make demo: viscous Burgers on this machine's CPU: Adam, SOAP, SS-eSOAP and lm under the same time budget, then the default, fixed features, to its end; about three minutes in all.
set -euo pipefail
cd "$(dirname "$0")/.."
lather=build/release/bin/lather
seconds=${LATHER_DEMO_SECONDS:-20}
out=runs/demo-$(date +%Y%m%d-%H%M%S)

echo "Viscous Burgers, nu = 0.01/pi. Adam, SOAP, SS-eSOAP and Levenberg–Marquardt (lm), $seconds s each."
"$lather" compare burgers --optimizers adam,soap,ss-esoap,lm --seeds 1 --time "$seconds" --steps 100000 \
  --set training.record_every=10 --set training.validate_every=20 --out "$out"
echo
echo "All four had $seconds seconds and double precision; each had the network, points and schedule of its family of methods (docs/training.md)."
echo "lm solves with the Jacobian of the residuals (docs/gauss-newton.md)."
echo "For comparison, the paper (Table: relative L2 errors, Burgers) reports 8.45e-5 with SS-eSOAP, 3.21e-4 with SOAP and 4.12e-3 with Adam."
"$lather" report "$out" --figure "$out/report.svg"
echo
echo "Now the default, \`lather train burgers\`: random sines, fixed, whose output layer Gauss–Newton finds in 16 time windows (docs/gauss-newton.md, fixed features); some 80 s."
"$lather" train burgers --seed 2 --out "$out-default" 2>&1 | grep -E '^(ended|best|lather:)'
