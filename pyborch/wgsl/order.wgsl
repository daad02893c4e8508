// Keys of a stable order: smaller keys come first, equal ones in the order they had. Prepended: const LAST_FIRST; alias V (of values).
fn float_key(v: f32) -> u32 {
  if (is_nan(v)) { return 0xffffffffu; }
  var b = bitcast<u32>(v);
  if (b == 0x80000000u) { b = 0u; }   // -0 equals 0
  return select(b | 0x80000000u, ~b, (b >> 31u) == 1u);
}
fn int_key(v: i32) -> u32 { return bitcast<u32>(v) ^ 0x80000000u; }
fn word_key(v: u32) -> u32 { return v; }
fn key_of(v: V) -> u32 { let k = KEY(v); return select(k, ~k, LAST_FIRST); }
// Where element k of a row is in a tensor of rows of n elements `inner` apart.
fn place_of(row: u32, k: u32) -> u32 { return row / p.inner * p.n * p.inner + row % p.inner + k * p.inner; }
