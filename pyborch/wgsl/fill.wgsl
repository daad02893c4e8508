// y[offset + i] = value for i < count; value comes as the bits of a stored element. A thread per element, 256 per group.
struct Params { count: u32, offset: u32, value: V }
@group(0) @binding(0) var<storage, read_write> y: array<T>;
@compute @workgroup_size(256) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let i = group_index(wid, nwg) * 256u + lid;
  if (i < p.count) { y[p.offset + i] = T(p.value); }
}
