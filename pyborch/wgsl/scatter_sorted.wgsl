// Writes by index, the indices having been sorted: source elements that meet the same row of y lie side by side in `order`, in the order they had, and
// a thread joins those of a chunk of 32 for one column. Rows that end where their chunk does, or before, are written at once; PHASE 1 leaves what goes
// over a chunk's border (heads: begun before, tails: begun in it), which PHASE 2 joins, a thread at each place where a row begins.
// Rows of y that no index names (keys of p.n and more) are left as they are. Results are the same each time: no atomics.
// Prepended: const PHASE; alias T, V; fn combine(old: V, new_value: V) -> V; arrays keys, order, source, heads, tails, y.
struct Params { columns: u32, inner: u32, n: u32, m: u32, chunks: u32, source_offset: u32 }
const CHUNK = 32u;
fn put(o: u32, key: u32, i: u32, value: V) {
  let at = (o * p.n + key) * p.inner + i;
  y[at] = T(combine(V(y[at]), value));
}
fn key_at(j: u32) -> u32 { return bitcast<u32>(keys[j]); }
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let thread = group_index(wid, nwg) * 64u + lid;
  if (thread >= p.columns * p.chunks) { return; }
  let i = thread % p.inner;
  let chunk = thread / p.inner % p.chunks;
  let o = thread / p.inner / p.chunks;
  let first = chunk * CHUNK;
  let end = min(p.m, first + CHUNK);
  var key = key_at(first);
  if (PHASE == 1u) {
    var begun_before = first > 0u && key_at(max(first, 1u) - 1u) == key;
    var sum = V(0);
    var some = false;
    for (var j = first; j < end; j++) {
      let k = key_at(j);
      if (k >= p.n) { break; }
      if (k != key) {
        if (begun_before) { heads[thread] = sum; } else { put(o, key, i, sum); }
        key = k;
        begun_before = false;
        some = false;
      }
      let value = V(source[p.source_offset + (o * p.m + u32(order[j])) * p.inner + i]);
      if (some) { sum = combine(sum, value); } else { sum = value; }
      some = true;
    }
    if (!some) { return; }
    let goes_on = end < p.m && key_at(min(end, p.m - 1u)) == key;
    if (begun_before) { heads[thread] = sum; } else if (goes_on) { tails[thread] = sum; } else { put(o, key, i, sum); }
    return;
  }
  // PHASE 2
  key = key_at(end - 1u);
  if (end == p.m || key >= p.n || key_at(min(end, p.m - 1u)) != key) { return; }
  if (first > 0u && key_at(first) == key && key_at(max(first, 1u) - 1u) == key) { return; }
  var sum = tails[thread];
  var at = thread + p.inner;
  for (var c = end; c < p.m && key_at(c) == key; c += CHUNK) {
    sum = combine(sum, heads[at]);
    at += p.inner;
    if (key_at(min(p.m, c + CHUNK) - 1u) != key) { break; }
  }
  put(o, key, i, sum);
}
