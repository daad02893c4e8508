// Puts the parts of attention_few.wgsl together: a workgroup for each row of y, (batch, query, head, EV) or with PRIMITIVE (batch, head, query, EV).
// Rows that see nothing give zeros, NaN with PRIMITIVE. Slots of WIDE threads walk every so many parts of a row, and come together at the end.
// Prepended: const EV, R, CHUNK, WIDE, PRIMITIVE; alias T; arrays x (the parts) and y; length_of(b). Grid: batch * heads * queries.
struct Params { queries: u32, keys: u32, heads: u32, shared_by: u32, blocks: u32, parts: u32, count: u32 }
const THREADS = 128u;
const EV4 = (EV + 3u) / 4u;
const LOWEST = -3.4028234663852886e38;
var<workgroup> values: array<vec4<f32>, THREADS>;
var<workgroup> tops: array<vec2<f32>, THREADS>;   // and sums
@compute @workgroup_size(THREADS) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let g = group_index(wid, nwg);
  if (g >= p.count) { return; }
  let query = g % p.queries;
  let h = g / p.queries % p.heads;
  let b = g / p.queries / p.heads;
  let row = h % p.shared_by * p.queries + query;
  let base = ((b * (p.heads / p.shared_by) + h / p.shared_by) * p.parts * p.blocks + row / R) * R + row % R;
  let end = (length_of(b) + CHUNK - 1u) / CHUNK;
  let to = select((b * p.queries + query) * p.heads + h, g, PRIMITIVE) * EV;
  for (var first = 0u; first < EV4; first += WIDE) {
    let f = first + lid % WIDE;
    var top = LOWEST;
    var total = 0.0;
    var sum = vec4<f32>(0.0);
    for (var n = lid / WIDE; n < end; n += THREADS / WIDE) {
      let at = (base + n * p.blocks * R) * (EV4 + 1u);
      let part = x[at + EV4];
      let now = max(top, part.x);
      let shrink = exp(top - now);
      let share = exp(part.x - now);
      sum = sum * shrink + x[at + min(f, EV4 - 1u)] * share;
      total = total * shrink + part.y * share;
      top = now;
    }
    values[lid] = sum;
    tops[lid] = vec2<f32>(top, total);
    workgroupBarrier();
    if (lid < WIDE && f < EV4) {
      for (var s = lid + WIDE; s < THREADS; s += WIDE) { top = max(top, tops[s].x); }
      sum = vec4<f32>(0.0);
      total = 0.0;
      for (var s = lid; s < THREADS; s += WIDE) {
        let share = exp(tops[s].x - top);
        sum += values[s] * share;
        total += tops[s].y * share;
      }
      for (var n = 0u; n < 4u; n++) {
        if (4u * f + n < EV) { y[to + 4u * f + n] = T(select(sum[n] / total, select(0.0, nan(), PRIMITIVE), total == 0.0)); }
      }
    }
    workgroupBarrier();
  }
}
