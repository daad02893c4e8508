// Max pooling: y the largest of each window (NaN wins), at its index in the plane. Grid: a thread per window, 64 per group.
// Prepended: pool.wgsl; fn missing(x: ACC) -> bool (NaN).
@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@group(0) @binding(2) var<storage, read_write> at: array<i32>;
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let i = group_index(wid, nwg) * 64u + lid;
  if (i >= p.count) { return; }
  let rows = span_y(i32(i) / p.ow % p.oh);
  let cols = span_x(i32(i) % p.ow);
  let base = p.x_offset + i / u32(p.oh * p.ow) * u32(p.h * p.w);
  var found = rows.first * p.w + cols.first;
  var best = ACC(x[base + u32(found)]);
  for (var r = 0; r < rows.count; r++) {
    let row = (rows.first + r * rows.step) * p.w + cols.first;
    for (var c = 0; c < cols.count; c++) {
      let here = row + c * cols.step;
      let v = ACC(x[base + u32(here)]);
      if (v > best || missing(v)) { best = v; found = here; }
    }
  }
  y[i] = T(best);
  at[i] = found;
}
