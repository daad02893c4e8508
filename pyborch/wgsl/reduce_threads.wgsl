// The entry of reduce.wgsl with a thread per (output, strip), 64 per group.
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let i = group_index(wid, nwg) * 64u + lid;
  if (i >= p.outputs * p.strips) { return; }
  store(i, part(i / p.strips, i % p.strips, 0u));
}
