"""gelu, dropout and the dense layers behind them, compiled for this CPU.

torch takes nine operations there and back, each of which reads and writes every feature; between two wide
matmuls they took a third of a pack's time. Here each feature is read once in either direction.

Heads stand side by side: N features of all, those of head k from starts[k] to starts[k + 1]; R rows, C
outputs of a head, X of all. Every head sees its own numbers alone, in the order of the rows: what it gets
does not depend on its neighbours, nor on how the rows are cut.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

f32, u32 = np.float32, np.uint32
ZERO, HALF, ONE = f32(0.0), f32(0.5), f32(1.0)
DENSITY = f32(1.0 / math.sqrt(2.0 * math.pi))  # of the normal distribution, at zero

# the normal distribution's tail below -|x|, half of Abramowitz and Stegun's 7.1.26: good to 8e-8
SLOPE = f32(0.3275911 / math.sqrt(2.0))
T1, T2, T3 = f32(0.127414796), f32(-0.142248368), f32(0.7107068705)
T4, T5 = f32(-0.7265760135), f32(0.5307027145)

# exp, after Cephes: 2**n · exp(rest), the rest by a polynomial
LOWEST = f32(-87.0)  # below it, exp is no normal number
PER_LOG2 = f32(1.0 / math.log(2.0))
LOG2_HIGH, LOG2_LOW = f32(0.693359375), f32(-2.12194440e-4)
E0, E1, E2 = f32(1.9875691500e-4), f32(1.3981999507e-3), f32(8.3334519073e-3)
E3, E4, E5 = f32(4.1665795894e-2), f32(1.6666665459e-1), f32(5.0000001201e-1)

SHARES = 1 << 16  # what rates of dropout are rounded to
LOW_HALF = u32(SHARES - 1)


def compiled(function: Any) -> Any:
    """Other threads go on beside it. It is kept on disk, since compiling takes seconds."""
    options = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "reassoc", "arcp", "nsz"}}
    try:
        return njit(function, cache=True, **options)
    except RuntimeError:  # neither the package's folder nor the user's can be written to
        return njit(function, **options)


def _operation(generate: Any) -> Any:
    """Of one float, as LLVM has it: a loop of it becomes one of vectors."""

    def typed(_typing: Any, _x: Any) -> Any:
        return types.float32(types.float32), generate

    return intrinsic(typed)


def _of_llvm(name: str) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.call(builder.module.declare_intrinsic(name, [ir.FloatType()]), arguments)

    return _operation(generate)


def _shifted_exponent(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    word = ir.IntType(32)
    biased = builder.add(builder.fptosi(arguments[0], word), ir.Constant(word, 127))
    return builder.bitcast(builder.shl(biased, ir.Constant(word, 23)), ir.FloatType())


@intrinsic  # type: ignore[untyped-decorator]
def _as_stored(_typing: Any, stored: Any) -> Any:
    """A float32 as it is, or of a bfloat16's bits, which are the upper half of its."""

    def same(_context: Any, _builder: Any, _signature: Any, arguments: Any) -> Any:
        return arguments[0]

    def widened(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        word = ir.IntType(32)
        upper = builder.shl(builder.zext(arguments[0], word), ir.Constant(word, 16))
        return builder.bitcast(upper, ir.FloatType())

    return types.float32(stored), same if stored == types.float32 else widened


_floor, _absolute = _of_llvm("llvm.floor"), _of_llvm("llvm.fabs")
_power_of_two = _operation(_shifted_exponent)  # of a whole number


@compiled
def _mixed(x: Any) -> Any:
    """A number whose bits all depend on all bits of another (lowbias32)."""
    x = u32(x ^ (x >> u32(16))) * u32(0x7FEB352D)
    x = u32(x) ^ (u32(x) >> u32(15))
    x = u32(x) * u32(0x846CA68B)
    return u32(x) ^ (u32(x) >> u32(16))


def drawing(seed: int, rate: float) -> tuple[Any, Any, Any, Any]:
    """How masks of such a rate are drawn: each number goes by its row, its place in it and the seed."""
    threshold = min(round(rate * SHARES), SHARES - 1)
    return u32(seed & 0xFFFFFFFF), u32(seed >> 32), u32(threshold), f32(SHARES / (SHARES - threshold))


@compiled
def _draw_row(mask_N: Any, row: Any, drawing: Any) -> None:
    """Zero for a share of the numbers; the others make up for them. Half a word is drawn for each."""
    low, high, threshold, kept = drawing
    start = _mixed(u32(_mixed(u32(u32(row) ^ low)) ^ high))
    half = len(mask_N) // 2
    first_N, second_N = mask_N[:half], mask_N[half : 2 * half]
    for n in range(half):
        drawn = _mixed(u32(u32(n) ^ start))
        first_N[n] = kept if u32(drawn & LOW_HALF) >= threshold else ZERO
        second_N[n] = kept if u32(drawn >> u32(16)) >= threshold else ZERO
    if 2 * half < len(mask_N):
        drawn = _mixed(u32(u32(half) ^ start))
        mask_N[2 * half] = kept if u32(drawn & LOW_HALF) >= threshold else ZERO


@compiled
def draw_mask(mask_RN: Any, drawing: Any) -> None:
    for row in range(len(mask_RN)):
        _draw_row(mask_RN[row], row, drawing)


@compiled
def _exp(y: Any) -> Any:
    n = _floor(y * PER_LOG2 + HALF)
    r = y - n * LOG2_HIGH - n * LOG2_LOW
    p = ((((E0 * r + E1) * r + E2) * r + E3) * r + E4) * r + E5
    return (p * r * r + r + ONE) * _power_of_two(n)


@compiled
def _bell(x: Any) -> Any:
    """exp(-x²/2)."""
    y = -HALF * x * x
    return _exp(y if y > LOWEST else LOWEST)


@compiled
def _tail(x: Any, bell: Any) -> Any:
    t = ONE / (ONE + SLOPE * _absolute(x))
    return bell * t * (T1 + t * (T2 + t * (T3 + t * (T4 + t * T5))))


@compiled
def _gelu(before_N: Any, features_N: Any) -> None:
    for n in range(len(before_N)):
        x = before_N[n]
        features_N[n] = (x if x > ZERO else ZERO) - _absolute(x) * _tail(x, _bell(x))


@compiled
def _gelu_and_slope(before_N: Any, features_N: Any, slopes_N: Any) -> None:
    for n in range(len(before_N)):
        x = before_N[n]
        bell = _bell(x)
        tail = _tail(x, bell)
        features_N[n] = (x if x > ZERO else ZERO) - _absolute(x) * tail
        slopes_N[n] = (tail if x < ZERO else ONE - tail) + x * bell * DENSITY


@compiled
def _multiply(x_N: Any, y_N: Any) -> None:
    for n in range(len(x_N)):
        x_N[n] *= y_N[n]


@compiled
def _multiply_by_stored(x_N: Any, stored_N: Any) -> None:
    for n in range(len(x_N)):
        x_N[n] *= _as_stored(stored_N[n])


@compiled
def _add(sum_N: Any, y_N: Any) -> None:
    for n in range(len(sum_N)):
        sum_N[n] += y_N[n]


@compiled
def _add_times(sum_N: Any, factor: Any, y_N: Any) -> None:
    for n in range(len(sum_N)):
        sum_N[n] += factor * y_N[n]


@compiled
def _dot(x_N: Any, y_N: Any) -> Any:
    total = ZERO
    for n in range(len(x_N)):
        total += x_N[n] * y_N[n]
    return total


@compiled
def read_out(before_RN: Any, mask_RN: Any, heads: Any, out_RX: Any) -> None:
    """Add each head's outputs to out_RX. Without dropout mask_RN is None; `heads` are dense_CN and starts."""
    dense_CN, starts = heads
    rows, count = before_RN.shape
    outputs = len(dense_CN)
    features_N = np.empty(count, np.float32)
    for row in range(rows):
        _gelu(before_RN[row], features_N)
        if mask_RN is not None:
            _multiply(features_N, mask_RN[row])
        for k in range(len(starts) - 1):
            low, high = starts[k], starts[k + 1]
            for c in range(outputs):
                out_RX[row, k * outputs + c] += _dot(features_N[low:high], dense_CN[c, low:high])


@compiled
def learn(
    before_RN: Any,
    mask_RN: Any,
    heads: Any,
    grad_RX: Any,
    grad_before_RN: Any,
    grad_bias_N: Any,
    grad_dense_CN: Any,
) -> None:
    """Set the gradient of what is before the gelu; add to those of its bias and of the dense layers."""
    dense_CN, starts = heads
    rows, count = before_RN.shape
    outputs = len(dense_CN)
    features_N, slopes_N = np.empty(count, np.float32), np.empty(count, np.float32)
    for row in range(rows):
        _gelu_and_slope(before_RN[row], features_N, slopes_N)
        if mask_RN is not None:
            _multiply(features_N, mask_RN[row])
            _multiply(slopes_N, mask_RN[row])
        grad_before_RN[row] = ZERO
        for k in range(len(starts) - 1):
            low, high = starts[k], starts[k + 1]
            for c in range(outputs):
                grad = grad_RX[row, k * outputs + c]
                _add_times(grad_before_RN[row, low:high], grad, dense_CN[c, low:high])
                _add_times(grad_dense_CN[c, low:high], grad, features_N[low:high])
        _multiply(grad_before_RN[row], slopes_N)
        _add(grad_bias_N, grad_before_RN[row])


@compiled
def read_kept(x_MRX: Any, readings: Any, drawings: Any, dense_CN: Any, out_KRC: Any) -> None:
    """Set the outputs of several dense layers, each on what dropout leaves of its features.

    A reading says which of the M inputs, where in a row its features begin, and which columns of dense_CN
    are its layer's.
    """
    low, high, threshold, scale = drawings
    kept_N = np.empty(dense_CN.shape[1], np.float32)
    for k in range(len(readings)):
        m, start, first, stop = readings[k]
        kept_F, drawing = kept_N[: stop - first], (low[k], high[k], threshold[k], scale[k])
        for row in range(x_MRX.shape[1]):
            _draw_row(kept_F, row, drawing)
            _multiply_by_stored(kept_F, x_MRX[m, row, start : start + len(kept_F)])
            for c in range(len(dense_CN)):
                out_KRC[k, row, c] = _dot(kept_F, dense_CN[c, first:stop])


@compiled
def learn_kept(x_MRX: Any, readings: Any, drawings: Any, grad_KRC: Any, grad_dense_CN: Any) -> None:
    """Add to the gradients of those dense layers. Rows without one, as of a copy's own fold, cost nothing."""
    low, high, threshold, scale = drawings
    kept_N = np.empty(grad_dense_CN.shape[1], np.float32)
    for k in range(len(readings)):
        m, start, first, stop = readings[k]
        kept_F, drawing = kept_N[: stop - first], (low[k], high[k], threshold[k], scale[k])
        for row in range(x_MRX.shape[1]):
            if not grad_KRC[k, row].any():
                continue
            _draw_row(kept_F, row, drawing)
            _multiply_by_stored(kept_F, x_MRX[m, row, start : start + len(kept_F)])
            for c in range(len(grad_dense_CN)):
                _add_times(grad_dense_CN[c, first:stop], grad_KRC[k, row, c], kept_F)


@compiled
def pass_kept(readings: Any, drawings: Any, dense_CN: Any, grad_KRC: Any, grad_MRX: Any) -> None:
    """Add to the gradient of the features."""
    low, high, threshold, scale = drawings
    whole_N, kept_N = np.empty(dense_CN.shape[1], np.float32), np.empty(dense_CN.shape[1], np.float32)
    for k in range(len(readings)):
        m, start, first, stop = readings[k]
        grad_F, kept_F = whole_N[: stop - first], kept_N[: stop - first]
        drawing = (low[k], high[k], threshold[k], scale[k])
        for row in range(grad_MRX.shape[1]):
            if not grad_KRC[k, row].any():
                continue
            grad_F[:] = ZERO
            for c in range(len(dense_CN)):
                _add_times(grad_F, grad_KRC[k, row, c], dense_CN[c, first:stop])
            _draw_row(kept_F, row, drawing)
            _multiply(grad_F, kept_F)
            _add(grad_MRX[m, row, start : start + len(grad_F)], grad_F)
