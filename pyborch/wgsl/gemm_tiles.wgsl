// Matrix multiply with tiles in workgroup memory: SLICES times SIDE x SIDE threads, TR x TC results each (multiples of 4), steps of DEPTH along the sum.
// Prepended: as for gemm_threads.wgsl, with SIDE, TR, TC, DEPTH and SLICES in place of ROWS; A_FAST, B_FAST; AHEAD.
// A thread loads four neighbours along a tile's side at a time, which share their place in the sum, and reads four at a time.
// A_FAST, B_FAST: the side's elements are adjacent along the sum (else along its rows), so neighbouring threads load that way.
// SLICES: so many threads share a result, each with a part of the sum, which come together at the end: for few results and long sums.
// AHEAD: while a tile is multiplied the next one is on its way into registers; pays where these suffice.
// H200, TFLOP/s: products of 2048 38, of 4096 40; 3x3 convolutions of ResNet-18 at batch 16 / 64 22 to 25 / 26 to 32, their weights' gradients
// 18 to 21 / 24 to 28 (scalar tiles: 15 / 19 and 11 / 12).
// STORE and PUT are texts of ops/variants.py.
// Grid: splits * batches * row tiles * column tiles, a group each. Chunks of the sum are in whole (k0, k1, k2) steps.
// Limits: indices below 2^31; ((TR + TC) * SIDE + 8) * DEPTH * SLICES * 4 bytes of workgroup memory.
const THREADS = SIDE * SIDE;  // of a slice
const BR = SIDE * TR;
const BC = SIDE * TC;
const NA = BR * DEPTH / (4u * THREADS);
const NB = BC * DEPTH / (4u * THREADS);
const SA = BR / 4u + 1u;
const SB = BC / 4u + 1u;
var<workgroup> tile_a: array<ELEMENT4, SA * DEPTH * SLICES>;
var<workgroup> tile_b: array<ELEMENT4, max(SB * DEPTH, THREADS * TC / 4u) * SLICES>;
var<private> kept: array<vec4<ACC>, max(1u, TC / SLICES)>;
fn a_k(i: u32) -> u32 { if (A_FAST) { return i % DEPTH; } return i / (BR / 4u); }
fn a_r(i: u32) -> u32 { if (A_FAST) { return i / DEPTH; } return i % (BR / 4u); }
fn b_k(i: u32) -> u32 { if (B_FAST) { return i % DEPTH; } return i / (BC / 4u); }
fn b_r(i: u32) -> u32 { if (B_FAST) { return i / DEPTH; } return i % (BC / 4u); }
fn a_walk(q: u32) -> A_AT { let o = q / K2; return a_step(o / K1, o % K1, q % K2); }
fn b_walk(q: u32) -> B_AT { let o = q / K2; return b_step(o / K1, o % K1, q % K2); }
// Row m of each thread, which lie in tile_b, one slice after the other: neighbouring threads sum and put neighbouring columns, and put() is
// there once for each m.
fn store_rows(m: u32, first_row: u32, first_col: u32, batch: u32, split: u32, all_lid: u32) {
  for (var j = all_lid; j < SIDE * BC; j += THREADS * SLICES) {
    let x = j % BC;
    let row = first_row + m / 4u * (4u * SIDE) + j / BC * 4u + m % 4u;
    let col = first_col + x;
    if (row < p.rows && col < p.cols) {
      let at = x / (4u * SIDE) * (SLICES * THREADS) + j / BC * SIDE + x / 4u % SIDE;
      var sum = bitcast<ACC>(tile_b[at][x % 4u]);
      for (var s = 1u; s < SLICES; s++) { sum += bitcast<ACC>(tile_b[at + s * THREADS][x % 4u]); }
      PUT
    }
  }
}
@compute @workgroup_size(THREADS * SLICES) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) all_lid: u32) {
  let slice = select(all_lid / THREADS, 0u, SLICES == 1u);
  let lid = select(all_lid % THREADS, all_lid, SLICES == 1u);
  let ta = slice * (SA * DEPTH);
  let tb = slice * (SB * DEPTH);
  let g = group_index(wid, nwg);
  let col_tiles = (p.cols + BC - 1u) / BC;
  let row_tiles = (p.rows + BR - 1u) / BR;
  let part = g / (col_tiles * row_tiles);
  let batch = part % p.batches;
  let split = part / p.batches;
  if (split >= p.splits) { return; }
  let first_col = g % col_tiles * BC;
  let first_row = g / col_tiles % row_tiles * BR;
  var at_a: array<A_AT, NA * 4u>;
  var at_b: array<B_AT, NB * 4u>;
  for (var n = 0u; n < NA; n++) {
    for (var e = 0u; e < 4u; e++) { at_a[n * 4u + e] = a_row(batch, min(first_row + a_r(lid + n * THREADS) * 4u + e, p.rows - 1u)); }
  }
  for (var n = 0u; n < NB; n++) {
    for (var e = 0u; e < 4u; e++) { at_b[n * 4u + e] = b_row(batch, min(first_col + b_r(lid + n * THREADS) * 4u + e, p.cols - 1u)); }
  }
  var c: array<array<ACC, TC>, TR>;
  let tx = lid % SIDE;
  let ty = lid / SIDE;
  let end = min(p.outer, (split + 1u) * p.chunk) * K2;
  let start = min(split * p.chunk * K2, end);  // the last parts may have nothing left
  let steps = (end - start + SLICES * DEPTH - 1u) / (SLICES * DEPTH) * DEPTH;
  let begin = start + slice * steps;
  let last = min(end, begin + steps);
  var next_a: array<ELEMENT4, NA>;
  var next_b: array<ELEMENT4, NB>;
  for (var k = 0u; k < steps + select(0u, DEPTH, AHEAD); k += DEPTH) {
    if (AHEAD && k > 0u) {
      for (var n = 0u; n < NA; n++) { let i = lid + n * THREADS; tile_a[ta + a_k(i) * SA + a_r(i)] = next_a[n]; }
      for (var n = 0u; n < NB; n++) { let i = lid + n * THREADS; tile_b[tb + b_k(i) * SB + b_r(i)] = next_b[n]; }
      workgroupBarrier();
    }
    for (var n = 0u; n < NA; n++) {
      let q = begin + k + a_k(lid + n * THREADS);
      next_a[n] = ELEMENT4();
      if (q < last) {
        let w = a_walk(q);
        next_a[n] = ELEMENT4(a_load(at_a[n * 4u] + w), a_load(at_a[n * 4u + 1u] + w), a_load(at_a[n * 4u + 2u] + w),
          a_load(at_a[n * 4u + 3u] + w));
      }
    }
    for (var n = 0u; n < NB; n++) {
      let q = begin + k + b_k(lid + n * THREADS);
      next_b[n] = ELEMENT4();
      if (q < last) {
        let w = b_walk(q);
        next_b[n] = ELEMENT4(b_load(at_b[n * 4u] + w), b_load(at_b[n * 4u + 1u] + w), b_load(at_b[n * 4u + 2u] + w),
          b_load(at_b[n * 4u + 3u] + w));
      }
    }
    if (!AHEAD) {
      for (var n = 0u; n < NA; n++) { let i = lid + n * THREADS; tile_a[ta + a_k(i) * SA + a_r(i)] = next_a[n]; }
      for (var n = 0u; n < NB; n++) { let i = lid + n * THREADS; tile_b[tb + b_k(i) * SB + b_r(i)] = next_b[n]; }
      workgroupBarrier();
    }
    if (AHEAD && k == 0u) { continue; }
    for (var d = 0u; d < DEPTH; d++) {
      var a: array<ELEMENT, TR>;
      var b: array<ELEMENT, TC>;
      for (var m = 0u; m < TR / 4u; m++) { let v = tile_a[ta + d * SA + ty + m * SIDE]; a[m * 4u] = v.x; a[m * 4u + 1u] = v.y; a[m * 4u + 2u] = v.z; a[m * 4u + 3u] = v.w; }
      for (var n = 0u; n < TC / 4u; n++) { let v = tile_b[tb + d * SB + tx + n * SIDE]; b[n * 4u] = v.x; b[n * 4u + 1u] = v.y; b[n * 4u + 2u] = v.z; b[n * 4u + 3u] = v.w; }
      for (var m = 0u; m < TR; m++) {
        for (var n = 0u; n < TC; n++) { c[m][n] = mad(a[m], b[n], c[m][n]); }
      }
    }
    workgroupBarrier();
  }
  STORE
}
