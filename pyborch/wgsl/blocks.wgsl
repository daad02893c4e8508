// Weights in blocks of GROUP numbers of BITS (4 or 8) bits, as they lie in GGUF files. Prepended: const BITS, HEADER, GROUP, ZERO; array<u32> w.
// A block is HEADER bytes (2 or 4) and the numbers: float16 scale, and with HEADER 4 float16 least number (ZERO 1) or nothing; then 16 or 32 bytes
// for each 32 numbers. Four bits: byte j has number j in its lower half and j + 16 in the upper.
// A number q stands for q * scale + least; ZERO 2: (q - 8) * scale; ZERO 0: q is an int8, and stands for q * scale.
const BLOCK = HEADER + GROUP * BITS / 8u;
const PART = 4u * BITS;  // bytes of 32 numbers
fn word_at(byte: u32) -> u32 {
  let i = byte / 4u;
  if (BLOCK % 4u == 0u || (byte & 2u) == 0u) { return w[i]; }
  return (w[i] >> 16u) | (w[i + 1u] << 16u);
}
// (scale, what is added) of a block.
fn scale_of(block: u32) -> vec2<f32> {
  let h = unpack2x16float(word_at(block * BLOCK));
  if (ZERO == 1u) { return h; }
  return vec2<f32>(h.x, select(0.0, -8.0 * h.x, ZERO == 2u));
}
// Numbers 4 q to 4 q + 3 of a part of 32, as they are stored.
fn four_of(block: u32, part: u32, q: u32) -> vec4<f32> {
  let at = block * BLOCK + HEADER + part * PART;
  if (BITS == 8u) { return vec4<f32>(unpack4xI8(word_at(at + 4u * q))); }
  return vec4<f32>(unpack4xU8((word_at(at + 4u * (q % 4u)) >> (q / 4u * 4u)) & 0x0f0f0f0fu));
}
fn number_at(i: u32) -> f32 {
  let s = scale_of(i / GROUP);
  return four_of(i / GROUP, i % GROUP / 32u, i % 32u / 4u)[i % 4u] * s.x + s.y;
}
