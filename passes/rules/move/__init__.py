"""Nodes trade places, so that others can meet."""
