"""How a graph may change: patterns, patches, invariants, the pipeline and the rules."""
