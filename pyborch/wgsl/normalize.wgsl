// Rows of n elements to mean 0 (where CENTER) and root mean square 1: y = (x - mean) * scale, scale = rsqrt(mean square + eps).
struct Params { rows: u32, n: u32, offset: u32, eps: f32 }
@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@group(0) @binding(2) var<storage, read_write> scale: array<f32>;
fn row_work(row: u32, lane: u32) {
  let base = row * p.n;
  let source = p.offset + base;
  var mean = 0.0;
  if (CENTER) {
    var s = 0.0;
    for (var k = lane; k < p.n; k += LANES) { s += f32(x[source + k]); }
    mean = all_sum(s) / f32(p.n);
  }
  var q = 0.0;
  for (var k = lane; k < p.n; k += LANES) { let d = f32(x[source + k]) - mean; q += d * d; }
  let r = 1.0 / sqrt(all_sum(q) / f32(p.n) + p.eps);
  for (var k = lane; k < p.n; k += LANES) { y[base + k] = T((f32(x[source + k]) - mean) * r); }
  if (lane == 0u) { scale[row] = r; }
}
