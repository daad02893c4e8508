// y[i] = start + i * step, counted from the end in the second half where HALVES (linspace). A thread per element, 256 per group.
struct Params { count: u32, start: V, step: V, end: V }
@group(0) @binding(0) var<storage, read_write> y: array<T>;
@compute @workgroup_size(256) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let i = group_index(wid, nwg) * 256u + lid;
  if (i >= p.count) { return; }
  if (HALVES && i >= p.count / 2u) { y[i] = T(p.end - V(p.count - 1u - i) * p.step); } else { y[i] = T(p.start + V(i) * p.step); }
}
