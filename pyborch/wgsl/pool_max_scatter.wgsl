// The gradient of max pooling, gathered: x[i] = sum of u over the windows whose largest element is i. `at` are their indices.
// Grid: a thread per element of x, 64 per group; order of additions is fixed. Prepended: pool.wgsl.
@group(0) @binding(0) var<storage, read> u: array<T>;
@group(0) @binding(1) var<storage, read> at: array<i32>;
@group(0) @binding(2) var<storage, read_write> x: array<T>;
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let i = group_index(wid, nwg) * 64u + lid;
  if (i >= p.count) { return; }
  let here = i32(i) % (p.h * p.w);
  let rows = covers_y(here / p.w);
  let cols = covers_x(here % p.w);
  let base = i / u32(p.h * p.w) * u32(p.oh * p.ow);
  var total = ACC();
  for (var r = rows.x; r <= rows.y; r++) {
    for (var c = cols.x; c <= cols.y; c++) {
      let o = base + u32(r * p.ow + c);
      if (at[p.x_offset + o] == here) { total += ACC(u[p.u_offset + o]); }
    }
  }
  x[i] = T(total);
}
