// Matrix multiply of float16 by subgroup matrices of 16 x 16 x 16, sums in f32: WM x WN subgroups of 32 threads, SM x SN matrices of results each.
// Prepended: as for gemm_tiles.wgsl, without a_load and b_load; const SM, SN, WM, WN, DEPTH. Both sides are bound as vec4<u32>, eight halves:
// offsets and strides are multiples of 8 but for the adjacent dim's. A_FAST, B_FAST: that is the sum's (else the rows').
// The words in capitals on lines of their own are made in ops/variants.py, since a loop over matrices need not stay in registers.
// A line of a tile is what is adjacent; eight more halves a line keep neighbouring lines in different banks.
// H200, TFLOP/s: products of 4096 137 to 165 with SM, SN, WM, WN, DEPTH = 4, 4, 2, 4, 32; of 1024 60 to 80 with 2, 2, 2, 2, 32 (gemm_tiles.wgsl: 39, 29).
// Arrays of the module instead of main()s own made it a quarter slower.
// Grid: splits * batches * row tiles * column tiles, a group each. Limits: subgroups of 32; indices below 2^31.
const THREADS = 32u * WM * WN;
const BR = 16u * SM * WM;
const BC = 16u * SN * WN;
const LINE_A = select(BR, DEPTH, A_FAST);
const LINE_B = select(BC, DEPTH, B_FAST);
const PITCH_A = LINE_A + 8u;
const PITCH_B = LINE_B + 8u;
const START_B = BR * DEPTH / LINE_A * PITCH_A;
const HALVES = max(START_B + BC * DEPTH / LINE_B * PITCH_B, THREADS * SN * 16u);
const NA = BR * DEPTH / (8u * THREADS);
const NB = BC * DEPTH / (8u * THREADS);
var<workgroup> tile: buffer<2u * HALVES>;
// The first n of eight halves, the others zero.
fn head(v: vec4<u32>, n: u32) -> vec4<u32> {
  let left = vec4<i32>(i32(min(n, 8u))) - vec4<i32>(0, 2, 4, 6);
  return select(select(vec4<u32>(), v & vec4<u32>(0xffffu), left == vec4<i32>(1)), v, left > vec4<i32>(1));
}
// Where along the sum a thread's n-th vector of a tile lies.
fn a_place(k: u32, n: u32, lid: u32) -> u32 { let i = lid + n * THREADS; return k + select(i / (LINE_A / 8u), i % (LINE_A / 8u) * 8u, A_FAST); }
fn b_place(k: u32, n: u32, lid: u32) -> u32 { let i = lid + n * THREADS; return k + select(i / (LINE_B / 8u), i % (LINE_B / 8u) * 8u, B_FAST); }
fn a_part(d: u32, row: u32) -> subgroup_matrix_left<f16, 16, 16> {
  let halves = bufferView<array<f16, HALVES>>(&tile, 0u);
  return subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, A_MAJOR>(halves, select(d * PITCH_A + row, row * PITCH_A + d, A_FAST), PITCH_A);
}
fn b_part(d: u32, col: u32) -> subgroup_matrix_right<f16, 16, 16> {
  let halves = bufferView<array<f16, HALVES>>(&tile, 0u);
  return subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, B_MAJOR>(halves, START_B + select(d * PITCH_B + col, col * PITCH_B + d, B_FAST), PITCH_B);
}
// Sixteen rows of each subgroup, which lie in the tile's memory.
fn store_rows(first_row: u32, first_col: u32, batch: u32, split: u32, lid: u32) {
  let floats = bufferView<array<f32, HALVES / 2u>>(&tile, 0u);
  for (var e = lid % 32u; e < 256u * SN; e += 32u) {
    let row = first_row + e / (16u * SN);
    let col = first_col + e % (16u * SN);
    if (row < p.rows && col < p.cols) {
      put(split, y_row(batch, row) + y_col(col), bias_row(batch, row) + bias_col(col), floats[lid / 32u * (256u * SN) + e]);
    }
  }
}
@compute @workgroup_size(THREADS) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let vectors = bufferView<array<vec4<u32>, HALVES / 8u>>(&tile, 0u);
  let floats = bufferView<array<f32, HALVES / 2u>>(&tile, 0u);
  let g = group_index(wid, nwg);
  let col_tiles = (p.cols + BC - 1u) / BC;
  let row_tiles = (p.rows + BR - 1u) / BR;
  let part = g / (col_tiles * row_tiles);
  let batch = part % p.batches;
  let split = part / p.batches;
  if (split >= p.splits) { return; }
  let first_col = g % col_tiles * BC;
  let first_row = g / col_tiles % row_tiles * BR;
  let subgroup = lid / 32u;
  let own_row = subgroup / WN * (16u * SM);
  let own_col = subgroup % WN * (16u * SN);
  var at_a: array<i32, NA>;
  var at_b: array<i32, NB>;
  for (var n = 0u; n < NA; n++) {
    let i = lid + n * THREADS;
    let row = first_row + select(i % (LINE_A / 8u) * 8u, i / (LINE_A / 8u), A_FAST);
    at_a[n] = a_row(batch, min(row, select((p.rows - 1u) / 8u * 8u, p.rows - 1u, A_FAST)));
  }
  for (var n = 0u; n < NB; n++) {
    let i = lid + n * THREADS;
    let col = first_col + select(i % (LINE_B / 8u) * 8u, i / (LINE_B / 8u), B_FAST);
    at_b[n] = b_row(batch, min(col, select((p.cols - 1u) / 8u * 8u, p.cols - 1u, B_FAST)));
  }
  SUMS
  let end = min(p.outer, (split + 1u) * p.chunk);
  let start = min(split * p.chunk, end);
  var next_a: array<vec4<u32>, NA>;
  var next_b: array<vec4<u32>, NB>;
  for (var k = start; k < end + DEPTH; k += DEPTH) {
    if (k > start) {
      for (var n = 0u; n < NA; n++) { let i = lid + n * THREADS; vectors[i / (LINE_A / 8u) * (PITCH_A / 8u) + i % (LINE_A / 8u)] = next_a[n]; }
      for (var n = 0u; n < NB; n++) { let i = lid + n * THREADS; vectors[START_B / 8u + i / (LINE_B / 8u) * (PITCH_B / 8u) + i % (LINE_B / 8u)] = next_b[n]; }
      workgroupBarrier();
    }
    if (k + DEPTH <= end) {  // without conditions the loads are under way together
      for (var n = 0u; n < NA; n++) { next_a[n] = a[u32(at_a[n] + a_step(a_place(k, n, lid), 0u, 0u)) / 8u]; }
      for (var n = 0u; n < NB; n++) { next_b[n] = b[u32(at_b[n] + b_step(b_place(k, n, lid), 0u, 0u)) / 8u]; }
    } else {
      for (var n = 0u; n < NA; n++) {
        let q = a_place(k, n, lid);
        next_a[n] = vec4<u32>();
        if (q < end) { next_a[n] = head(a[u32(at_a[n] + a_step(q, 0u, 0u)) / 8u], select(8u, end - q, A_FAST)); }
      }
      for (var n = 0u; n < NB; n++) {
        let q = b_place(k, n, lid);
        next_b[n] = vec4<u32>();
        if (q < end) { next_b[n] = head(b[u32(at_b[n] + b_step(q, 0u, 0u)) / 8u], select(8u, end - q, B_FAST)); }
      }
    }
    if (k == start) { continue; }
    MULTIPLY
    workgroupBarrier();
  }
  STORE
}
