"""Shapes of convolutions, pools, products of matrices and recurrent layers."""

from __future__ import annotations

from passes.dims import Dim, Shape, ceildiv, floordiv, fresh, maximum
from passes.shapes.elementwise import broadcast
from passes.shapes.registry import Call, Shapes, shape_of


def _window(
    size: Dim, kernel: int, stride: int, dilation: int, before: int, after: int, auto_pad: str, ceil: bool
) -> Dim:
    """Output size of one spatial axis of a convolution or a pool."""
    reach = (kernel - 1) * dilation + 1
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        return ceildiv(size, stride)
    if auto_pad == "VALID":
        before = after = 0
    span = size + (before + after - reach)
    if not ceil:
        return floordiv(span, stride) + 1
    out = ceildiv(span, stride) + 1
    if isinstance(out, int) and isinstance(size, int):
        # a window that would start in the padding after the input does not count
        return out - 1 if (out - 1) * stride >= size + before else out
    return fresh()


def _windows(call: Call, x: Shape, kernel: list[int], ceil: bool = False) -> Shape:
    n = len(kernel)
    strides, dilations = call.attr("strides") or [1] * n, call.attr("dilations") or [1] * n
    pads, auto = call.attr("pads") or [0] * (2 * n), _text(call.attr("auto_pad", "NOTSET"))
    return tuple(
        _window(x[2 + i], kernel[i], strides[i], dilations[i], pads[i], pads[n + i], auto, ceil) for i in range(n)
    )


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _kernel(call: Call, weight: int) -> list[int] | None:
    """The spatial kernel, from the attribute or from the weight's shape."""
    given = call.attr("kernel_shape")
    if given:
        return [int(k) for k in given]
    shape = call.shape(weight)
    if shape is None or not all(isinstance(d, int) for d in shape[2:]):
        return None
    return [d for d in shape[2:] if isinstance(d, int)]


@shape_of("Conv", "ConvInteger", "DeformConv")
def conv(call: Call) -> Shapes:
    return _conv(call, 1)


@shape_of("QLinearConv")
def qlinear_conv(call: Call) -> Shapes:
    return _conv(call, 3)


def _conv(call: Call, weight: int) -> Shapes:
    x, kernel = call.shape(0), _kernel(call, weight)
    if x is None:
        return None
    channels = call.dim(weight, 0)
    if channels is None:
        channels = fresh()
    if kernel is None or len(kernel) != len(x) - 2:
        return (x[0], channels, *(fresh() for _ in x[2:]))
    return (x[0], channels, *_windows(call, x, kernel))


@shape_of("ConvTranspose")
def conv_transpose(call: Call) -> Shapes:
    x, kernel, w = call.shape(0), _kernel(call, 1), call.shape(1)
    if x is None:
        return None
    n = len(x) - 2
    channels: Dim = w[1] * call.attr("group", 1) if w is not None else fresh()
    given = call.attr("output_shape")
    if given:
        return (x[0], channels, *(int(d) for d in given[-n:]))
    if kernel is None or len(kernel) != n:
        return (x[0], channels, *(fresh() for _ in range(n)))
    strides, dilations = call.attr("strides") or [1] * n, call.attr("dilations") or [1] * n
    extra, auto = call.attr("output_padding") or [0] * n, _text(call.attr("auto_pad", "NOTSET"))
    pads = call.attr("pads") if auto == "NOTSET" and call.attr("pads") else [0] * (2 * n)
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        return (x[0], channels, *(x[2 + i] * strides[i] for i in range(n)))
    return (
        x[0],
        channels,
        *(
            (x[2 + i] - 1) * strides[i] + extra[i] + (kernel[i] - 1) * dilations[i] + 1 - pads[i] - pads[n + i]
            for i in range(n)
        ),
    )


@shape_of("MaxPool", "AveragePool", "LpPool")
def pool(call: Call) -> Shapes:
    x, kernel = call.shape(0), call.attr("kernel_shape")
    if x is None or not kernel or len(kernel) != len(x) - 2:
        return None
    y = (*x[:2], *_windows(call, x, kernel, bool(call.attr("ceil_mode", 0))))
    return [y] * call.n_outputs


