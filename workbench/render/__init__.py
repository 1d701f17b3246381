"""How a result is shown: one neutral `Table`, drawn by rich, by textual, or written as JSON and CSV."""
