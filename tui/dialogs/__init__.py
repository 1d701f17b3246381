"""Dialogs: one column, enter accepts, esc leaves; used for choice, loss and errors only."""
