"""What every finding means, why it matters and what to do: the text of `owb explain Q010` and of docs/findings.md."""

from __future__ import annotations

from typing import NamedTuple


class Page(NamedTuple):
    """One finding's page.

    example  a command, or what the finding looks like
    """

    what: str
    why: str
    fix: str
    example: str


PAGES: dict[str, Page] = {
    "Q001": Page(
        "No --data was given: ranges were measured on random inputs made to fit the model's types and shapes.",
        "Random inputs excite other values than real ones do. Ranges may be far too wide or too narrow, and the dB in the report say nothing of accuracy.",
        "Give 16 to 256 real inputs. They may be one .npz, a folder of .npy, .npz or image files, or a function.",
        "owb quantize model.onnx --data calib.npz -o model.int8.onnx",
    ),
    "Q002": Page(
        "Nodes of the model compute on integers already (QLinearConv, MatMulInteger, DequantizeLinear, …).",
        "Rounding twice adds noise and gains nothing; the float values that a good rounding needs are no longer in the file.",
        "Quantize the float model this one was made of.",
        "owb inspect model.onnx    # the row 'quantization' says what is there",
    ),
    "Q003": Page(
        "The node could be quantized and stays float: it does too few multiply-adds for the data it moves, or too little of the model's work.",
        "Converting values to 8 bits and back takes about as long as 48 multiply-adds an element. Depthwise convolutions, stems and 1×1 maps lose time in 8 bits and cost the most accuracy.",
        "Nothing. If size matters more than time, take them all the same.",
        "owb quantize model.onnx --preset full    # or --include NODE",
    ),
    "Q004": Page(
        "The node's weight is not a constant: another node computes it, or it has no axis of output channels.",
        "8-bit kernels need weights that are rounded once, when the file is written.",
        "If the weight comes from constants, fold them first; a product of two activations (attention) stays float by nature.",
        "owb optimize model.onnx -o folded.onnx && owb quantize folded.onnx",
    ),
    "Q005": Page(
        "The node's weight has a type or shape that is not quantized: float16, float64, too few elements, NaN or infinity.",
        "A scale cannot be taken of NaN, and other types would change what the rest of the graph computes with.",
        "Export the model in float32; for NaN, ask `owb check` which weight holds it.",
        "owb check model.onnx",
    ),
    "Q006": Page(
        "--include or --exclude left the node out.",
        "It is listed so that a selection that takes more or less than was meant is seen.",
        "Nothing, if it was meant. `owb nodes MODEL -q QUERY` shows what a query matches.",
        "owb quantize model.onnx --exclude 'head.*'",
    ),
    "Q010": Page(
        "A value was 0 in every sample (or its given range has no width). What reads or makes it stays float. As a note on a node: output channels whose weights are all 0.",
        "No scale follows from a range of no width. Any that is made up is wrong for live data: with scale 1 a Relu that wakes up gives 0, 1, 2 … instead of 0.13.",
        "Calibrate with inputs that reach the value, or give its range. If it is truly dead, `owb optimize` removes it.",
        'ranges.json: {"kind": "quantization-ranges", "version": 1, "ranges": {"relu_out": [0, 6]}} and --ranges ranges.json',
    ),
    "Q011": Page(
        "Few channels of a value reach far beyond all others.",
        "One scale serves all channels: when the largest needs 255 levels, the usual ones are left with fewer than 8 of them, less than 3 bits.",
        "Move the difference into the weights (smooth, equalize), or keep the node's input in 16 bits or float.",
        "owb quantize model.onnx --repair smooth --data calib.npz",
    ),
    "Q012": Page(
        "Infinities, or numbers of mask size (beyond 1e30), were seen in a value and left out of its range.",
        "A −inf of an attention mask or of a Pad before MaxPool would make the scale infinite and every other value 0. They saturate to the lowest number instead, which a maximum or a Softmax takes the same way.",
        "Nothing, if they are masks. If not, the calibration data are broken: look at the sample.",
        "owb run model.onnx --inputs sample.npz    # counts NaN and infinities of the outputs",
    ),
    "Q013": Page(
        "No sample made an element of this value: it was empty, or its branch was not taken.",
        "Its range is unknown; a made-up scale would be wrong on live data, so its readers stay float.",
        "Calibrate with inputs that reach it, or give its range.",
        "owb quantize model.onnx --data more_cases.npz",
    ),
    "Q014": Page(
        "A Concat joins parts of very different reach, and its result would get one scale.",
        "Boxes in pixels (0 to 640) beside scores (0 to 1): a step is 2.5, and all scores become 0. The dB of the whole hide it, for the boxes carry all the energy.",
        "Leave the reader of the Concat out, or scale the large part before it and after it back.",
        "owb quantize detector.onnx --exclude op:Concat",
    ),
    "Q015": Page(
        "The calibration method that was asked for cut a range so far that 8 bits keep less of the values than they would of the whole range.",
        "What is cut off becomes the largest value that is left. Percentiles and entropy count how often values come, not how much depends on them.",
        "Leave the method to `auto`, which cuts only where the error falls, or take `minmax`.",
        "owb quantize model.onnx --data calib.npz --method auto",
    ),
    "Q016": Page(
        "Pictures were read and divided by 255, and nobody said how the training normalised them.",
        "A network trained on (x − mean) / std sees values it never saw: its ranges and outputs are of another world.",
        "Give mean and std as in the training; --scale, --layout and --color, too, where they differ.",
        "owb quantize net.onnx --data photos/ --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225",
    ),
    "Q017": Page(
        "The result was judged on random inputs: no --data was given. No range was measured on them.",
        "The model itself does not depend on them, but the dB in the report say nothing of real inputs.",
        "Give a few real inputs to judge by.",
        "owb quantize model.onnx --mode weight-only --data calib.npz",
    ),
    "Q020": Page(
        "A bias is computed, or is not one constant a channel (a full [M, N] bias of a Gemm): it stays float.",
        "The integer kernel adds one int32 a channel. Runtimes compute such a node with a float addition behind, which is right and a little slower.",
        "Nothing, or make the bias a constant of one value a channel.",
        "Gemm(x, w, c) with c [4, 64]: the product is 8 bits, + c is float",
    ),
    "Q021": Page(
        "The bias of some channels is large beside what their weights make; the weight scale was widened to make room.",
        "A bias is stored as int32 in steps of s_x · s_w. Where it does not fit, other tools cut it off, and the channel is wrong by more than half.",
        "Nothing. If the node's dB in the report are low, leave it out.",
        "s_x · s_w = 1e-9 and bias 1000 would need 1e12, int32 ends at 2.1e9",
    ),
    "Q022": Page(
        "A weight is read by nodes along different axes (Gemm with transB, and without); it is stored once for each.",
        "Scales go by output channel, and that is another axis for each reader: one set of scales would be wrong for one of them.",
        "Nothing; the file is larger by the second copy.",
        "y = Gemm<transB=1>(x, w); z = MatMul(x, w)",
    ),
    "Q023": Page(
        "alpha and beta of a Gemm were multiplied into its weight and bias.",
        "Runtimes that fuse a quantized Gemm ignore factors other than 1, and are wrong without a word.",
        "Nothing: the function is the same.",
        "Gemm<alpha=0.5, beta=2>(x, w, c) → Gemm(x, w/2, 2c)",
    ),
    "Q024": Page(
        "Weights that stay float are stored as float16 and cast back when the file is loaded.",
        "It costs no time (runtimes fold the Cast) and halves what is left of the file. Only weights that keep 60 dB are stored so.",
        "Nothing.",
        "w_half (float16) → Cast → LSTM",
    ),
    "Q025": Page(
        "A convolution along one axis was written as a matrix product of shifted copies.",
        "An integer convolution must round its output; an integer matrix product gives float. Where the output's range is far wider than what is left of it behind the next activation, that is worth 10 dB and more.",
        "Nothing. --exclude NODE keeps the convolution.",
        "Conv1d of 5 taps → 5 Slices, Concat, MatMul",
    ),
    "Q026": Page(
        "The node's sums of 8-bit products could exceed 32 bits; it stays float.",
        "Integer sums wrap around: a large positive value becomes a large negative one.",
        "Split the sum into two products, or leave it float.",
        "255 · 127 · 70,000 terms of full size = 2.3e9, int32 ends at 2.1e9",
    ),
    "Q027": Page(
        "A table that a Gather looks rows up in is stored in 8 bits, though fewer (or float8) were asked for.",
        "ONNX has no Gather of 4-bit numbers. To dequantize before the Gather would make all rows float in every run: 28 of 32 ms in a MiniLM.",
        "Nothing; --exclude op:Gather keeps the table in float32.",
        "owb quantize minilm.onnx --mode weight-only --weights s4",
    ),
    "Q030": Page(
        "The result is of a newer opset than the original.",
        "Scales by channel need opset 13, float8 19, 4 and 16 bits and blocks 21; an operator newer than the file's opset needs its own. An older runtime may refuse the file.",
        "Update the runtime, or ask for what the old opset can say: 8 bits.",
        "owb quantize model.onnx --activations u8 --weights s8",
    ),
    "Q031": Page(
        "Nodes were written as integer operators (QLinearConv, QLinearMatMul, …).",
        "It was asked for (--operators qoperator): no runtime has to find the pattern, and some know only these.",
        "Nothing.",
        "owb quantize model.onnx --operators qoperator",
    ),
    "Q032": Page(
        "An operator has no integer form: it stays between DequantizeLinear and QuantizeLinear.",
        "It computes in float; the conversions around it take time.",
        "--operators qdq lets the runtime decide, or leave the node's neighbours out.",
        "Sigmoid between two QLinearConv",
    ),
    "Q033": Page(
        "An LSTM was written as com.microsoft DynamicQuantizeLSTM: weights in 8 bits, what it reads measured in every run.",
        "ONNX has no integer LSTM; in float it is half of what a recogniser takes. In onnxruntime it is 0.34 instead of 0.70 of the time. Other runtimes may not load the file.",
        "Nothing for onnxruntime. For other runtimes leave it float.",
        "owb quantize model.onnx --exclude op:LSTM",
    ),
    "Q040": Page(
        "An output keeps less than 20 dB of its signal: its noise is more than a tenth of its size.",
        "That usually costs accuracy. After a Softmax it may not: look at 'same class'.",
        "Find the guilty nodes and leave them out, search a mix, or calibrate with better data.",
        "owb sensitivity model.onnx --data calib.npz    # then --exclude the first, or --auto",
    ),
    "Q041": Page(
        "No mix of float and 8 bits that was tried meets the target; the best one is kept.",
        "The result is usable and worse than what was asked for.",
        "More --seconds, a lower target, a repair, or 16-bit activations.",
        "owb quantize model.onnx --auto --target-db 30 --seconds 120 --repair equalize",
    ),
    "Q042": Page(
        "The search was stopped, by you or by its time; the best mix so far is kept.",
        "A longer search may find a better one.",
        "More --seconds.",
        "owb quantize model.onnx --auto --seconds 120",
    ),
    "Q043": Page(
        "A part of an output keeps less than 10 dB while the whole keeps 20 or more.",
        "Parts mean different things: boxes in pixels hide what happened to scores. The score part may be lost entirely.",
        "Leave the node that makes the part out, or take 16-bit activations.",
        "owb quantize detector.onnx --exclude '/head/*'",
    ),
    "Q050": Page(
        "No node was worth, or fit for, 8 bits: the result is the optimized float model.",
        "A model of few multiply-adds spends its time on moving data and on starting kernels: 8 bits would make it slower.",
        "Keep it float. For the size alone take everything.",
        "owb quantize small.onnx --preset full",
    ),
    "Q051": Page(
        "A repair moved scales between layers before the quantization.",
        "One scale a tensor fits its channels better then. The float function is the same.",
        "Nothing.",
        "owb quantize model.onnx --repair equalize",
    ),
    "Q052": Page(
        "The result saves little or no time, measured.",
        "8 bits pay where products dominate and the processor has integer dot products (AVX512-VNNI, AVX-VNNI, Arm i8mm).",
        "Keep the float model, or take the result for its size. Without onnxruntime the measure says nothing: pip install 'onnx-workbench[ort]'.",
        "owb quantize model.onnx --auto --target-latency 0.7",
    ),
    "Q060": Page(
        "This processor has no VNNI: sums of unsigned times signed bytes saturate at 16 bits.",
        "Two products are added in 16 bits on AVX2; large ones are cut off, and accuracy is lost here that is not lost elsewhere.",
        "Run it where VNNI is, or use unsigned weights, which do not saturate; measure on the machine the model is for.",
        "owb quantize model.onnx --activations u8 --weights u8",
    ),
    "Q070": Page(
        "A product inside the body of an If, Loop or Scan stays float.",
        "Its ranges are not seen from outside, and a body runs any number of times.",
        "`owb optimize` inlines an If of known condition; weight-only reaches into bodies.",
        "owb quantize model.onnx --mode weight-only",
    ),
    "Q071": Page(
        "An operator with weights (LSTM, GRU, Einsum, …) stays float: no runtime computes it on integers between Q and DQ.",
        "Its share of the time stays as it was.",
        "Nothing; its weights are stored in 16 bits. LSTMs are taken in another way where nothing is searched or included: see Q033.",
        "owb explain Q033",
    ),
}  # fmt: skip


def page(code: str) -> str:
    """The text of a finding's page."""
    found = PAGES[code]
    return f"What   {found.what}\nWhy    {found.why}\nDo     {found.fix}\n\nExample\n    {found.example}"
