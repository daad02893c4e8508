// Running results along rows of n elements `inner` apart: a = combine(a, x), y = a; where INDEXED also the position that a came from.
// A thread per row, 64 per group. Prepended: fn first(v: V) -> V, fn combine(a: V, v: V) -> V, fn replaces(a: V, v: V) -> bool.
struct Params { rows: u32, n: u32, inner: u32, offset: u32 }
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let row = group_index(wid, nwg) * 64u + lid;
  if (row >= p.rows) { return; }
  let base = (row / p.inner) * p.n * p.inner + row % p.inner;
  var a = V(x[p.offset + base]);
  var from_index = 0u;
  for (var k = 0u; k < p.n; k++) {
    let at = base + k * p.inner;
    if (k > 0u) {
      let v = V(x[p.offset + at]);
      if (INDEXED) { if (replaces(a, v)) { a = v; from_index = k; } } else { a = combine(a, v); }
    }
    y[at] = T(a);
    note(at, from_index);
  }
}
