// The gradient of a convolution's weights where each has one input channel: sums over all places of u (the gradient of the results) times the element
// of x that a tap meets there. A workgroup per output channel and part of the places; neighbouring threads have neighbouring places.
// Prepended: const TAPS, KW, DY, DX (distances of taps), SY, SX (strides), PY, PX (padding), H, W (of x), OH, OW (of u), SHARED (output channels of an
// input channel); alias T; arrays u, x, y. y: (parts, channels, TAPS). Grid: parts * channels.
struct Params { channels: u32, parts: u32, places: u32, size: u32, u_offset: u32, x_offset: u32, y_offset: u32 }
const THREADS = 256u;
const FOURS = (TAPS + 3u) / 4u;
var<workgroup> sides: array<vec4<f32>, THREADS>;
@compute @workgroup_size(THREADS) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let group = group_index(wid, nwg);
  if (group >= p.channels * p.parts) { return; }
  let channel = group % p.channels;
  let part = group / p.channels;
  var sums: array<vec4<f32>, FOURS>;
  for (var at = part * p.size + lid; at < min(p.places, (part + 1u) * p.size); at += THREADS) {
    let image = at / (OH * OW);
    let place = at % (OH * OW);
    let value = f32(u[p.u_offset + (image * p.channels + channel) * (OH * OW) + place]);
    let top = i32(place / OW * SY) - i32(PY);
    let left = i32(place % OW * SX) - i32(PX);
    let base = i32(p.x_offset + (image * (p.channels / SHARED) + channel / SHARED) * (H * W));
    for (var tap = 0u; tap < TAPS; tap++) {
      let row = top + i32(tap / KW * DY);
      let col = left + i32(tap % KW * DX);
      if (u32(row) < H && u32(col) < W) { sums[tap / 4u][tap % 4u] += value * f32(x[u32(base + row * i32(W) + col)]); }
    }
  }
  for (var f = 0u; f < FOURS; f++) {
    sides[lid] = sums[f];
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
      workgroupBarrier();
      if (lid < half) { sides[lid] += sides[lid + half]; }
    }
    if (lid < 4u && 4u * f + lid < TAPS) { y[p.y_offset + group * TAPS + 4u * f + lid] = T(sides[0][lid]); }
    workgroupBarrier();
  }
}
