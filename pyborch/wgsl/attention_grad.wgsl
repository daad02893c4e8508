// Gradients of attention without storing scores (flash attention, Dao et al. 2022): for queries (KEYS false) or for keys and values (KEYS true).
// A workgroup has 4 QX rows of its own (queries with their gradients g, or keys with values) and walks the others in tiles of 32 columns; a chance
// is exp(score - logsum), of which the gradient is chance * (g . v - delta). Thread (x, y) has rows from 4 x on, and of a tile columns from 4 y on.
//   KEYS false: first = sum of gradient * key.    KEYS true: first = sum of gradient * query, second = sum of chance * g, over all heads that share the key.
// Prepended: const E, EV (sizes of a key and of a value), QX, MASK (0 none, 1 added, 2 seen where not 0), CAUSAL, KEYS; alias T; mask_at(), and
// keep_second(i, value). Grid: batch * heads (of the rows) * ceil(rows / (4 QX)). Workgroup memory: gradient_bytes() in ops/attention.py.
struct Params {
  queries: u32, keys: u32, heads: u32, shared_by: u32, count: u32, scale: f32,
  q: u32, qb: u32, qh: u32, ql: u32, qe: u32, k: u32, kb: u32, kh: u32, kl: u32, ke: u32,
  v: u32, vb: u32, vh: u32, vl: u32, ve: u32, g: u32, gb: u32, gl: u32, gh: u32, ge: u32, m: u32, mb: u32, mh: u32, ml: u32, ms: u32 }
