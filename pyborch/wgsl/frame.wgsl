// Images in a larger or smaller frame: y[plane, i, j] = x[plane, i - top, j - left], zero outside. Both row-major; x from `offset`.
// Prepended: alias T; const HEIGHT, WIDTH, TOP, LEFT, H, W (of x). Grid: a thread per element of y, 64 per group.
struct Params { count: u32, offset: u32 }
@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let n = group_index(wid, nwg) * 64u + lid;
  if (n >= p.count) { return; }
  let i = n / WIDTH % HEIGHT - TOP;  // wraps below zero, so one comparison tests both borders
  let j = n % WIDTH - LEFT;
  var value = T();
  if (i < H && j < W) { value = x[p.offset + (n / (WIDTH * HEIGHT) * H + i) * W + j]; }
  y[n] = value;
}
