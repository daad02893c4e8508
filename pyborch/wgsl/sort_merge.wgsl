// Joins each pair of sorted runs of `run` elements into one, in rows of n elements `inner` apart: an element's place is its place in its own run
// and the number of those of the other run before it, found by halving. Of equal elements those of the first run come first.
// x, from_index: sorted runs and where they came from; y, index: the same of the joined ones. A thread per element, 64 per group.
// Prepended: alias T, V; fn before(a: V, b: V) -> bool.
struct Params { count: u32, n: u32, inner: u32, run: u32 }
@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read> from_index: array<i32>;
@group(0) @binding(2) var<storage, read_write> y: array<T>;
@group(0) @binding(3) var<storage, read_write> index: array<i32>;
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let at = group_index(wid, nwg) * 64u + lid;
  if (at >= p.count) { return; }
  let k = (at / p.inner) % p.n;
  let base = at - k * p.inner;
  let own = k / p.run * p.run;
  let pair = k / (2u * p.run) * (2u * p.run);
  let is_first = own == pair;
  let other = min(select(pair, pair + p.run, is_first), p.n);
  let mine = V(x[at]);
  var low = other;
  var high = min(other + p.run, p.n);
  while (low < high) {
    let middle = (low + high) / 2u;
    let theirs = V(x[base + middle * p.inner]);
    var earlier = !before(mine, theirs);
    if (is_first) { earlier = before(theirs, mine); }
    if (earlier) { low = middle + 1u; } else { high = middle; }
  }
  let place = base + (pair + k - own + low - other) * p.inner;
  y[place] = x[at];
  index[place] = from_index[at];
}
