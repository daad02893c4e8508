// Copies x to y where what is adjacent in x is not in y: by tiles of 32 x 32, so that both are walked along memory.
// Element (z, u, v) lies at z * x_z + u + v * x_v in x, and at z * y_z + u * y_u + v in y. Prepended: alias T.
// Grid: layers * ceil(us / 32) * ceil(vs / 32), 256 threads each. One column more keeps a tile's columns in different banks.
struct Params { us: u32, vs: u32, count: u32, x_offset: u32, x_z: u32, x_v: u32, y_offset: u32, y_z: u32, y_u: u32 }
@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
var<workgroup> tile: array<array<T, 33>, 32>;
@compute @workgroup_size(256) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let g = group_index(wid, nwg);
  if (g >= p.count) { return; }
  let across = (p.us + 31u) / 32u;
  let down = (p.vs + 31u) / 32u;
  let u0 = g % across * 32u;
  let v0 = g / across % down * 32u;
  let z = g / across / down;
  let near = lid % 32u;
  for (var far = lid / 32u; far < 32u; far += 8u) {
    if (u0 + near < p.us && v0 + far < p.vs) { tile[far][near] = x[p.x_offset + z * p.x_z + u0 + near + (v0 + far) * p.x_v]; }
  }
  workgroupBarrier();
  for (var far = lid / 32u; far < 32u; far += 8u) {
    if (u0 + far < p.us && v0 + near < p.vs) { y[p.y_offset + z * p.y_z + (u0 + far) * p.y_u + v0 + near] = tile[near][far]; }
  }
}
