// Running results along rows of n elements `inner` apart: a = combine(a, x), y = a; where INDEXED also the position that a came from.
// A thread per part of `size` elements, 64 per group. PHASE 0: a row is one part. Else a row has `parts` of them: PHASE 1 gives each part's own
// result, with which PHASE 2 begins the next ones.
// Prepended: const INDEXED, PHASE; alias T, V; fn combine(a: V, v: V) -> V, fn replaces(a: V, v: V) -> bool; fn note(at, k) keeps a position,
// fn total_of(i) -> V and fn place_of(i) -> u32 are PHASE 1's results.
struct Params { rows: u32, n: u32, inner: u32, offset: u32, parts: u32, size: u32 }
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let thread = group_index(wid, nwg) * 64u + lid;
  if (thread >= p.rows * p.parts) { return; }
  let row = thread / p.parts;
  let part = thread % p.parts;
  let base = (row / p.inner) * p.n * p.inner + row % p.inner;
  var k = part * p.size;
  let end = min(p.n, k + p.size);
  var a = V(x[p.offset + base + k * p.inner]);
  var from_index = k;
  if (PHASE == 2u && part > 0u) {
    a = total_of(row * p.parts);
    from_index = place_of(row * p.parts);
    for (var i = row * p.parts + 1u; i < thread; i++) {
      let v = total_of(i);
      if (INDEXED) { if (replaces(a, v)) { a = v; from_index = place_of(i); } } else { a = combine(a, v); }
    }
  } else {
    if (PHASE != 1u) { y[base + k * p.inner] = T(a); note(base + k * p.inner, from_index); }
    k++;
  }
  for (; k < end; k++) {
    let at = base + k * p.inner;
    let v = V(x[p.offset + at]);
    if (INDEXED) { if (replaces(a, v)) { a = v; from_index = k; } } else { a = combine(a, v); }
    if (PHASE != 1u) { y[at] = T(a); note(at, from_index); }
  }
  if (PHASE == 1u) { y[thread] = T(a); note(thread, from_index); }
}
