"""Nodes that do nothing."""
