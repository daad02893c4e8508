// Cholesky factors of (n, n) matrices in place of their lower triangles, columns first..last: A = L L.T. The rest is not read, and becomes zero.
// info: the order of the first leading minor that is not positive, else 0; a matrix that has one is left as it then is.
// A workgroup of LANES threads per matrix.
struct Params { batch: u32, n: u32, first: u32, last: u32 }
@group(0) @binding(0) var<storage, read_write> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> info: array<i32>;
var<workgroup> failed: i32;
@compute @workgroup_size(LANES) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let matrix = group_index(wid, nwg);
  if (matrix >= p.batch) { return; }
  let base = matrix * p.n * p.n;
  if (lid == 0u) {
    if (p.first == 0u) { info[matrix] = 0; }
    failed = info[matrix];
  }
  workgroupBarrier();
  for (var j = p.first; j < p.last; j++) {
    let d = a[base + j * p.n + j];
    let fine = failed == 0 && d > 0.0 && !is_nan(d);
    workgroupBarrier();
    if (lid == 0u) {
      if (failed == 0 && !fine) { failed = i32(j + 1u); info[matrix] = failed; }
      if (fine) { a[base + j * p.n + j] = sqrt(d); }
    }
    if (fine) {
      for (var i = j + 1u + lid; i < p.n; i += LANES) { a[base + i * p.n + j] = a[base + i * p.n + j] / sqrt(d); }
    }
    storageBarrier();
    workgroupBarrier();
    if (fine) {
      let width = p.n - j - 1u;
      for (var t = lid; t < width * width; t += LANES) {
        let i = j + 1u + t / width;
        let c = j + 1u + t % width;
        if (c <= i) { a[base + i * p.n + c] -= a[base + i * p.n + j] * a[base + c * p.n + j]; }
      }
    }
    storageBarrier();
  }
  if (p.last == p.n) {
    for (var t = lid; t < p.n * p.n; t += LANES) { if (t % p.n > t / p.n) { a[base + t] = 0.0; } }
  }
}
