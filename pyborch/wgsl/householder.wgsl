// Householder's QR of (m, n) matrices in place, columns first..last: R on and above the diagonal, below it the vectors v of the reflections
// H = 1 - tau v v.T (v's own first element is 1, and is not stored). tau: (k), k = min(m, n).
// A workgroup of 256 threads per matrix: 16 columns side by side, each by 16 threads.
struct Params { batch: u32, m: u32, n: u32, first: u32, last: u32 }
@group(0) @binding(0) var<storage, read_write> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> tau: array<f32>;
var<workgroup> parts: array<f32, 256>;
fn sum_of(mine: f32, lid: u32) -> f32 {
  workgroupBarrier();
  parts[lid] = mine;
  workgroupBarrier();
  for (var half = 128u; half > 0u; half /= 2u) {
    if (lid < half) { parts[lid] += parts[lid + half]; }
    workgroupBarrier();
  }
  return parts[0];
}
fn largest_of(mine: f32, lid: u32) -> f32 {
  workgroupBarrier();
  parts[lid] = mine;
  workgroupBarrier();
  for (var half = 128u; half > 0u; half /= 2u) {
    if (lid < half) { parts[lid] = max(parts[lid], parts[lid + half]); }
    workgroupBarrier();
  }
  return parts[0];
}
@compute @workgroup_size(256) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let matrix = group_index(wid, nwg);
  if (matrix >= p.batch) { return; }
  let base = matrix * p.m * p.n;
  for (var j = p.first; j < p.last; j++) {
    var largest = 0.0;
    for (var i = j + 1u + lid; i < p.m; i += 256u) { largest = max(largest, abs(a[base + i * p.n + j])); }
    let scale = largest_of(largest, lid);
    var squares = 0.0;
    for (var i = j + 1u + lid; i < p.m; i += 256u) {
      let v = a[base + i * p.n + j] / select(scale, 1.0, scale == 0.0);
      squares += v * v;
    }
    let tail = scale * sqrt(sum_of(squares, lid));
    let alpha = a[base + j * p.n + j];
    let high = max(abs(alpha), tail);
    let low = min(abs(alpha), tail) / select(high, 1.0, high == 0.0);
    let beta = select(-1.0, 1.0, alpha < 0.0) * high * sqrt(1.0 + low * low);
    let t = select((beta - alpha) / beta, 0.0, tail == 0.0);
    storageBarrier();
    if (tail != 0.0) {
      for (var i = j + 1u + lid; i < p.m; i += 256u) { a[base + i * p.n + j] = a[base + i * p.n + j] / (alpha - beta); }
    }
    if (lid == 0u) {
      tau[matrix * min(p.m, p.n) + j] = t;
      if (tail != 0.0) { a[base + j * p.n + j] = beta; }
    }
    storageBarrier();
    workgroupBarrier();
    for (var start = j + 1u; start < p.n; start += 16u) {
      let c = start + lid % 16u;
      var w = 0.0;
      if (c < p.n) {
        for (var i = j + lid / 16u; i < p.m; i += 16u) {
          w += select(a[base + i * p.n + j], 1.0, i == j) * a[base + i * p.n + c];
        }
      }
      workgroupBarrier();
      parts[lid] = w;
      workgroupBarrier();
      w = 0.0;
      for (var r = 0u; r < 16u; r++) { w += parts[r * 16u + lid % 16u]; }
      if (c < p.n) {
        for (var i = j + lid / 16u; i < p.m; i += 16u) {
          a[base + i * p.n + c] -= t * w * select(a[base + i * p.n + j], 1.0, i == j);
        }
      }
    }
    storageBarrier();
    workgroupBarrier();
  }
}
