"""What a model file and its graph mean: lossless import and export, kernels, plan, session, timing, cost, engines.

The bottom of the house: this package imports none of its siblings.
"""
