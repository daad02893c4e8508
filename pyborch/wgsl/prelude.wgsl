// Always prepended. NaN and infinity are tested by bits: WGSL compilers may assume that neither exists.
fn is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
fn is_inf(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u; }
fn bits_to_float(bits: u32) -> f32 { var b = bits; return bitcast<f32>(b); }
fn infinity() -> f32 { return bits_to_float(0x7f800000u); }
fn nan() -> f32 { return bits_to_float(0x7fc00000u); }
fn max_nan(a: f32, b: f32) -> f32 { if (is_nan(a)) { return a; } if (is_nan(b)) { return b; } return max(a, b); }
fn min_nan(a: f32, b: f32) -> f32 { if (is_nan(a)) { return a; } if (is_nan(b)) { return b; } return min(a, b); }
// The index of a workgroup in a grid folded past 65,535.
fn group_index(wid: vec3<u32>, nwg: vec3<u32>) -> u32 { return wid.y * nwg.x + wid.x; }
