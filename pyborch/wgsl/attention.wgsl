// softmax(q k^T * scale + mask) v without storing the scores: a workgroup has 4 QX queries and walks the keys in tiles of 32, keeping a
// running maximum and sum (flash attention, Dao et al. 2022). SLICES times QX x 8 threads: a slice walks every SLICES-th tile, and the slices
// come together at the end. Thread (x, y) of a slice has four queries from 4 x on; of a tile the four keys from 4 y on, and of a value the
// fours of elements y + 8 n. Tiles are loaded into registers while the one before is worked on. Result (batch, query, head, EV), row-major; rows that see nothing give zeros. PRIMITIVE: as products and a
// softmax would have it, (batch, head, query, EV), and NaN for such rows.
// Prepended: const E, EV (sizes of a key and of a value), QX (at most 8), SLICES, MASK (0 none, 1 added, 2 seen where not 0 and else p.fill,
// 3 the other way round), CAUSAL, PRIMITIVE, KEEP; alias T; mask_at(), and keep(i, value), which with KEEP is given each row's log(sum(exp(score))).
// Grid: batch * heads * ceil(queries / (4 QX)). Workgroup memory: see attention_bytes() in ops/attention.py. Limits: E, EV <= 128.
struct Params {
  queries: u32, keys: u32, heads: u32, shared_by: u32, count: u32, scale: f32, fill: f32,
  q: u32, qb: u32, qh: u32, ql: u32, qe: u32, k: u32, kb: u32, kh: u32, kl: u32, ke: u32,
  v: u32, vb: u32, vh: u32, vl: u32, ve: u32, m: u32, mb: u32, mh: u32, ml: u32, ms: u32 }
