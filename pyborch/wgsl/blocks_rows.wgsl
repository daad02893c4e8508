// A few rows times the rows of a matrix in blocks (blocks.wgsl): y[r, o] = bias[o] + sum of x[r, k] * w[o, k].
// Prepended: const ROWS (of x, 1 to 4), LANES (threads side by side along the sum), OUTS (outputs of a thread, for which x is read once);
// struct Params { depth: u32, outputs: u32, bias_offset: u32, bias_step: u32 }; bindings x (vec4<f32>), w, bias, y (f32).
// A thread has an eighth of 32 numbers: fours q and q + 4, which are one word where they have four bits, so that neighbours read neighbouring words.
// Grid: 64 / LANES * OUTS outputs a group.
const CELLS = ROWS * OUTS;
var<workgroup> sums: array<array<f32, 64>, CELLS>;
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let first = (group_index(wid, nwg) * (64u / LANES) + lid / LANES) * OUTS;
  let parts = p.depth / 32u;
  var sum: array<f32, CELLS>;
  for (var n = lid % LANES; n < p.depth / 8u; n += LANES) {
    let q = n % 4u;
    var low: array<vec4<f32>, ROWS>;
    var high: array<vec4<f32>, ROWS>;
    for (var r = 0u; r < ROWS; r++) {
      low[r] = x[(r * parts + n / 4u) * 8u + q];
      high[r] = x[(r * parts + n / 4u) * 8u + q + 4u];
    }
    for (var o = 0u; o < OUTS; o++) {
      let part = min(first + o, p.outputs - 1u) * parts + n / 4u;
      let block = part / (GROUP / 32u);
      let scale = scale_of(block);
      let a = four_of(block, part % (GROUP / 32u), q);
      let b = four_of(block, part % (GROUP / 32u), q + 4u);
      for (var r = 0u; r < ROWS; r++) {
        sum[r * OUTS + o] += (dot(a, low[r]) + dot(b, high[r])) * scale.x + dot(low[r] + high[r], vec4<f32>(1.0)) * scale.y;
      }
    }
  }
  for (var c = 0u; c < CELLS; c++) { sums[c][lid] = sum[c]; }
  for (var half = LANES / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lid % LANES < half) { for (var c = 0u; c < CELLS; c++) { sums[c][lid] += sums[c][lid + half]; } }
  }
  if (lid % LANES == 0u) {
    for (var o = 0u; o < OUTS; o++) {
      if (first + o < p.outputs) {
        for (var r = 0u; r < ROWS; r++) { y[r * p.outputs + first + o] = sums[r * OUTS + o][lid] + bias_of(first + o); }
      }
    }
  }
}
