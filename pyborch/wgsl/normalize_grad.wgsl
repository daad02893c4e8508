// The gradient of normalize.wgsl: scale * (g - mean(g) (where CENTER) - y * mean(g * y)).
struct Params { rows: u32, n: u32, g_offset: u32, y_offset: u32 }
@group(0) @binding(0) var<storage, read> g: array<G>;
@group(0) @binding(1) var<storage, read> y: array<T>;
@group(0) @binding(2) var<storage, read> scale: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<G>;
fn row_work(row: u32, lane: u32) {
  let base = row * p.n;
  var s = 0.0;
  var q = 0.0;
  for (var k = lane; k < p.n; k += LANES) {
    let gv = f32(g[p.g_offset + base + k]);
    s += gv;
    q += gv * f32(y[p.y_offset + base + k]);
  }
  q = all_sum(q) / f32(p.n);
  if (CENTER) { s = all_sum(s) / f32(p.n); } else { s = 0.0; }
  let r = scale[row];
  for (var k = lane; k < p.n; k += LANES) {
    out[base + k] = G(r * (f32(g[p.g_offset + base + k]) - s - f32(y[p.y_offset + base + k]) * q));
  }
}
