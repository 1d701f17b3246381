"""OWB052: operators that are not portable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from exec.kernels.registry import find
from exec.wording import counted
from workbench.lint.base import Check, Finding, Subject


class ForeignOps(Check):
    """Operators outside the ONNX standard.

    What   Nodes of a domain other than ai.onnx and ai.onnx.ml that are no model-local functions.
    Why    Only the runtime they were written for loads them.
    Fix    Export without that runtime's fusions.
    """

    code, title, level = "OWB052", "operators of a foreign domain", "warning"

    def look(self, subject: Subject) -> Iterator[Finding]:
        local = {(f.domain, f.name) for f in subject.model.functions}
        counts: Counter[tuple[str, str]] = Counter()
        for _, _, node in subject.nodes():
            if (
                node.domain not in ("", "ai.onnx", "ai.onnx.ml", "ai.onnx.preview.training")
                and (node.domain, node.op) not in local
            ):
                counts[node.domain or "", node.op] += 1
        for (domain, op), count in counts.items():
            runs = find(domain, op, subject.model.opsets.get(domain, 1)) is not None
            known = "the embedded executor has a kernel" if runs else "the embedded executor has no kernel"
            yield self.found(f"operator {domain}::{op}", f"{counted(count, 'node')}; {known}")
