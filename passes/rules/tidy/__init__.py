"""Each thing once, and nothing unread."""