@shape_of("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(call: Call) -> Shapes:
    x = call.shape(0)
    return None if x is None else x[:2] + (1,) * (len(x) - 2)


@shape_of("MaxRoiPool")
def max_roi_pool(call: Call) -> Shapes:
    x, rois = call.shape(0), call.shape(1)
    return None if x is None or rois is None else (rois[0], x[1], *call.attr("pooled_shape"))


@shape_of("RoiAlign")
def roi_align(call: Call) -> Shapes:
    x, rois = call.shape(0), call.shape(1)
    if x is None or rois is None:
        return None
    return (rois[0], x[1], call.attr("output_height", 1), call.attr("output_width", 1))


@shape_of("MatMul", "MatMulInteger")
def matmul(call: Call) -> Shapes:
    return _matmul(call.shape(0), call.shape(1))


@shape_of("QLinearMatMul")
def qlinear_matmul(call: Call) -> Shapes:
    return _matmul(call.shape(0), call.shape(3))


def _matmul(a: Shape | None, b: Shape | None) -> Shape | None:
    if a is None or b is None or not a or not b:
        return None
    left, right = (a if len(a) > 1 else (1, *a)), (b if len(b) > 1 else (*b, 1))
    out = broadcast([left[:-2], right[:-2]])
    if len(a) > 1:
        out = (*out, left[-2])
    return (*out, right[-1]) if len(b) > 1 else out


@shape_of("Gemm")
def gemm(call: Call) -> Shapes:
    a, b = call.shape(0), call.shape(1)
    if a is None or b is None or len(a) != 2 or len(b) != 2:
        return None
    return (a[1] if call.attr("transA", 0) else a[0], b[0] if call.attr("transB", 0) else b[1])


@shape_of("LSTM", "GRU", "RNN")
def recurrent(call: Call) -> Shapes:
    x, r = call.shape(0), call.shape(2)
    if x is None or len(x) != 3:
        return None
    hidden: Dim = call.attr("hidden_size") or (r[2] if r is not None and len(r) == 3 else fresh())
    directions = 2 if _text(call.attr("direction", "forward")) == "bidirectional" else 1
    if call.attr("layout", 0):
        batch, length = x[0], x[1]
        outs: list[Shape | None] = [(batch, length, directions, hidden)] + [(batch, directions, hidden)] * 2
    else:
        length, batch = x[0], x[1]
        outs = [(length, directions, batch, hidden)] + [(directions, batch, hidden)] * 2
    return outs[: call.n_outputs]


@shape_of("Attention")
def attention(call: Call) -> Shapes:
    q, k, v = call.shape(0), call.shape(1), call.shape(2)
    if q is None or v is None or k is None:
        return None
    if len(q) == 4 and len(v) == 4:
        y: Shape = (*q[:3], v[3])
    elif len(q) == 3 and len(v) == 3 and call.attr("q_num_heads") and call.attr("kv_num_heads"):
        y = (q[0], q[1], floordiv(v[2], call.attr("kv_num_heads")) * call.attr("q_num_heads"))
    else:
        return None
    return [y] + [None] * (call.n_outputs - 1)


@shape_of("SpaceToDepth")
def space_to_depth(call: Call) -> Shapes:
    x, block = call.shape(0), call.attr("blocksize")
    if x is None or len(x) != 4:
        return None
    return (x[0], x[1] * (block * block), floordiv(x[2], block), floordiv(x[3], block))


@shape_of("DepthToSpace")
def depth_to_space(call: Call) -> Shapes:
    x, block = call.shape(0), call.attr("blocksize")
    return None if x is None or len(x) != 4 else (x[0], floordiv(x[1], block * block), x[2] * block, x[3] * block)


@shape_of("GridSample")
def grid_sample(call: Call) -> Shapes:
    x, grid = call.shape(0), call.shape(1)
    return None if x is None or grid is None else (*x[:2], *grid[1:-1])


@shape_of("AffineGrid")
def affine_grid(call: Call) -> Shapes:
    size = call.ints(1)
    return None if size is None else (size[0], *size[2:], len(size) - 2)


@shape_of("Det")
def det(call: Call) -> Shapes:
    x = call.shape(0)
    return None if x is None else x[:-2]


@shape_of("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def losses(call: Call) -> Shapes:
    x = call.shape(0)
    if x is None:
        return None
    loss: Shape = () if _text(call.attr("reduction", "mean")) != "none" else (x[0], *x[2:])
    both: list[Shape | None] = [loss, x]
    return both[: call.n_outputs]


@shape_of("Col2Im")
def col2im(call: Call) -> Shapes:
    x, image, block = call.shape(0), call.ints(1), call.known_ints(2)
    if x is None or image is None or block is None:
        return None
    size = 1
    for b in block:
        size *= b
    return (x[0], floordiv(x[1], maximum(size, 1)), *image)
