// Stable sort of runs of `run` neighbours in rows of n elements by counting: an element's place is the number of those before it. NaN is the
// largest. y: sorted values, index: where they came from. A thread per element, 64 per group; `run` steps each.
// Prepended: alias T, V; fn before(a: V, b: V) -> bool.
struct Params { count: u32, n: u32, inner: u32, offset: u32, run: u32 }
@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@group(0) @binding(2) var<storage, read_write> index: array<i32>;
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let at = group_index(wid, nwg) * 64u + lid;
  if (at >= p.count) { return; }
  let i = at % p.inner;
  let k = (at / p.inner) % p.n;
  let base = (at / (p.inner * p.n)) * p.n * p.inner + i;
  let mine = V(x[p.offset + at]);
  let first = k / p.run * p.run;
  var place = first;
  for (var j = first; j < min(p.n, first + p.run); j++) {
    let other = V(x[p.offset + base + j * p.inner]);
    if (before(other, mine) || (!before(mine, other) && j < k)) { place++; }
  }
  y[base + place * p.inner] = x[p.offset + at];
  index[base + place * p.inner] = i32(k);
}
