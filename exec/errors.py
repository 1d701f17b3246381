"""Every error the workbench raises on purpose.

    BenchError
    ├── UnreadableModel     the file is not an ONNX model, or not whole
    ├── InvalidModel        it is one, but breaks the specification
    ├── ExternalDataError   a weight's bytes are elsewhere, and not to be had from there
    ├── UnsupportedOp       no kernel for this op, opset and types
    ├── ExecutionError      a node's computation cannot be done with the values it got
    ├── FeedError           the inputs given do not fit the model's inputs
    ├── BudgetExceeded      a limit on memory, work, nodes or time was reached
    ├── SaveError           the result cannot be written there
    ├── OptionError         an option, name or selector means nothing here
    ├── RewriteError        a rewrite broke an invariant or changed the numbers
    ├── QuantizationError   the model or the calibration data cannot be quantized as asked
    ├── EngineMissing       an optional engine or extra is not installed
    └── Cancelled           the user stopped it

Raised where the fact is known; caught once, in `workbench.cli` and in `tui.bridge`.
"""

from __future__ import annotations

from collections.abc import Iterable


class BenchError(Exception):
    """What happened; where; why, or what was there instead; what to do.

    what    one sentence without a full stop: "no kernel for com.microsoft::FusedMatMul, opset 1"
    where   the file, node or value: "node /encoder/attention/FusedMatMul"
    why     what was found, or what is known: "input A is float32[1,12,128,64]"
    hint    the next step: "`owb coverage model.onnx` shows where it runs"
    """

    kind = "error"
    exit_code = 2

    def __init__(self, what: str, where: str = "", why: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what, self.where, self.why, self.hint = what, where, why, hint

    def __str__(self) -> str:
        lines = [self.what]
        lines += [f"  {label:6s} {text}" for label, text in self.parts() if text]
        return "\n".join(lines)

    def parts(self) -> tuple[tuple[str, str], ...]:
        """The labelled lines below the first, for renderers."""
        return (("where", self.where), ("why", self.why), ("try", self.hint))

    def __reduce__(self) -> tuple[type[BenchError], tuple[str, str, str, str]]:
        return type(self), (self.what, self.where, self.why, self.hint)


class UnreadableModel(BenchError):
    kind = "unreadable-model"


class InvalidModel(BenchError):
    kind = "invalid-model"


class ExternalDataError(BenchError):
    kind = "external-data"


class UnsupportedOp(BenchError):
    kind = "unsupported-op"


class ExecutionError(BenchError):
    kind = "execution"


class FeedError(BenchError):
    kind = "feed"


class BudgetExceeded(BenchError):
    kind = "budget"


class SaveError(BenchError):
    kind = "save"


class OptionError(BenchError):
    kind = "option"


class RewriteError(BenchError):
    kind = "rewrite"


class QuantizationError(BenchError):
    kind = "quantization"


class EngineMissing(BenchError):
    kind = "engine-missing"


class Cancelled(BenchError):
    kind = "cancelled"


def nearest(name: str, known: Iterable[str], count: int = 3) -> str:
    """ "did you mean 'fuse-conv-bn'?", or "" when nothing is near."""
    import difflib  # some milliseconds, and only for what goes wrong

    if len(name) > 300:
        return ""  # no typing error, and comparing takes as much memory as it is long, many times
    near = difflib.get_close_matches(name, [one for one in known if len(one) <= 600], n=count, cutoff=0.5)
    return f"did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
