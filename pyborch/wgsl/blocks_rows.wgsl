// A few rows times the rows of a matrix in blocks (blocks.wgsl): y[r, o] = bias[o] + sum of x[r, k] * w[o, k].
// Prepended: const ROWS (of x, 1 to 4), LANES (threads for each o), BIAS; struct Params { depth: u32, outputs: u32, bias_offset: u32,
// bias_step: u32 }; bindings x (vec4<f32>), w, bias (w again without one), y (f32).
// A part of 32 numbers is read and made floats once for all rows. Grid: 64 / LANES outputs a group.
var<workgroup> sums: array<array<f32, 64>, ROWS>;
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let o = group_index(wid, nwg) * (64u / LANES) + lid / LANES;
  let parts = p.depth / 32u;
  var sum: array<f32, ROWS>;
  if (o < p.outputs) {
    for (var n = lid % LANES; n < parts; n += LANES) {
      let all = o * parts + n;
      let block = all / (GROUP / 32u);
      let s = scale_of(block);
      for (var q = 0u; q < 8u; q++) {
        let numbers = four_of(block, all % (GROUP / 32u), q) * s.x + s.y;
        for (var r = 0u; r < ROWS; r++) { sum[r] += dot(numbers, x[(r * parts + n) * 8u + q]); }
      }
    }
  }
  for (var r = 0u; r < ROWS; r++) { sums[r][lid] = sum[r]; }
  for (var half = LANES / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lid % LANES < half) { for (var r = 0u; r < ROWS; r++) { sums[r][lid] += sums[r][lid + half]; } }
  }
  if (lid % LANES == 0u && o < p.outputs) {
    for (var r = 0u; r < ROWS; r++) { y[r * p.outputs + o] = sums[r][lid] + bias_of(o); }
  }
}
