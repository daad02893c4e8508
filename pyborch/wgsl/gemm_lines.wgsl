// A few rows times a matrix whose lines lie along the sum, as in decoding: a workgroup computes COLS columns of all ROWS rows (up to 4), its threads
// side by side along the sum, four elements each, so that memory is read in long lines and every element of the matrix once.
// Prepended: as for gemm_tiles.wgsl, without a_load and b_load; const ROWS, COLS. Both sides are bound as vectors of four; their lines start at
// multiples of four. H200: 2,900 to 3,100 GB/s of float32 weights of 4096 x 4096, gemm_threads.wgsl 720.
// Grid: splits * batches * column tiles, a group each. Limits: indices below 2^31.
const LANES = 64u;
const CELLS = ROWS * COLS;
var<workgroup> sums: array<f32, LANES * CELLS>;
// The first n of four elements, the others zero: what lies behind a line may be anything.
fn head(v: vec4<f32>, n: u32) -> vec4<f32> { return select(vec4<f32>(), v, vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(n)); }
@compute @workgroup_size(LANES) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let g = group_index(wid, nwg);
  let tiles = (p.cols + COLS - 1u) / COLS;
  let batch = g / tiles % p.batches;
  let split = g / tiles / p.batches;
  if (split >= p.splits) { return; }
  let first = g % tiles * COLS;
  var at_a: array<i32, ROWS>;
  var at_b: array<i32, COLS>;
  var sum: array<f32, CELLS>;
  for (var r = 0u; r < ROWS; r++) { at_a[r] = a_row(batch, min(r, p.rows - 1u)); }
  for (var c = 0u; c < COLS; c++) { at_b[c] = b_row(batch, min(first + c, p.cols - 1u)); }
  for (var n = 0u; n < CELLS; n++) { sum[n] = 0.0; }
  let end = min(p.outer, (split + 1u) * p.chunk);
  for (var k = split * p.chunk + 4u * lid; k < end; k += 4u * LANES) {
    var fours: array<vec4<f32>, COLS>;
    for (var c = 0u; c < COLS; c++) { fours[c] = vec4<f32>(b[u32(at_b[c] + b_step(k, 0u, 0u)) / 4u]); }
    if (k + 4u > end) {
      for (var c = 0u; c < COLS; c++) { fours[c] = head(fours[c], end - k); }
    }
    for (var r = 0u; r < ROWS; r++) {
      var four = vec4<f32>(a[u32(at_a[r] + a_step(k, 0u, 0u)) / 4u]);
      if (k + 4u > end) { four = head(four, end - k); }
      for (var c = 0u; c < COLS; c++) { sum[r * COLS + c] += dot(four, fours[c]); }
    }
  }
  for (var n = 0u; n < CELLS; n++) { sums[n * LANES + lid] = sum[n]; }
  for (var half = LANES / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lid < half) {
      for (var n = 0u; n < CELLS; n++) { sums[n * LANES + lid] += sums[n * LANES + lid + half]; }
    }
  }
  workgroupBarrier();
  let row = lid / COLS;
  let col = first + lid % COLS;
  if (row < p.rows && row < ROWS && col < p.cols) {
    put(split, y_row(batch, row) + y_col(col), bias_row(batch, row) + bias_col(col), sums[lid * LANES]);
  }
}
