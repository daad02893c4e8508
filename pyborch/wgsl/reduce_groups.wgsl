// The entry of reduce.wgsl with a group of 256 lanes per (output, strip) and a tree in workgroup memory.
var<workgroup> tree: array<A, 256>;
@compute @workgroup_size(256) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let i = group_index(wid, nwg);
  if (i >= p.outputs * p.strips) { return; }
  tree[lid] = part(i / p.strips, i % p.strips, lid);
  for (var half = 128u; half > 0u; half >>= 1u) {
    workgroupBarrier();
    if (lid < half) { tree[lid] = merge(tree[lid], tree[lid + half]); }
  }
  if (lid == 0u) { store(i, tree[0]); }
}
