// softmax(q k^T * scale + mask) v without storing the scores: a workgroup of 128 threads has 16 QT queries and walks the keys in tiles of 32,
// keeping a running maximum and sum (flash attention, Dao et al. 2022). Thread (x of 8, y of 16) has QT queries y + 16 m, of a tile the keys
// x + 8 j, and of a value the fours of elements x + 8 n. Result (batch, query, head, EV), row-major; rows that see nothing give
// zeros. PRIMITIVE: as products and a softmax would have it, (batch, head, query, EV), and NaN for such rows.
// Prepended: const E, EV (sizes of a key and of a value), QT (1 or 2), MASK (0 none, 1 added, 2 seen where not 0 and else p.fill, 3 the other way
// round), CAUSAL, PRIMITIVE; alias T.
// Grid: batch * heads * ceil(queries / (16 QT)). Workgroup memory: see attention_bytes() in ops/attention.py. Limits: E, EV <= 128.
struct Params {
  queries: u32, keys: u32, heads: u32, shared_by: u32, count: u32, scale: f32, fill: f32,
  q: u32, qb: u32, qh: u32, ql: u32, qe: u32, k: u32, kb: u32, kh: u32, kl: u32, ke: u32,
  v: u32, vb: u32, vh: u32, vl: u32, ve: u32, m: u32, mb: u32, mh: u32, ml: u32, ms: u32 }
