"""Floats narrower than float16's two bytes of range, widened to float32 without loss: safetensors files hold them, no device here computes with them."""
from __future__ import annotations

import struct


def _float8(exponent_bits, mantissa_bits, special):
    """The float32 bytes of all 256 values; ``special(byte)`` is a value's name where the pattern is no number."""
    bias, found = (1 << exponent_bits - 1) - 1, []
    for byte in range(256):
        exponent, mantissa = byte >> mantissa_bits & (1 << exponent_bits) - 1, byte & (1 << mantissa_bits) - 1
        if (name := special(byte & 127)) is not None:
            value = float(name)
        elif exponent == 0:
            value = mantissa * 2.0 ** (1 - bias - mantissa_bits)
        else:
            value = ((1 << mantissa_bits) + mantissa) * 2.0 ** (exponent - bias - mantissa_bits)
        found.append(struct.pack("<f", -value if byte & 128 else value))
    return found


def _from_bfloat16(data):
    """Two zero bytes below each value."""
    wide = bytearray(2 * len(data))
    wide[2::4], wide[3::4] = bytes(data[0::2]), bytes(data[1::2])
    return wide


def _from_e4m3(data):
    """No infinities; all ones is NaN."""
    table = _float8(4, 3, lambda byte: "nan" if byte == 0x7F else None)
    return bytearray(b"".join([table[byte] for byte in bytes(data)]))


def _from_e5m2(data):
    """Infinities and NaN as in float16."""
    table = _float8(5, 2, lambda byte: None if byte < 0x7C else "inf" if byte == 0x7C else "nan")
    return bytearray(b"".join([table[byte] for byte in bytes(data)]))


WIDENED = {"BF16": _from_bfloat16, "F8_E4M3": _from_e4m3, "F8_E5M2": _from_e5m2}
