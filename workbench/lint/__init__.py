"""Checks of a model: one a file, each with a code, a page and, where it is safe, a rule that repairs what it finds."""