const ROWS = 16u * QT;
const E4 = (E + 3u) / 4u;
const V4 = (EV + 3u) / 4u;
const VP = (V4 + 7u) / 8u;
const QS = E4 + 1u;
const TS = max(E4, V4) + 1u;
const LOWEST = -3.4028234663852886e38;  // of what is not seen
const LOW = -3.4028233e38;
var<workgroup> queries: array<vec4<f32>, ROWS * QS>;
var<workgroup> tile: array<vec4<f32>, 32u * TS>;
var<workgroup> chances: array<f32, ROWS * 33u>;
var<workgroup> parts: array<f32, ROWS * 8u>;
fn q4(at: u32, e: u32) -> vec4<f32> {
  let i = at + e * p.qe;
  if (e + 3u < E) { return vec4<f32>(f32(q[i]), f32(q[i + p.qe]), f32(q[i + 2u * p.qe]), f32(q[i + 3u * p.qe])); }
  return vec4<f32>(f32(q[i]), select(0.0, f32(q[i + p.qe]), e + 1u < E), select(0.0, f32(q[i + 2u * p.qe]), e + 2u < E), 0.0);
}
fn k4(at: u32, e: u32) -> vec4<f32> {
  let i = at + e * p.ke;
  if (e + 3u < E) { return vec4<f32>(f32(k[i]), f32(k[i + p.ke]), f32(k[i + 2u * p.ke]), f32(k[i + 3u * p.ke])); }
  return vec4<f32>(f32(k[i]), select(0.0, f32(k[i + p.ke]), e + 1u < E), select(0.0, f32(k[i + 2u * p.ke]), e + 2u < E), 0.0);
}
fn v4(at: u32, e: u32) -> vec4<f32> {
  let i = at + e * p.ve;
  if (e + 3u < EV) { return vec4<f32>(f32(v[i]), f32(v[i + p.ve]), f32(v[i + 2u * p.ve]), f32(v[i + 3u * p.ve])); }
  return vec4<f32>(f32(v[i]), select(0.0, f32(v[i + p.ve]), e + 1u < EV), select(0.0, f32(v[i + 2u * p.ve]), e + 2u < EV), 0.0);
}
fn score(dot: f32, b: u32, h: u32, row: u32, key: u32) -> f32 {
  if (key >= p.keys || row >= p.queries || (CAUSAL && key > row)) { return LOWEST; }
  let s = dot * p.scale;
  if (MASK == 0u) { return s; }
  let m = mask_at(p.m + b * p.mb + h * p.mh + row * p.ml + key * p.ms);
  if (MASK > 1u) { return select(s, p.fill, (m != 0.0) == (MASK == 3u)); }
  return select(max(s + m, LOW), LOWEST, is_inf(m) && m < 0.0);
}
fn largest(s: vec4<f32>) -> f32 { return max(max(s.x, s.y), max(s.z, s.w)); }
@compute @workgroup_size(128) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let g = group_index(wid, nwg);
  if (g >= p.count) { return; }
  let tiles = (p.queries + ROWS - 1u) / ROWS;
  let first = g % tiles * ROWS;
  let h = g / tiles % p.heads;
  let b = g / tiles / p.heads;
  let x = lid % 8u;
  let y0 = lid / 8u;
  let q_base = p.q + b * p.qb + h * p.qh;
  let k_base = p.k + b * p.kb + h / p.shared_by * p.kh;
  let v_base = p.v + b * p.vb + h / p.shared_by * p.vh;
  for (var n = lid; n < ROWS * E4; n += 128u) { queries[n / E4 * QS + n % E4] = q4(q_base + min(first + n / E4, p.queries - 1u) * p.ql, n % E4 * 4u); }
  var top: array<f32, QT>;
  var total: array<f32, QT>;
  var sums: array<vec4<f32>, QT * VP>;
  for (var m = 0u; m < QT; m++) { top[m] = LOWEST; }
  let end = select(p.keys, min(p.keys, first + ROWS), CAUSAL);
  for (var start = 0u; start < end; start += 32u) {
    for (var n = lid; n < 32u * E4; n += 128u) { tile[n / E4 * TS + n % E4] = k4(k_base + min(start + n / E4, p.keys - 1u) * p.kl, n % E4 * 4u); }
    workgroupBarrier();
    var s: array<vec4<f32>, QT>;
    for (var m = 0u; m < QT; m++) { s[m] = vec4<f32>(0.0); }  // SwiftShader would go on with what was there
    for (var e = 0u; e < E4; e++) {
      let k0 = tile[x * TS + e];
      let k1 = tile[(x + 8u) * TS + e];
      let k2 = tile[(x + 16u) * TS + e];
      let k3 = tile[(x + 24u) * TS + e];
      for (var m = 0u; m < QT; m++) {
        let a = queries[(y0 + m * 16u) * QS + e];
        s[m] += vec4<f32>(dot(a, k0), dot(a, k1), dot(a, k2), dot(a, k3));
      }
    }
    for (var m = 0u; m < QT; m++) {
      let row = first + y0 + m * 16u;
      let key = start + x;
      s[m] = vec4<f32>(score(s[m].x, b, h, row, key), score(s[m].y, b, h, row, key + 8u), score(s[m].z, b, h, row, key + 16u), score(s[m].w, b, h, row, key + 24u));
      parts[(y0 + m * 16u) * 8u + x] = largest(s[m]);
    }
    workgroupBarrier();
    for (var n = lid; n < 32u * V4; n += 128u) { tile[n / V4 * TS + n % V4] = v4(v_base + min(start + n / V4, p.keys - 1u) * p.vl, n % V4 * 4u); }
    for (var m = 0u; m < QT; m++) {
      let row = y0 + m * 16u;
      var now = top[m];
      for (var t = 0u; t < 8u; t++) { now = max(now, parts[row * 8u + t]); }
      let chance = select(exp(s[m] - now), vec4<f32>(0.0), s[m] <= vec4<f32>(LOWEST));
      chances[row * 33u + x] = chance.x;
      chances[row * 33u + x + 8u] = chance.y;
      chances[row * 33u + x + 16u] = chance.z;
      chances[row * 33u + x + 24u] = chance.w;
      let shrink = exp(top[m] - now);
      total[m] = total[m] * shrink + chance.x + chance.y + chance.z + chance.w;
      for (var n = 0u; n < VP; n++) { sums[m * VP + n] *= shrink; }
      top[m] = now;
    }
    workgroupBarrier();
    for (var j = 0u; j < 32u; j++) {
      for (var n = 0u; n < VP; n++) {
        let value = tile[j * TS + min(x + n * 8u, V4 - 1u)];
        for (var m = 0u; m < QT; m++) { sums[m * VP + n] += chances[(y0 + m * 16u) * 33u + j] * value; }
      }
    }
    workgroupBarrier();
  }
  for (var m = 0u; m < QT; m++) { parts[(y0 + m * 16u) * 8u + x] = total[m]; }
  workgroupBarrier();
  for (var m = 0u; m < QT; m++) {
    let row = first + y0 + m * 16u;
    if (row < p.queries) {
      var whole = 0.0;
      for (var t = 0u; t < 8u; t++) { whole += parts[(y0 + m * 16u) * 8u + t]; }
      var scale = select(1.0 / whole, 0.0, whole == 0.0);
      if (PRIMITIVE && whole == 0.0) { scale = nan(); }
      let at = select((b * p.queries + row) * p.heads + h, (b * p.heads + h) * p.queries + row, PRIMITIVE) * EV;
      for (var n = 0u; n < VP; n++) {
        let e = (x + n * 8u) * 4u;
        let r = sums[m * VP + n] * scale;
        if (e < EV) { y[at + e] = T(r.x); }
        if (e + 1u < EV) { y[at + e + 1u] = T(r.y); }
        if (e + 2u < EV) { y[at + e + 2u] = T(r.z); }
        if (e + 3u < EV) { y[at + e + 3u] = T(r.w); }
      }
    }
  }
}
