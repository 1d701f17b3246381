"""`owb verify`: a recording that holds, one that does not, and who is to blame, said by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper as nh
from onnx import parser

from exec.errors import Cancelled, FeedError
from exec.ir import load
from workbench.cli.start import run
from workbench.recorded import Recording, recordings
from workbench.verification import verify_recorded

TEXT = (
    '<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y, float[4] z) { y = Sigmoid(x) z = Neg(x) }'
)
X = np.array([-1.0, 0.5, 2.0, 3.0], np.float32)
Y = (1 / (1 + np.exp(-X))).astype(np.float32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    onnx.save(parser.parse_model(TEXT), tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def save_set(folder: Path, outputs: dict[str, np.ndarray]) -> None:
    folder.mkdir()
    (folder / "input_0.pb").write_bytes(nh.from_array(X).SerializeToString())
    for k, value in enumerate(outputs.values()):
        (folder / f"output_{k}.pb").write_bytes(nh.from_array(value).SerializeToString())


def test_a_recording_that_holds_is_said_to_hold_in_every_engine(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_set(path.parent / "test_data_set_0", {"y": Y, "z": -X})
    assert run(["verify", str(path), "--data", str(path.parent)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "The export holds in embedded, " in text


def test_what_differs_is_named_with_its_engine_output_and_size(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(path.parent / "r.npz", x=X, y=Y, z=-X + np.float32(0.3))
    assert run(["verify", str(path), "--data", str(path.parent / "r.npz")]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "embedded differs in 1 of 2 outputs, first in z of r.npz (0.11 of its range, 1e-04 is allowed)" in text


def test_the_engine_that_differs_alone_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from exec.engines import open_engine

    class Wrong:
        def __init__(self, engine: object) -> None:
            self.engine = engine

        def run(self, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
            return {name: value + np.float32(1) for name, value in self.engine.run(feeds).items()}  # type: ignore[attr-defined]

    def opened(model: object, name: str) -> object:
        engine = open_engine(model, name)  # type: ignore[arg-type]
        return Wrong(engine) if name == "reference" else engine

    monkeypatch.setattr("workbench.verification.open_engine", opened)
    result = verify_recorded(
        load(path), [Recording("r", {"x": X}, {"y": Y, "z": -X})], engines=("embedded", "reference")
    )
    assert not result.holds
    assert result.verdict.startswith(
        "The export does not hold: embedded agrees; reference differs in 2 of 2 outputs, first in y of r"
    )


def test_the_same_measure_as_a_comparison_is_used(path: Path) -> None:
    low = np.full(4, -12.0, np.float32)
    near = (1 / (1 + np.exp(11.0 * np.ones(4)))).astype(np.float32)
    recording = Recording("r", {"x": low}, {"y": near})
    (check,) = verify_recorded(load(path), [recording], engines=("embedded",)).checks
    assert check.within
    assert (check.measure, check.share) == ("Sigmoid", check.max_abs)
    (check,) = verify_recorded(load(path), [recording], engines=("embedded",), tolerance=1e-2).checks
    assert not check.within


def test_a_function_gives_recordings_and_an_engine_that_refuses_is_told(path: Path) -> None:
    result = verify_recorded(load(path), [Recording("r", {"x": X}, {"y": Y})], engines=("embedded", "no such"))
    assert result.holds
    assert "no such" in result.absent


def test_data_that_hold_no_output_are_refused_with_what_is_there(path: Path) -> None:
    np.savez(path.parent / "r.npz", x=X, other=Y)
    with pytest.raises(FeedError, match="any of the outputs y, z"):
        list(recordings(load(path), str(path.parent / "r.npz")))
    with pytest.raises(FeedError, match="no recorded data here"):
        list(recordings(load(path), str(path.parent / "missing")))


def test_a_verification_stops_when_asked_to(path: Path) -> None:
    with pytest.raises(Cancelled):
        verify_recorded(load(path), [Recording("r", {"x": X}, {"y": Y})], cancel=lambda: True)


def test_a_function_beside_the_caller_records_and_its_failure_is_its_own(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(path.parent)
    text = "import numpy as np\ndef right():\n    yield {'x': np.float32(%s)}, {'y': np.float32(%s)}\ndef wrong(feeds):\n    return feeds\ndef odd():\n    yield 3\n"
    Path("framework_runs.py").write_text(text % (X.tolist(), Y.tolist()), encoding="utf-8")
    assert run(["verify", str(path), "--data", "framework_runs:right"]) == 0
    for name, said in (("wrong", "missing 1 required positional argument"), ("odd", "TypeError")):
        capsys.readouterr()
        assert run(["verify", str(path), "--data", f"framework_runs:{name}"]) == 2
        told = capsys.readouterr().err
        assert said in told
        assert "called without arguments" in told
