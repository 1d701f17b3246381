"""Values known before the run."""
