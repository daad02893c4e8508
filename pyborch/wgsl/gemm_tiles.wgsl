// Matrix multiply with tiles in workgroup memory: 16 x 16 threads, TR x TC results each, steps of DEPTH along the sum.
// Prepended: as for gemm_threads.wgsl, with TR, TC and DEPTH in place of ROWS; A_FAST, B_FAST. H200: 36.6 TFLOP/s at 4096 (8 x 8), convolutions
// 14 to 19 (4 x 4).
// A_FAST, B_FAST: the side's elements are adjacent along the sum (else along its rows), so neighbouring threads load that way.
// Grid: splits * batches * row tiles * column tiles, a group each. Chunks of the sum are in whole (k0, k1, k2) steps.
// Limits: indices below 2^31; ((TR + TC) * 16 + 8) * DEPTH * 4 bytes of workgroup memory.
const BR = 16u * TR;
const BC = 16u * TC;
const NA = BR * DEPTH / 256u;
const NB = BC * DEPTH / 256u;
var<workgroup> tile_a: array<array<ACC, BR + 4u>, DEPTH>;
var<workgroup> tile_b: array<array<ACC, BC + 4u>, DEPTH>;
fn a_k(lid: u32, n: u32) -> u32 { if (A_FAST) { return lid % DEPTH; } return (lid + n * 256u) / BR; }
fn a_r(lid: u32, n: u32) -> u32 { if (A_FAST) { return (lid + n * 256u) / DEPTH; } return (lid + n * 256u) % BR; }
fn b_k(lid: u32, n: u32) -> u32 { if (B_FAST) { return lid % DEPTH; } return (lid + n * 256u) / BC; }
fn b_r(lid: u32, n: u32) -> u32 { if (B_FAST) { return (lid + n * 256u) / DEPTH; } return (lid + n * 256u) % BC; }
@compute @workgroup_size(256) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let g = group_index(wid, nwg);
  let col_tiles = (p.cols + BC - 1u) / BC;
  let row_tiles = (p.rows + BR - 1u) / BR;
  let part = g / (col_tiles * row_tiles);
  let batch = part % p.batches;
  let split = part / p.batches;
  if (split >= p.splits) { return; }
  let first_col = g % col_tiles * BC;
  let first_row = g / col_tiles % row_tiles * BR;
  var at_a: array<A_AT, NA>;
  var at_b: array<B_AT, NB>;
  for (var n = 0u; n < NA; n++) { at_a[n] = a_row(batch, min(first_row + a_r(lid, n), p.rows - 1u)); }
  for (var n = 0u; n < NB; n++) { at_b[n] = b_row(batch, min(first_col + b_r(lid, n), p.cols - 1u)); }
  var c: array<array<ACC, TC>, TR>;
  let tx = lid % 16u;
  let ty = lid / 16u;
  let last = min(p.outer, (split + 1u) * p.chunk) * K2;
  for (var k = split * p.chunk * K2; k < last; k += DEPTH) {
    for (var n = 0u; n < NA; n++) {
      let q = k + a_k(lid, n);
      var v = ACC();
      if (q < last) { let o = q / K2; v = a_load(at_a[n] + a_step(o / K1, o % K1, q % K2)); }
      tile_a[a_k(lid, n)][a_r(lid, n)] = v;
    }
    for (var n = 0u; n < NB; n++) {
      let q = k + b_k(lid, n);
      var v = ACC();
      if (q < last) { let o = q / K2; v = b_load(at_b[n] + b_step(o / K1, o % K1, q % K2)); }
      tile_b[b_k(lid, n)][b_r(lid, n)] = v;
    }
    workgroupBarrier();
    for (var d = 0u; d < DEPTH; d++) {
      var a: array<ACC, TR>;
      var b: array<ACC, TC>;
      for (var m = 0u; m < TR; m++) { a[m] = tile_a[d][ty + m * 16u]; }
      for (var n = 0u; n < TC; n++) { b[n] = tile_b[d][tx + n * 16u]; }
      for (var m = 0u; m < TR; m++) {
        for (var n = 0u; n < TC; n++) { c[m][n] += a[m] * b[n]; }
      }
    }
    workgroupBarrier();
  }
  for (var m = 0u; m < TR; m++) {
    let row = first_row + ty + m * 16u;
    if (row < p.rows) {
      let start = y_row(batch, row);
      let bias_start = bias_row(batch, row);
      for (var n = 0u; n < TC; n++) {
        let col = first_col + tx + n * 16u;
        if (col < p.cols) { put(split, start + y_col(col), bias_start + bias_col(col), c[m][n]); }
      }
    }
  }
}
