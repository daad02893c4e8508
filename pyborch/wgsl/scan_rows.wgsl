// Running results along rows of n neighbours, a workgroup for each of a row's `parts` of `size` elements: it walks tiles of 1,024, of which a thread
// has four, joins the threads' own results by doubling steps, and carries the tile's result on. PHASE as in scan.wgsl.
// Prepended as there: const INDEXED, PHASE; alias T, V; combine, replaces, note, total_of, place_of.
struct Params { rows: u32, n: u32, inner: u32, offset: u32, parts: u32, size: u32 }
struct Running { v: V, from_index: u32, some: u32 }
const THREADS = 256u;
const EACH = 4u;
var<workgroup> sides: array<array<Running, THREADS>, 2>;
fn joined(a: Running, b: Running) -> Running {
  if (a.some == 0u) { return b; }
  if (b.some == 0u) { return a; }
  if (INDEXED) { if (replaces(a.v, b.v)) { return b; } return a; }
  return Running(combine(a.v, b.v), 0u, 1u);
}
// The result of all threads before this one, and (in `all`) of all of them.
fn before(lid: u32, mine: Running, all: ptr<function, Running>) -> Running {
  sides[0][lid] = mine;
  workgroupBarrier();
  var at = 0u;
  for (var step = 1u; step < THREADS; step *= 2u) {
    var own = sides[at][lid];
    if (lid >= step) { own = joined(sides[at][lid - step], own); }
    sides[1u - at][lid] = own;
    at = 1u - at;
    workgroupBarrier();
  }
  *all = sides[at][THREADS - 1u];
  var found = Running(mine.v, 0u, 0u);
  if (lid > 0u) { found = sides[at][lid - 1u]; }
  workgroupBarrier();
  return found;
}
@compute @workgroup_size(THREADS) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let group = group_index(wid, nwg);
  if (group >= p.rows * p.parts) { return; }
  let row = group / p.parts;
  let part = group % p.parts;
  let base = row * p.n;
  var carried = Running(V(x[p.offset]), 0u, 0u);
  if (PHASE == 2u && part > 0u) {
    let each = (part + THREADS - 1u) / THREADS;
    var mine = carried;
    for (var i = lid * each; i < min(part, (lid + 1u) * each); i++) {
      mine = joined(mine, Running(total_of(row * p.parts + i), place_of(row * p.parts + i), 1u));
    }
    var all = mine;
    let unused = before(lid, mine, &all);
    carried = all;
  }
  let end = min(p.n, (part + 1u) * p.size);
  for (var tile = part * p.size; tile < end; tile += THREADS * EACH) {
    var own: array<Running, EACH>;
    let first = tile + lid * EACH;
    for (var e = 0u; e < EACH; e++) {
      let k = first + e;
      own[e] = Running(V(x[p.offset + base + min(k, end - 1u)]), k, select(0u, 1u, k < end));
      if (e > 0u) { own[e] = joined(own[e - 1u], own[e]); }
    }
    var all = carried;
    let earlier = joined(carried, before(lid, own[EACH - 1u], &all));
    if (PHASE != 1u) {
      for (var e = 0u; e < EACH; e++) {
        if (first + e < end) {
          let found = joined(earlier, own[e]);
          y[base + first + e] = T(found.v);
          note(base + first + e, found.from_index);
        }
      }
    }
    carried = joined(carried, all);
  }
  if (PHASE == 1u && lid == 0u) {
    y[group] = T(carried.v);
    note(group, carried.from_index);
  }
}
