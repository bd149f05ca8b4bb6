"""What the benchmarks share: recipes, the peers' adapters, measuring, results and reports."""
