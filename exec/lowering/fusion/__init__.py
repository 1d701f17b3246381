"""Which neighbouring operations run as one: each pattern in a file of its own."""

from __future__ import annotations

from exec.lowering.fusion.affine import fold_affine
from exec.lowering.fusion.chains import build_chains
from exec.lowering.fusion.epilogue import attach_epilogues
from exec.lowering.fusion.gelu import match_gelu
from exec.lowering.fusion.gelu_tanh import match_gelu_tanh
from exec.lowering.fusion.hard_swish import match_hard_swish
from exec.lowering.fusion.layer_norm import match_layer_norm
from exec.lowering.fusion.one_hot import match_one_hot
from exec.lowering.fusion.pads import fold_pads
from exec.lowering.fusion.quantized import merge_pairs, use_integers
from exec.lowering.fusion.swish import match_swish
from exec.lowering.packs import Packs
from exec.lowering.units import Units


def fuse_units(units: Units, packs: Packs, jit: bool) -> None:
    """Merge what runs better together. Patterns of whole layers first: what they need would be gone after the small ones."""
    match_layer_norm(units)
    match_gelu(units)
    match_gelu_tanh(units)
    match_one_hot(units)
    match_swish(units)
    match_hard_swish(units)
    fold_pads(units)
    fold_affine(units, packs)
    if jit:
        from exec.compiled.integer_tile import supported

        if supported():
            use_integers(units)
    merge_pairs(units)
    if jit:
        attach_epilogues(units)
        build_chains(units)
