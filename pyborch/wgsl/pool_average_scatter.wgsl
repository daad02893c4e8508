// The gradient of average pooling, gathered: x[i] = sum of u / divisor over the windows that hold i. Grid: a thread per element of x,
// 64 per group. Prepended: pool.wgsl; fn divisor(rows: Span, cols: Span) -> ACC.
@group(0) @binding(0) var<storage, read> u: array<T>;
@group(0) @binding(1) var<storage, read_write> x: array<T>;
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let i = group_index(wid, nwg) * 64u + lid;
  if (i >= p.count) { return; }
  let row = i32(i) / p.w % p.h;
  let col = i32(i) % p.w;
  let rows = covers_y(row);
  let cols = covers_x(col);
  let base = p.u_offset + i / u32(p.h * p.w) * u32(p.oh * p.ow);
  var total = ACC();
  for (var r = rows.x; r <= rows.y; r++) {
    let height = span_y(r);
    for (var c = cols.x; c <= cols.y; c++) {
      let width = span_x(c);
      total += ACC(u[base + u32(r * p.ow + c)]) / divisor(height, width);
    }
  }
  x[i] = T(total);
}
