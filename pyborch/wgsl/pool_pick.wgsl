// y[o] = x[at[o]] within each plane: what max pooling chose, of another tensor. Grid: a thread per window, 64 per group.
// Prepended: pool.wgsl.
@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read> at: array<i32>;
@group(0) @binding(2) var<storage, read_write> y: array<T>;
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let i = group_index(wid, nwg) * 64u + lid;
  if (i >= p.count) { return; }
  y[i] = x[p.u_offset + i / u32(p.oh * p.ow) * u32(p.h * p.w) + u32(at[p.x_offset + i])];
}
