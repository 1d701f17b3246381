"""One file per family of ops that are lowered: views, elementwise, convolution, products, …"""
