// The first half of a pass of a radix sort: how many of a tile's 1,024 keys have each of 16 digits (four bits from p.shift on).
// counts[(row * 16 + digit) * tiles + tile]. Prepended: key_at(row, k); array counts. Grid: rows * tiles.
var<workgroup> found: array<atomic<u32>, 16>;
@compute @workgroup_size(256) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let group = group_index(wid, nwg);
  if (group >= p.rows * p.tiles) { return; }
  let row = group / p.tiles;
  let tile = group % p.tiles;
  if (lid < 16u) { atomicStore(&found[lid], 0u); }
  workgroupBarrier();
  for (var e = 0u; e < 4u; e++) {
    let k = tile * 1024u + e * 256u + lid;
    if (k < p.n) { atomicAdd(&found[(key_at(row, k) >> p.shift) & 15u], 1u); }
  }
  workgroupBarrier();
  if (lid < 16u) { counts[(row * 16u + lid) * p.tiles + tile] = i32(atomicLoad(&found[lid])); }
}