const KX = 8u;
const THREADS = QX * KX;
const ROWS = 4u * QX;
const QS = QX + 1u;
const KS = KX + 1u;
const E4 = (E + 3u) / 4u;
const V4 = (EV + 3u) / 4u;
const EP = (E4 + KX - 1u) / KX;
const VP = (V4 + KX - 1u) / KX;
const TILE = max(max(E, EV) * KS, 4u * KX * (max(E4, V4) + 1u));
var<workgroup> own_first: array<vec4<f32>, E * QS>;
var<workgroup> own_second: array<vec4<f32>, EV * QS>;
var<workgroup> tile: array<vec4<f32>, TILE>;
var<workgroup> slopes: array<vec4<f32>, 4u * KX * QS>;
var<workgroup> chances: array<vec4<f32>, 4u * KX * QS>;
fn query_at(b: u32, h: u32, row: u32, e: u32) -> f32 { return f32(q[p.q + b * p.qb + h * p.qh + min(row, p.queries - 1u) * p.ql + e * p.qe]); }
fn slope_at(b: u32, h: u32, row: u32, e: u32) -> f32 { return f32(g[p.g + b * p.gb + h * p.gh + min(row, p.queries - 1u) * p.gl + e * p.ge]); }
fn key_at(b: u32, h: u32, row: u32, e: u32) -> f32 { return f32(k[p.k + b * p.kb + h / p.shared_by * p.kh + min(row, p.keys - 1u) * p.kl + e * p.ke]); }
fn value_at(b: u32, h: u32, row: u32, e: u32) -> f32 { return f32(v[p.v + b * p.vb + h / p.shared_by * p.vh + min(row, p.keys - 1u) * p.vl + e * p.ve]); }
fn first_at(own: bool, b: u32, h: u32, row: u32, e: u32) -> f32 {
  if (own == KEYS) { return key_at(b, h, row, e); }
  return query_at(b, h, row, e);
}
fn second_at(own: bool, b: u32, h: u32, row: u32, e: u32) -> f32 {
  if (own == KEYS) { return value_at(b, h, row, e); }
  return slope_at(b, h, row, e);
}
// Four rows' element e; four elements of a row, zero past the end.
fn firsts(own: bool, b: u32, h: u32, row: u32, e: u32) -> vec4<f32> {
  return vec4<f32>(first_at(own, b, h, row, e), first_at(own, b, h, row + 1u, e), first_at(own, b, h, row + 2u, e), first_at(own, b, h, row + 3u, e));
}
fn seconds(own: bool, b: u32, h: u32, row: u32, e: u32) -> vec4<f32> {
  return vec4<f32>(second_at(own, b, h, row, e), second_at(own, b, h, row + 1u, e), second_at(own, b, h, row + 2u, e), second_at(own, b, h, row + 3u, e));
}
fn line_of_first(b: u32, h: u32, row: u32, e: u32) -> vec4<f32> {
  return vec4<f32>(first_at(false, b, h, row, e), select(0.0, first_at(false, b, h, row, e + 1u), e + 1u < E),
    select(0.0, first_at(false, b, h, row, e + 2u), e + 2u < E), select(0.0, first_at(false, b, h, row, e + 3u), e + 3u < E));
}
fn line_of_second(b: u32, h: u32, row: u32, e: u32) -> vec4<f32> {
  return vec4<f32>(second_at(false, b, h, row, e), select(0.0, second_at(false, b, h, row, e + 1u), e + 1u < EV),
    select(0.0, second_at(false, b, h, row, e + 2u), e + 2u < EV), select(0.0, second_at(false, b, h, row, e + 3u), e + 3u < EV));
}
// (chance, gradient of the score) of a query and a key; zeros where it is not seen.
fn pair_of(score: f32, by_chance: f32, b: u32, h: u32, row: u32, key: u32) -> vec2<f32> {
  if (row >= p.queries) { return vec2<f32>(); }
  if (key >= p.keys) { return vec2<f32>(); }
  if (CAUSAL && key > row) { return vec2<f32>(); }
  var s = score * p.scale;
  if (MASK > 0u) {
    let m = mask_at(p.m + b * p.mb + h * p.mh + row * p.ml + key * p.ms);
    if (MASK == 2u) {
      if (m == 0.0) { return vec2<f32>(); }
    } else {
      if (bitcast<u32>(m) == 0xff800000u) { return vec2<f32>(); }
      s += m;
    }
  }
  let at = (b * p.heads + h) * p.queries + row;
  let chance = exp(s - logsum[at]);
  return vec2<f32>(chance, chance * (by_chance - delta[at]) * p.scale);
}
@compute @workgroup_size(THREADS) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let number = group_index(wid, nwg);
  if (number >= p.count) { return; }
  let rows = select(p.queries, p.keys, KEYS);
  let cols = select(p.keys, p.queries, KEYS);
  let own_heads = select(p.heads, p.heads / p.shared_by, KEYS);
  let groups = (rows + ROWS - 1u) / ROWS;
  let first = number % groups * ROWS;
  let own_head = number / groups % own_heads;
  let b = number / groups / own_heads;
  let x = lid % QX;
  let y0 = lid / QX;
  let head = select(own_head, own_head * p.shared_by, KEYS);
  for (var n = lid; n < E * QX; n += THREADS) { own_first[n % E * QS + n / E] = firsts(true, b, head, first + n / E * 4u, n % E); }
  for (var n = lid; n < EV * QX; n += THREADS) { own_second[n % EV * QS + n / EV] = seconds(true, b, head, first + n / EV * 4u, n % EV); }
  var sums: array<vec4<f32>, 4u * EP>;
  var more: array<vec4<f32>, 4u * VP>;
  for (var n = 0u; n < 4u * EP; n++) { sums[n] = vec4<f32>(); }
  for (var n = 0u; n < 4u * VP; n++) { more[n] = vec4<f32>(); }
  let begin = select(0u, first / 32u * 32u, KEYS && CAUSAL);
  let end = select(cols, min(cols, first + ROWS), !KEYS && CAUSAL);
  for (var other = 0u; other < select(1u, p.shared_by, KEYS); other++) {
    let h = head + other;
    for (var start = begin; start < end; start += 4u * KX) {
      workgroupBarrier();
      for (var n = lid; n < E * KX; n += THREADS) { tile[n % E * KS + n / E] = firsts(false, b, h, start + n / E * 4u, n % E); }
      workgroupBarrier();
      var s: array<vec4<f32>, 4>;
      var d: array<vec4<f32>, 4>;
      for (var r = 0u; r < 4u; r++) { s[r] = vec4<f32>(); d[r] = vec4<f32>(); }  // in a loop not every driver does so by itself
      for (var e = 0u; e < E; e++) {
        let a = own_first[e * QS + x];
        let c = tile[e * KS + y0];
        for (var r = 0u; r < 4u; r++) { s[r] += a[r] * c; }
      }
      workgroupBarrier();
      for (var n = lid; n < EV * KX; n += THREADS) { tile[n % EV * KS + n / EV] = seconds(false, b, h, start + n / EV * 4u, n % EV); }
      workgroupBarrier();
      for (var e = 0u; e < EV; e++) {
        let a = own_second[e * QS + x];
        let c = tile[e * KS + y0];
        for (var r = 0u; r < 4u; r++) { d[r] += a[r] * c; }
      }
      for (var c = 0u; c < 4u; c++) {
        var slope = vec4<f32>();
        var chance = vec4<f32>();
        for (var r = 0u; r < 4u; r++) {
          let row = first + x * 4u + r;
          let col = start + y0 * 4u + c;
          let found = pair_of(s[r][c], d[r][c], b, h, select(row, col, KEYS), select(col, row, KEYS));
          chance[r] = found.x;
          slope[r] = found.y;
        }
        slopes[(y0 * 4u + c) * QS + x] = slope;
        if (KEYS) { chances[(y0 * 4u + c) * QS + x] = chance; }
      }
      workgroupBarrier();
      for (var n = lid; n < 4u * KX * E4; n += THREADS) { tile[n / E4 * (E4 + 1u) + n % E4] = line_of_first(b, h, start + n / E4, n % E4 * 4u); }
      workgroupBarrier();
      for (var j = 0u; j < 4u * KX; j++) {
        let slope = slopes[j * QS + x];
        for (var n = 0u; n < EP; n++) {
          let value = tile[j * (E4 + 1u) + min(y0 + n * KX, E4 - 1u)];
          for (var r = 0u; r < 4u; r++) { sums[n * 4u + r] += slope[r] * value; }
        }
      }
      if (KEYS) {
        workgroupBarrier();
        for (var n = lid; n < 4u * KX * V4; n += THREADS) { tile[n / V4 * (V4 + 1u) + n % V4] = line_of_second(b, h, start + n / V4, n % V4 * 4u); }
        workgroupBarrier();
        for (var j = 0u; j < 4u * KX; j++) {
          let chance = chances[j * QS + x];
          for (var n = 0u; n < VP; n++) {
            let value = tile[j * (V4 + 1u) + min(y0 + n * KX, V4 - 1u)];
            for (var r = 0u; r < 4u; r++) { more[n * 4u + r] += chance[r] * value; }
          }
        }
      }
    }
  }
  for (var r = 0u; r < 4u; r++) {
    let row = first + x * 4u + r;
    if (row >= rows) { continue; }
    let line = (b * own_heads + own_head) * rows + row;
    for (var n = 0u; n < EP; n++) {
      for (var c = 0u; c < 4u; c++) {
        let e = (y0 + n * KX) * 4u + c;
        if (e < E) { first_out[line * E + e] = T(sums[n * 4u + r][c]); }
      }
    }
    if (KEYS) {
      for (var n = 0u; n < VP; n++) {
        for (var c = 0u; c < 4u; c++) {
          let e = (y0 + n * KX) * 4u + c;
          if (e < EV) { keep_second(line * EV + e, more[n * 4u + r][c]); }
        }
      }
    }
  }
}
