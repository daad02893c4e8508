// y[o, j, i] = x[o, index[o, j, i], i]: x (outer, n, inner) row-major, index by strides (so, sj, si); 0 where an index is out of range.
// Negative indices count from the end where WRAP. A thread per output element, 256 per group.
struct Params { count: u32, n: u32, m: u32, inner: u32, so: u32, sj: u32, si: u32, x_offset: u32, i_offset: u32 }
@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read> index: array<i32>;
@group(0) @binding(2) var<storage, read_write> y: array<T>;
@compute @workgroup_size(256) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let at = group_index(wid, nwg) * 256u + lid;
  if (at >= p.count) { return; }
  let i = at % p.inner;
  let j = (at / p.inner) % p.m;
  let o = at / (p.inner * p.m);
  var k = index[p.i_offset + o * p.so + j * p.sj + i * p.si];
  if (WRAP && k < 0) { k += i32(p.n); }
  if (k < 0 || u32(k) >= p.n) { y[at] = T(0); return; }
  y[at] = x[p.x_offset + (o * p.n + u32(k)) * p.inner + i];
}
