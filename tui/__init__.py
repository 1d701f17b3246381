"""The workbench on a screen: it draws results and sends intents; it computes nothing."""
