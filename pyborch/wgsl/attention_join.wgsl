// Puts the parts of attention_few.wgsl together: a thread for each element of y (batch, queries, heads, EV). Rows that see nothing give zeros.
// Prepended: const EV, R; alias T; bindings x (parts, f32) and y.
struct Params { numel: u32, queries: u32, heads: u32, shared_by: u32, parts: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let i = group_index(wid, nwg) * 64u + lid;
  if (i >= p.numel) { return; }
  let h = i / EV % p.heads;
  let row = i / EV / p.heads % p.queries;
  let b = i / EV / p.heads / p.queries;
  let first = ((b * (p.heads / p.shared_by) + h / p.shared_by) * p.parts * R + h % p.shared_by * p.queries + row) * (EV + 2u);
  let step = R * (EV + 2u);
  var top = -3.4028234663852886e38;
  for (var n = 0u; n < p.parts; n++) { top = max(top, x[first + n * step + EV]); }
  var sum = 0.0;
  var whole = 0.0;
  for (var n = 0u; n < p.parts; n++) {
    let at = first + n * step;
    let shrink = exp(x[at + EV] - top);
    sum += x[at + i % EV] * shrink;
    whole += x[at + EV + 1u] * shrink;
  }
  y[i] = T(select(sum / whole, 0.0, whole == 0.0));
}
