"""Whole-graph conversions: opset, batch, types, extraction."""
