// y[i] = x[i] * scale where the i-th random number is at least p.rate, else 0. A thread per four elements, 64 per group.
struct Params { count: u32, offset: u32, seed_low: u32, seed_high: u32, offset_low: u32, offset_high: u32, rate: f32, scale: f32 }
@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let block = group_index(wid, nwg) * 64u + lid;
  if (block * 4u >= p.count) { return; }
  let w = words_at(block);
  for (var k = 0u; k < 4u; k++) {
    let i = block * 4u + k;
    if (i < p.count) { y[i] = select(T(0.0), T(f32(x[p.offset + i]) * p.scale), unit(w[k]) >= p.rate); }
  }
}
