"""From a traced run to a flat list of bound calls on one arena."""
