"""Runs the experiments of a paper and judges its claims: see lab/README.md."""
