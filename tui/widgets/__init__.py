"""Widgets drawn line by line: their cost does not grow with the model."""