const KX = 8u;
const THREADS = QX * KX;  // of a slice
const ROWS = 4u * QX;
const V4 = (EV + 3u) / 4u;
const VP = (V4 + KX - 1u) / KX;
const QS = QX + 1u;
const KS = KX + 1u;
const VS = V4 + 1u;
const NK = (E + QX - 1u) / QX;        // fours that a thread loads of a tile of keys
const NV = (4u * V4 + QX - 1u) / QX;  // and of values
const TILE = max(E * KS, 4u * KX * VS);
const LOWEST = -3.4028234663852886e38;  // of what is not seen
const LOW = -3.4028233e38;
var<workgroup> queries: array<vec4<f32>, E * QS>;                  // four queries each
var<workgroup> tile: array<vec4<f32>, TILE * SLICES>;              // four keys each, then four elements of a value
var<workgroup> chances: array<vec4<f32>, 4u * KX * QS * SLICES>;   // of four queries each
var<workgroup> parts: array<vec4<f32>, THREADS * SLICES>;
var<workgroup> tops: array<vec4<f32>, QX * SLICES>;
fn q_at(base: u32, row: u32) -> f32 { return f32(q[base + min(row, p.queries - 1u) * p.ql]); }
fn k_at(base: u32, key: u32) -> f32 { return f32(k[base + min(key, p.keys - 1u) * p.kl]); }
fn k4(base: u32, key: u32) -> vec4<f32> { return vec4<f32>(k_at(base, key), k_at(base, key + 1u), k_at(base, key + 2u), k_at(base, key + 3u)); }
fn v4(at: u32, e: u32) -> vec4<f32> {
  let i = at + e * p.ve;
  if (e + 3u < EV) { return vec4<f32>(f32(v[i]), f32(v[i + p.ve]), f32(v[i + 2u * p.ve]), f32(v[i + 3u * p.ve])); }
  return vec4<f32>(f32(v[i]), select(0.0, f32(v[i + p.ve]), e + 1u < EV), select(0.0, f32(v[i + 2u * p.ve]), e + 2u < EV), 0.0);
}
// Of one query and four keys.
fn scores(dots: vec4<f32>, b: u32, h: u32, row: u32, key: u32) -> vec4<f32> {
  let last = select(p.keys - 1u, min(row, p.keys - 1u), CAUSAL);
  let seen = vec4<bool>(row < p.queries) & (vec4<u32>(key, key + 1u, key + 2u, key + 3u) <= vec4<u32>(last));
  var s = dots * p.scale;
  if (MASK > 0u) {
    let at = p.m + b * p.mb + h * p.mh + min(row, p.queries - 1u) * p.ml;
    let m = vec4<f32>(mask_at(at + min(key, last) * p.ms), mask_at(at + min(key + 1u, last) * p.ms), mask_at(at + min(key + 2u, last) * p.ms),
      mask_at(at + min(key + 3u, last) * p.ms));
    if (MASK > 1u) {
      s = select(s, vec4<f32>(p.fill), (m != vec4<f32>(0.0)) == vec4<bool>(MASK == 3u));
    } else {
      s = select(max(s + m, vec4<f32>(LOW)), vec4<f32>(LOWEST), bitcast<vec4<u32>>(m) == vec4<u32>(0xff800000u));  // -inf
    }
  }
  return select(vec4<f32>(LOWEST), s, seen);
}
fn largest(s: vec4<f32>) -> f32 { return max(max(s.x, s.y), max(s.z, s.w)); }
fn total_of(s: vec4<f32>) -> f32 { return s.x + s.y + s.z + s.w; }
fn chances_of(s: vec4<f32>, top: f32) -> vec4<f32> { return select(exp(s - top), vec4<f32>(0.0), s <= vec4<f32>(LOWEST)); }
@compute @workgroup_size(THREADS * SLICES) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) all_lid: u32) {
  let g = group_index(wid, nwg);
  if (g >= p.count) { return; }
  let groups = (p.queries + ROWS - 1u) / ROWS;
  let first = g % groups * ROWS;
  let h = g / groups % p.heads;
  let b = g / groups / p.heads;
  let slice = all_lid / THREADS;
  let lid = all_lid % THREADS;
  let x = lid % QX;
  let y0 = lid / QX;
  let q_base = p.q + b * p.qb + h * p.qh;
  let k_base = p.k + b * p.kb + h / p.shared_by * p.kh;
  let v_base = p.v + b * p.vb + h / p.shared_by * p.vh;
  let t0 = slice * TILE;
  let c0 = slice * (4u * KX * QS);
  let p0 = slice * THREADS;
  for (var n = all_lid; n < E * QX; n += THREADS * SLICES) {
    let at = q_base + n % E * p.qe;
    let row = first + n / E * 4u;
    queries[n % E * QS + n / E] = vec4<f32>(q_at(at, row), q_at(at, row + 1u), q_at(at, row + 2u), q_at(at, row + 3u));
  }
  var top = vec4<f32>(LOWEST);
  var total = vec4<f32>(0.0);
  var sums: array<vec4<f32>, 4u * VP>;
  for (var n = 0u; n < 4u * VP; n++) { sums[n] = vec4<f32>(0.0); }
  var next_k: array<vec4<f32>, NK>;
  var next_v: array<vec4<f32>, NV>;
  for (var n = 0u; n < NK; n++) {
    let i = lid + n * THREADS;
    next_k[n] = k4(k_base + i % E * p.ke, slice * (4u * KX) + i / E * 4u);
  }
  let end = select(p.keys, min(p.keys, first + ROWS), CAUSAL);
  for (var walked = 0u; walked < end; walked += 4u * KX * SLICES) {
    let start = walked + slice * (4u * KX);  // past the end: clamped, and not seen
    for (var n = 0u; n < NK; n++) {
      let i = lid + n * THREADS;
      if (i < E * KX) { tile[t0 + i % E * KS + i / E] = next_k[n]; }
    }
    workgroupBarrier();
    for (var n = 0u; n < NV; n++) {  // on their way while the scores are computed
      let i = lid + n * THREADS;
      next_v[n] = v4(v_base + min(start + i / V4, p.keys - 1u) * p.vl, i % V4 * 4u);
    }
    var s0 = vec4<f32>(0.0);
    var s1 = vec4<f32>(0.0);
    var s2 = vec4<f32>(0.0);
    var s3 = vec4<f32>(0.0);
    for (var e = 0u; e < E; e++) {
      let a = queries[e * QS + x];
      let c = tile[t0 + e * KS + y0];
      s0 += a.x * c;
      s1 += a.y * c;
      s2 += a.z * c;
      s3 += a.w * c;
    }
    let row = first + x * 4u;
    let key = start + y0 * 4u;
    s0 = scores(s0, b, h, row, key);
    s1 = scores(s1, b, h, row + 1u, key);
    s2 = scores(s2, b, h, row + 2u, key);
    s3 = scores(s3, b, h, row + 3u, key);
    parts[p0 + lid] = vec4<f32>(largest(s0), largest(s1), largest(s2), largest(s3));
    workgroupBarrier();
    for (var n = 0u; n < NV; n++) {
      let i = lid + n * THREADS;
      if (i < 4u * KX * V4) { tile[t0 + i / V4 * VS + i % V4] = next_v[n]; }
    }
    for (var n = 0u; n < NK; n++) {
      let i = lid + n * THREADS;
      next_k[n] = k4(k_base + i % E * p.ke, start + 4u * KX * SLICES + i / E * 4u);
    }
    var now = top;
    for (var t = 0u; t < KX; t++) { now = max(now, parts[p0 + t * QX + x]); }
    s0 = chances_of(s0, now.x);
    s1 = chances_of(s1, now.y);
    s2 = chances_of(s2, now.z);
    s3 = chances_of(s3, now.w);
    let to = c0 + y0 * 4u * QS + x;
    chances[to] = vec4<f32>(s0.x, s1.x, s2.x, s3.x);
    chances[to + QS] = vec4<f32>(s0.y, s1.y, s2.y, s3.y);
    chances[to + 2u * QS] = vec4<f32>(s0.z, s1.z, s2.z, s3.z);
    chances[to + 3u * QS] = vec4<f32>(s0.w, s1.w, s2.w, s3.w);
    let shrink = exp(top - now);
    total = total * shrink + vec4<f32>(total_of(s0), total_of(s1), total_of(s2), total_of(s3));
    for (var n = 0u; n < VP; n++) {
      sums[n * 4u] *= shrink.x;
      sums[n * 4u + 1u] *= shrink.y;
      sums[n * 4u + 2u] *= shrink.z;
      sums[n * 4u + 3u] *= shrink.w;
    }
    top = now;
    workgroupBarrier();
    for (var j = 0u; j < 4u * KX; j++) {
      let chance = chances[c0 + j * QS + x];
      for (var n = 0u; n < VP; n++) {
        let value = tile[t0 + j * VS + min(y0 + n * KX, V4 - 1u)];
        sums[n * 4u] += chance.x * value;
        sums[n * 4u + 1u] += chance.y * value;
        sums[n * 4u + 2u] += chance.z * value;
        sums[n * 4u + 3u] += chance.w * value;
      }
    }
    workgroupBarrier();
  }
  if (y0 == 0u) { tops[slice * QX + x] = top; }
  workgroupBarrier();
  var over_all = tops[x];
  for (var s = 1u; s < SLICES; s++) { over_all = max(over_all, tops[s * QX + x]); }
  let shrink = exp(top - over_all);
  parts[p0 + lid] = total * shrink;
  for (var n = 0u; n < VP; n++) {
    let e4 = y0 + n * KX;
    if (e4 < V4) {
      let to = t0 + x * 4u * VS + e4;
      tile[to] = sums[n * 4u] * shrink.x;
      tile[to + VS] = sums[n * 4u + 1u] * shrink.y;
      tile[to + 2u * VS] = sums[n * 4u + 2u] * shrink.z;
      tile[to + 3u * VS] = sums[n * 4u + 3u] * shrink.w;
    }
  }
  workgroupBarrier();
  for (var n = all_lid; n < ROWS * EV; n += THREADS * SLICES) {
    let r = n / EV;
    let e = n % EV;
    let row = first + r;
    if (row < p.queries) {
      var sum = 0.0;
      var whole = 0.0;
      for (var s = 0u; s < SLICES; s++) {
        sum += tile[s * TILE + r * VS + e / 4u][e % 4u];
        for (var t = 0u; t < KX; t++) { whole += parts[s * THREADS + t * QX + r / 4u][r % 4u]; }
      }
      let nothing = select(0.0, nan(), PRIMITIVE);
      let at = select((b * p.queries + row) * p.heads + h, (b * p.heads + h) * p.queries + row, PRIMITIVE) * EV;
      y[at + e] = T(select(sum / whole, nothing, whole == 0.0));
      if (KEEP && e == 0u) {
        var best = tops[r / 4u][r % 4u];
        for (var s = 1u; s < SLICES; s++) { best = max(best, tops[s * QX + r / 4u][r % 4u]); }
        keep((b * p.heads + h) * p.queries + row, select(best + log(whole), 0.0, whole == 0.0));
      }
    }
  }
}
