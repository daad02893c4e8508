// softmax or log_softmax (LOG) of rows of n elements, `inner` apart; T: stored type. Grid and lanes: rows_*.wgsl.
struct Params { rows: u32, n: u32, inner: u32, offset: u32 }
@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
fn row_work(row: u32, lane: u32) {
  let base = (row / p.inner) * p.n * p.inner + row % p.inner;
  let source = p.offset + base;
  var m = -infinity();
  for (var k = lane; k < p.n; k += LANES) { m = max_nan(m, f32(x[source + k * p.inner])); }
  m = all_max(m);
  var s = 0.0;
  for (var k = lane; k < p.n; k += LANES) { s += exp(f32(x[source + k * p.inner]) - m); }
  s = all_sum(s);
  if (is_nan(m) || is_inf(m)) { s = nan(); }
  let low = m + log(s);
  let scale = 1.0 / s;
  for (var k = lane; k < p.n; k += LANES) {
    let v = f32(x[source + k * p.inner]);
    if (LOG) { y[base + k * p.inner] = T(v - low); } else { y[base + k * p.inner] = T(exp(v - m) * scale); }
  }
}
