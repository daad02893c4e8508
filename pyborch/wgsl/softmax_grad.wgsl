// The gradient of softmax or log_softmax (LOG) from g and the result y, rows as in softmax.wgsl.
struct Params { rows: u32, n: u32, inner: u32, g_offset: u32, y_offset: u32 }
@group(0) @binding(0) var<storage, read> g: array<G>;
@group(0) @binding(1) var<storage, read> y: array<T>;
@group(0) @binding(2) var<storage, read_write> out: array<G>;
fn row_work(row: u32, lane: u32) {
  let base = (row / p.inner) * p.n * p.inner + row % p.inner;
  var s = 0.0;
  for (var k = lane; k < p.n; k += LANES) {
    let at = base + k * p.inner;
    if (LOG) { s += f32(g[p.g_offset + at]); } else { s += f32(g[p.g_offset + at]) * f32(y[p.y_offset + at]); }
  }
  s = all_sum(s);
  for (var k = lane; k < p.n; k += LANES) {
    let at = base + k * p.inner;
    let gv = f32(g[p.g_offset + at]);
    let yv = f32(y[p.y_offset + at]);
    if (LOG) { out[at] = G(gv - exp(yv) * s); } else { out[at] = G(yv * (gv - s)); }
  }
}
