// The entry of reduce.wgsl for adjacent outputs: a group has 32 of them, 8 lanes each, so that neighbouring threads read neighbours in memory.
var<workgroup> tree: array<A, 256>;
@compute @workgroup_size(256) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let g = group_index(wid, nwg);
  let tiles = (p.outputs + 31u) / 32u;
  let strip = g / tiles;
  if (strip >= p.strips) { return; }
  let o = g % tiles * 32u + lid % 32u;
  if (o < p.outputs) { tree[lid] = part(o, strip, lid / 32u); }
  for (var half = 128u; half >= 32u; half >>= 1u) {
    workgroupBarrier();
    if (lid < half) { tree[lid] = merge(tree[lid], tree[lid + half]); }
  }
  if (lid < 32u && o < p.outputs) { store(o * p.strips + strip, tree[lid]); }
}
