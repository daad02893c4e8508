// Numbers of blocks.wgsl as floats, a thread each. Prepended: alias T; struct Params { count: u32 }; bindings w, y.
@compute @workgroup_size(256) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let i = group_index(wid, nwg) * 256u + lid;
  if (i < p.count) { y[i] = T(number_at(i)); }
}
