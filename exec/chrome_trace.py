"""A profile as the trace-event JSON that Perfetto and chrome://tracing open."""

from __future__ import annotations

from typing import Any

from exec.timing import Profile


def chrome_trace(profile: Profile, title: str = "model") -> dict[str, Any]:
    """The median run, laid out node after node; memory as a counter beside it."""
    events: list[dict[str, Any]] = [
        {"ph": "M", "pid": 1, "tid": 1, "name": "process_name", "args": {"name": f"{title} ({profile.engine})"}},
        {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": f"median of {profile.runs} runs"}},
    ]
    now = 0.0
    for node in profile.nodes:
        if not node.median_ns:
            continue
        duration = node.median_ns / 1e3
        arguments = {
            "op": node.op,
            "domain": node.domain,
            "kernel": node.kernel,
            "p95_us": node.p95_ns / 1e3,
            "share": node.share,
            "flops": node.flops,
            "bytes_read": node.bytes_read,
            "bytes_written": node.bytes_written,
            "roofline": node.roofline,
            "outputs": list(node.shapes),
        }
        events.append(
            {
                "ph": "X", "pid": 1, "tid": 1, "ts": now, "dur": duration, "cat": node.op,
                "name": node.name or node.op, "args": arguments,
            }
        )  # fmt: skip
        if node.live_bytes:
            events.append({"ph": "C", "pid": 1, "ts": now, "name": "live bytes", "args": {"bytes": node.live_bytes}})
        now += duration
    return {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {"engine": profile.engine, "runs": profile.runs},
    }
