// Solves A X = B in place of B, A (n, n) triangular (UPPER or lower; UNIT: ones on its diagonal), B (n, columns) row-major.
// A workgroup of LANES threads per column of each B: as soon as one unknown is known, all threads take it out of the rows that are left.
struct Params { batch: u32, n: u32, columns: u32, a_offset: u32, a_batch: u32, a_row: u32, a_col: u32 }
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(LANES) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let group = group_index(wid, nwg);
  if (group >= p.batch * p.columns) { return; }
  let matrix = group / p.columns;
  let base = matrix * p.n * p.columns + group % p.columns;
  let start = p.a_offset + matrix * p.a_batch;
  for (var step = 0u; step < p.n; step++) {
    var i = step;
    if (UPPER) { i = p.n - 1u - step; }
    var known = x[base + i * p.columns];
    if (!UNIT) { known = known / a[start + i * (p.a_row + p.a_col)]; }
    storageBarrier();
    if (lid == 0u) { x[base + i * p.columns] = known; }
    for (var t = lid; t + step + 1u < p.n; t += LANES) {
      var r = i + 1u + t;
      if (UPPER) { r = t; }
      x[base + r * p.columns] -= a[start + r * p.a_row + i * p.a_col] * known;
    }
    storageBarrier();
  }
}
