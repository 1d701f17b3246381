"""How a graph gets smaller numbers: observers, calibration, Q/DQ placement, sensitivity."""
