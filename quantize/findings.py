"""What could not be done, or was done with a reservation: each with a code, a place and a next step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["error", "warning", "note"]

PAGES = {
    "Q001": "calibrated on generated inputs",
    "Q002": "already quantized",
    "Q003": "kept float: too little work for its data",
    "Q004": "kept float: no constant weight",
    "Q005": "kept float: type",
    "Q006": "kept float: left out by the selection",
    "Q010": "a range of no width",
    "Q011": "an outlier channel",
    "Q012": "sentinels left out of a range",
    "Q013": "a range never seen",
    "Q014": "ranges differ wildly within a Concat",
    "Q015": "a range cut too narrow",
    "Q016": "images without a mean",
    "Q017": "judged on generated inputs",
    "Q020": "bias kept float",
    "Q021": "weight scale widened for the int32 bias",
    "Q022": "a weight shared with another axis is stored twice",
    "Q023": "alpha and beta folded into the weights",
    "Q024": "float weights stored in 16 bits",
    "Q025": "a convolution unfolded into a matrix product",
    "Q027": "a table in 8 bits",
    "Q026": "kept float: its sums could overflow",
    "Q030": "opset raised",
    "Q031": "integer operators written",
    "Q032": "no integer operator: stays between Q and DQ",
    "Q033": "an LSTM for onnxruntime only",
    "Q040": "an output lost much of its signal",
    "Q041": "the target was not reached",
    "Q043": "a part of an output lost much of its signal",
    "Q042": "the search was stopped",
    "Q050": "nothing was quantized",
    "Q052": "little or no time is saved",
    "Q051": "repaired",
    "Q060": "u8·s8 may saturate on this CPU",
    "Q070": "kept float: inside a subgraph",
    "Q071": "kept float: no integer operator",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark on the result.

    code   names the kind; `PAGES` has its title
    node   the node or tensor it is about, "" for the model
    """

    code: str
    level: Level
    node: str
    message: str
    hint: str = ""

    @property
    def title(self) -> str:
        """The kind in a few words."""
        return PAGES[self.code]
