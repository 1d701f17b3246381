"""The algorithms a convolution may be lowered to, one a file."""
