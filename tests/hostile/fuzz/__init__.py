"""Random bytes against everything that reads bytes or text of strangers: only the workbench's own errors may come out."""
