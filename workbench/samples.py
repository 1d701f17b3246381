"""The shipped sample: found in a clone, an editable install and a wheel alike."""

from __future__ import annotations

from pathlib import Path

from exec.errors import OptionError, nearest

_HERE = Path(__file__).resolve().parent
_PLACES = (_HERE / "_samples", _HERE.parent / "samples")


def sample(name: str) -> Path:
    """The path of a sample file such as "digits_cnn.onnx" or "digits.npz".

    A wheel carries these two; a clone has every file of its `samples/` folder.
    """
    for place in _PLACES:
        if (place / name).is_file():
            return place / name
    known = sorted({p.name for place in _PLACES if place.is_dir() for p in place.glob("*.*")})
    raise OptionError(f"no sample {name!r}", why=f"here are {', '.join(known)}", hint=nearest(name, known))
