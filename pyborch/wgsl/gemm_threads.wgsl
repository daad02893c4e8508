// Matrix multiply without workgroup memory: a thread computes ROWS (1, 4 or 8) rows of 4 columns in registers.
// The 4 columns lie 4 apart, so that 4 neighbouring threads read neighbouring elements (a software adapter's SIMD lanes).
// Prepended (ops/gemm.py): alias ELEMENT of the sides, ACC of sums, ELEMENT4, ACC4; const ROWS, K1, K2; struct Params; fn mad(a, b, c), mad4(a, b4, c4); per side, a (rows) and b (columns),
// with A_AT and B_AT as its address type (i32, or vec3 of address, y and x where borders are tested):
//   a_row(batch, row) -> A_AT where a row starts; a_step(k0, k1, k2) -> A_AT what a step along the sum adds; a_load(at: A_AT) -> ELEMENT
// and for the result y_row(batch, row), y_col(col), bias_row, bias_col -> i32, put(split, at, bias_at, value).
// The sum runs over k0 < outer / K1, k1 < K1, k2 < K2; the outer pairs (k0, k1) are cut into `splits` chunks of `chunk`. With several splits
// put() keeps partial sums, which a reduction adds in order, so that results do not depend on scheduling.
// Grid: threads = splits * batches * row_tiles * col_tiles, 64 per group; col_tiles counts 4 for every 16 columns.
// Best on a software adapter, and on hardware for single rows (depthwise convolution). Limits: indices below 2^31.
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let i = group_index(wid, nwg) * 64u + lid;
  let col_tiles = (p.cols + 15u) / 16u * 4u;
  let row_tiles = (p.rows + ROWS - 1u) / ROWS;
  let col_tile = i % col_tiles;
  let rest = i / col_tiles;
  let row = rest % row_tiles * ROWS;
  let part = rest / row_tiles;
  let batch = part % p.batches;
  let split = part / p.batches;
  if (split >= p.splits) { return; }
  let col = col_tile / 4u * 16u + col_tile % 4u;
  let last_col = p.cols - 1u;
  let last_row = p.rows - 1u;
  let b0 = b_row(batch, min(col, last_col));
  let b1 = b_row(batch, min(col + 4u, last_col));
  let b2 = b_row(batch, min(col + 8u, last_col));
  let b3 = b_row(batch, min(col + 12u, last_col));
  let a0 = a_row(batch, row);
  let a1 = a_row(batch, min(row + 1u, last_row));
  let a2 = a_row(batch, min(row + 2u, last_row));
  let a3 = a_row(batch, min(row + 3u, last_row));
  let a4 = a_row(batch, min(row + 4u, last_row));
  let a5 = a_row(batch, min(row + 5u, last_row));
  let a6 = a_row(batch, min(row + 6u, last_row));
  let a7 = a_row(batch, min(row + 7u, last_row));
  var c0 = ACC4();
  var c1 = ACC4();
  var c2 = ACC4();
  var c3 = ACC4();
  var c4 = ACC4();
  var c5 = ACC4();
  var c6 = ACC4();
  var c7 = ACC4();
  let first = split * p.chunk;
  let last = min(p.outer, first + p.chunk);
  if (K1 * K2 == 1u) {
    for (var o = first; o < last; o++) {
      let s = a_step(o, 0u, 0u);
      let t = b_step(o, 0u, 0u);
      let b = ELEMENT4(b_load(b0 + t), b_load(b1 + t), b_load(b2 + t), b_load(b3 + t));
      c0 = mad4(a_load(a0 + s), b, c0);
      if (ROWS >= 4u) {
        c1 = mad4(a_load(a1 + s), b, c1);
        c2 = mad4(a_load(a2 + s), b, c2);
        c3 = mad4(a_load(a3 + s), b, c3);
      }
      if (ROWS == 8u) {
        c4 = mad4(a_load(a4 + s), b, c4);
        c5 = mad4(a_load(a5 + s), b, c5);
        c6 = mad4(a_load(a6 + s), b, c6);
        c7 = mad4(a_load(a7 + s), b, c7);
      }
    }
  } else {
    for (var o = first; o < last; o++) {
      let k0 = o / K1;
      let k1 = o % K1;
      for (var k2 = 0u; k2 < K2; k2++) {
        let s = a_step(k0, k1, k2);
        let t = b_step(k0, k1, k2);
        let b = ELEMENT4(b_load(b0 + t), b_load(b1 + t), b_load(b2 + t), b_load(b3 + t));
        c0 = mad4(a_load(a0 + s), b, c0);
        if (ROWS >= 4u) {
          c1 = mad4(a_load(a1 + s), b, c1);
          c2 = mad4(a_load(a2 + s), b, c2);
          c3 = mad4(a_load(a3 + s), b, c3);
        }
        if (ROWS == 8u) {
          c4 = mad4(a_load(a4 + s), b, c4);
          c5 = mad4(a_load(a5 + s), b, c5);
          c6 = mad4(a_load(a6 + s), b, c6);
          c7 = mad4(a_load(a7 + s), b, c7);
        }
      }
    }
  }
  let at = vec4<i32>(y_col(col), y_col(col + 4u), y_col(col + 8u), y_col(col + 12u));
  let bias_at = vec4<i32>(bias_col(col), bias_col(col + 4u), bias_col(col + 8u), bias_col(col + 12u));
  put_row(part, row, col, at, bias_at, c0);
  if (ROWS >= 4u) {
    put_row(part, row + 1u, col, at, bias_at, c1);
    put_row(part, row + 2u, col, at, bias_at, c2);
    put_row(part, row + 3u, col, at, bias_at, c3);
  }
  if (ROWS == 8u) {
    put_row(part, row + 4u, col, at, bias_at, c4);
    put_row(part, row + 5u, col, at, bias_at, c5);
    put_row(part, row + 6u, col, at, bias_at, c6);
    put_row(part, row + 7u, col, at, bias_at, c7);
  }
}
fn put_row(part: u32, row: u32, col: u32, at: vec4<i32>, bias_at: vec4<i32>, c: ACC4) {
  if (row >= p.rows) { return; }
  let start = y_row(part % p.batches, row);
  let bias_start = bias_row(part % p.batches, row);
  if (col < p.cols) { put(part / p.batches, start + at.x, bias_start + bias_at.x, c.x); }
  if (col + 4u < p.cols) { put(part / p.batches, start + at.y, bias_start + bias_at.y, c.y); }
  if (col + 8u < p.cols) { put(part / p.batches, start + at.z, bias_start + bias_at.z, c.z); }
  if (col + 12u < p.cols) { put(part / p.batches, start + at.w, bias_start + bias_at.w, c.w); }
}
