"""The nine screens. Each shows results and sends intents; none computes."""
