// One step of a recurrent cell, or its gradient: body(at) computes element `column` of row `row`; the op gives it and its buffers.
// x and h hold GATES values for each of `size` columns, gate after gate; s is the state. A thread per element of the state, 64 per group.
struct Params { count: u32, size: u32, x_offset: u32, h_offset: u32, s_offset: u32, a_offset: u32, b_offset: u32 }
fn logistic(x: f32) -> f32 { return 1.0 / (1.0 + exp(-x)); }
fn gate(row: u32, column: u32, k: u32) -> u32 { return row * GATES * p.size + k * p.size + column; }
fn both(at: u32) -> f32 { return f32(x[p.x_offset + at]) + f32(h[p.h_offset + at]); }
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let i = group_index(wid, nwg) * 64u + lid;
  if (i < p.count) { body(i, i / p.size, i % p.size); }
}
