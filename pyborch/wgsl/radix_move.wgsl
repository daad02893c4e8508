// The second half of a pass of a radix sort: a tile's keys and where they came from go behind those of smaller digits and of tiles before, which
// the running sums of the counts say. A thread has four neighbours, so that equal digits keep their order.
// Prepended: key_at(row, k), id_at(row, k); arrays sums, keys_out, ids_out. Grid: rows * tiles.
const THREADS = 256u;
const WORDS = 8u;  // two digits' counts each
var<workgroup> sides: array<array<array<u32, WORDS>, THREADS>, 2>;
@compute @workgroup_size(THREADS) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let group = group_index(wid, nwg);
  if (group >= p.rows * p.tiles) { return; }
  let row = group / p.tiles;
  let tile = group % p.tiles;
  let first = tile * 1024u + lid * 4u;
  var keys: array<u32, 4>;
  var own: array<u32, WORDS>;
  for (var e = 0u; e < 4u; e++) {
    keys[e] = key_at(row, min(first + e, p.n - 1u));
    let digit = (keys[e] >> p.shift) & 15u;
    if (first + e < p.n) {
      for (var w = 0u; w < WORDS; w++) { own[w] += select(0u, 1u << (16u * (digit & 1u)), digit / 2u == w); }
    }
  }
  sides[0][lid] = own;
  workgroupBarrier();
  var at = 0u;
  for (var step = 1u; step < THREADS; step *= 2u) {
    var sum = sides[at][lid];
    if (lid >= step) {
      for (var w = 0u; w < WORDS; w++) { sum[w] += sides[at][lid - step][w]; }
    }
    sides[1u - at][lid] = sum;
    at = 1u - at;
    workgroupBarrier();
  }
  for (var e = 0u; e < 4u; e++) {
    if (first + e < p.n) {
      let digit = (keys[e] >> p.shift) & 15u;
      let half = 16u * (digit & 1u);
      var place = (sides[at][lid][digit / 2u] >> half) & 0xffffu;
      for (var l = e; l < 4u; l++) { place -= select(0u, 1u, first + l < p.n && ((keys[l] >> p.shift) & 15u) == digit); }
      let bin = (row * 16u + digit) * p.tiles + tile;
      var start = 0u;
      if (digit > 0u || tile > 0u) { start = u32(sums[bin - 1u]); }
      keys_out[row * p.n + start + place] = bitcast<i32>(keys[e]);
      ids_out[row * p.n + start + place] = i32(id_at(row, first + e));
    }
  }
}
