// A few rows times the rows of a matrix in blocks (blocks.wgsl): y[r, o] = bias[o] + sum of x[r, k] * w[o, k].
// Prepended: const ROWS (of x, 1 to 4), LANES (threads side by side along the sum), OUTS (outputs of a thread, for which x is read once), BIAS;
// struct Params { depth: u32, outputs: u32, bias_offset: u32, bias_step: u32 }; bindings x (vec4<f32>), w, bias (w again without one), y (f32).
// A part of 32 numbers is read and made floats once for all rows. Grid: 64 / LANES * OUTS outputs a group.
const CELLS = ROWS * OUTS;
var<workgroup> sums: array<array<f32, 64>, CELLS>;
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let first = (group_index(wid, nwg) * (64u / LANES) + lid / LANES) * OUTS;
  let parts = p.depth / 32u;
  var sum: array<f32, CELLS>;
  for (var n = lid % LANES; n < parts; n += LANES) {
    var scales: array<vec2<f32>, OUTS>;
    var alls: array<u32, OUTS>;
    for (var o = 0u; o < OUTS; o++) {
      alls[o] = min(first + o, p.outputs - 1u) * parts + n;
      scales[o] = scale_of(alls[o] / (GROUP / 32u));
    }
    // Scales belong to all 32 numbers: sum (q * scale + least) * x = scale * sum q * x + least * sum x.
    var dots: array<f32, CELLS>;
    var added: array<f32, ROWS>;
    for (var c = 0u; c < CELLS; c++) { dots[c] = 0.0; }
    for (var r = 0u; r < ROWS; r++) { added[r] = 0.0; }
    for (var q = 0u; q < 8u; q++) {
      var fours: array<vec4<f32>, ROWS>;
      for (var r = 0u; r < ROWS; r++) {
        fours[r] = x[(r * parts + n) * 8u + q];
        added[r] += dot(fours[r], vec4<f32>(1.0));
      }
      for (var o = 0u; o < OUTS; o++) {
        let numbers = four_of(alls[o] / (GROUP / 32u), alls[o] % (GROUP / 32u), q);
        for (var r = 0u; r < ROWS; r++) { dots[r * OUTS + o] += dot(numbers, fours[r]); }
      }
    }
    for (var c = 0u; c < CELLS; c++) { sum[c] += dots[c] * scales[c % OUTS].x + added[c / OUTS] * scales[c % OUTS].y; }
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
