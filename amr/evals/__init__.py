"""Benchmarks: one file each; what they share is asking, baselines, scoring, intervals and the run's folder."""
