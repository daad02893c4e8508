// For j in order: y[o, index[o, j, i], i] = combine(y[...], source[o, j, i]); y (outer, n, inner) row-major holds the start values.
// A thread per column (o, i), 64 per group: columns are independent and each runs in order, so results never vary.
// Prepended: fn combine(old: V, new_value: V) -> V. Indices out of range are skipped; negative ones count from the end where WRAP.
struct Params { columns: u32, n: u32, m: u32, inner: u32, so: u32, sj: u32, si: u32, s_offset: u32, i_offset: u32 }
@group(0) @binding(0) var<storage, read> source: array<T>;
@group(0) @binding(1) var<storage, read> index: array<i32>;
@group(0) @binding(2) var<storage, read_write> y: array<T>;
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let column = group_index(wid, nwg) * 64u + lid;
  if (column >= p.columns) { return; }
  let i = column % p.inner;
  let o = column / p.inner;
  for (var j = 0u; j < p.m; j++) {
    var k = index[p.i_offset + o * p.so + j * p.sj + i * p.si];
    if (WRAP && k < 0) { k += i32(p.n); }
    if (k >= 0 && u32(k) < p.n) {
      let at = (o * p.n + u32(k)) * p.inner + i;
      y[at] = T(combine(V(y[at]), V(source[p.s_offset + (o * p.m + j) * p.inner + i])));
    }
  }
}
