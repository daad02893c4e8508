// The order of rows that swaps make of 0..m-1: swap i with pivots[i] - 1 for each of the k pivots; backwards, the order that undoes it (INVERSE).
// A thread per matrix, 64 per group.
struct Params { batch: u32, k: u32, m: u32, offset: u32 }
@group(0) @binding(0) var<storage, read> pivots: array<i32>;
@group(0) @binding(1) var<storage, read_write> order: array<i32>;
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let matrix = group_index(wid, nwg) * 64u + lid;
  if (matrix >= p.batch) { return; }
  let base = matrix * p.m;
  for (var i = 0u; i < p.m; i++) { order[base + i] = i32(i); }
  for (var step = 0u; step < p.k; step++) {
    var i = step;
    if (INVERSE) { i = p.k - 1u - step; }
    let other = u32(pivots[p.offset + matrix * p.k + i] - 1);
    if (other < p.m) {
      let held = order[base + i];
      order[base + i] = order[base + other];
      order[base + other] = held;
    }
  }
}
