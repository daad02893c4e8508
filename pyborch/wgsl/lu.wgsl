// LU factors of (m, n) matrices in place, columns first..last: L below the diagonal (its own diagonal is 1), U on and above it.
// pivots: the row, from 1, that each of the k = min(m, n) rows was swapped with; info: the first zero on U's diagonal, from 1, else 0.
// A workgroup of LANES threads per matrix. PIVOT: whether rows are swapped.
struct Params { batch: u32, m: u32, n: u32, first: u32, last: u32 }
@group(0) @binding(0) var<storage, read_write> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> pivots: array<i32>;
@group(0) @binding(2) var<storage, read_write> info: array<i32>;
var<workgroup> best: array<f32, LANES>;
var<workgroup> places: array<u32, LANES>;
fn largest(base: u32, j: u32, lid: u32) -> u32 {
  var mine = -1.0;
  var place = j;
  for (var i = j + lid; i < p.m; i += LANES) {
    let v = abs(a[base + i * p.n + j]);
    if (v > mine) { mine = v; place = i; }
  }
  best[lid] = mine;
  places[lid] = place;
  workgroupBarrier();
  for (var half = LANES / 2u; half > 0u; half /= 2u) {
    if (lid < half) {
      let other = best[lid + half];
      if (other > best[lid] || (other == best[lid] && places[lid + half] < places[lid])) {
        best[lid] = other;
        places[lid] = places[lid + half];
      }
    }
    workgroupBarrier();
  }
  return places[0];
}
@compute @workgroup_size(LANES) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let matrix = group_index(wid, nwg);
  if (matrix >= p.batch) { return; }
  let base = matrix * p.m * p.n;
  if (lid == 0u && p.first == 0u) { info[matrix] = 0; }
  for (var j = p.first; j < p.last; j++) {
    var row = j;
    if (PIVOT) { row = largest(base, j, lid); }
    if (lid == 0u) { pivots[matrix * min(p.m, p.n) + j] = i32(row + 1u); }
    if (row != j) {
      for (var c = lid; c < p.n; c += LANES) {
        let held = a[base + j * p.n + c];
        a[base + j * p.n + c] = a[base + row * p.n + c];
        a[base + row * p.n + c] = held;
      }
    }
    storageBarrier();
    workgroupBarrier();
    let d = a[base + j * p.n + j];
    if (d == 0.0) {
      if (lid == 0u && info[matrix] == 0) { info[matrix] = i32(j + 1u); }
    } else {
      for (var i = j + 1u + lid; i < p.m; i += LANES) { a[base + i * p.n + j] = a[base + i * p.n + j] / d; }
    }
    storageBarrier();
    let width = p.n - j - 1u;
    for (var t = lid; t < (p.m - j - 1u) * width; t += LANES) {
      let i = j + 1u + t / width;
      let c = j + 1u + t % width;
      a[base + i * p.n + c] -= a[base + i * p.n + j] * a[base + j * p.n + c];
    }
    storageBarrier();
  }
}
