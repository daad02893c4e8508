// Average pooling: y the sum of each window over its divisor. Grid: a thread per window, 64 per group.
// Prepended: pool.wgsl; fn divisor(rows: Span, cols: Span) -> ACC.
@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let i = group_index(wid, nwg) * 64u + lid;
  if (i >= p.count) { return; }
  let rows = span_y(i32(i) / p.ow % p.oh);
  let cols = span_x(i32(i) % p.ow);
  let base = p.x_offset + i / u32(p.oh * p.ow) * u32(p.h * p.w);
  var total = ACC();
  for (var r = 0; r < rows.count; r++) {
    let row = base + u32((rows.first + r) * p.w + cols.first);
    for (var c = 0; c < cols.count; c++) { total += ACC(x[row + u32(c)]); }
  }
  y[i] = T(total / divisor(rows, cols));
}
