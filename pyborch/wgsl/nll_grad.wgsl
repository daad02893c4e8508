// The gradient of nll.wgsl: -g * scale at the target class, 0 elsewhere. A thread per element of x, 256 per group.
struct Params { count: u32, classes: u32, inner: u32, g_offset: u32, t_offset: u32, s_offset: u32 }
@group(0) @binding(0) var<storage, read> g: array<T>;
@group(0) @binding(1) var<storage, read> target_class: array<i32>;
@group(0) @binding(2) var<storage, read> scale: array<T>;
@group(0) @binding(3) var<storage, read_write> out: array<T>;
@compute @workgroup_size(256) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let i = group_index(wid, nwg) * 256u + lid;
  if (i >= p.count) { return; }
  let c = (i / p.inner) % p.classes;
  let position = (i / (p.inner * p.classes)) * p.inner + i % p.inner;
  let hit = target_class[p.t_offset + position] == i32(c);
  out[i] = select(T(0.0), -g[p.g_offset + position] * scale[p.s_offset + position], hit);
}
