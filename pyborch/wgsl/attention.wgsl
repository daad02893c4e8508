// softmax(q k^T * scale + mask) v without storing the scores: a workgroup of 128 threads has 16 queries (8 threads each) and walks the keys in
// tiles of 32, keeping a running maximum and sum (flash attention, Dao et al. 2022). Result (batch, query, head, EV), row-major.
// Prepended: const E, EV (sizes of a key and of a value), MASK (0 none, 1 bool, 2 added), CAUSAL; alias T. Rows that see nothing give zeros.
// Grid: batch * heads * ceil(queries / 16). Workgroup memory: (16 E + 32 max(E, EV) + 512) * 4 bytes. Limits: E, EV <= 128.
struct Params {
  queries: u32, keys: u32, heads: u32, shared_by: u32, count: u32, scale: f32,
  q: u32, qb: u32, qh: u32, ql: u32, qe: u32, k: u32, kb: u32, kh: u32, kl: u32, ke: u32,
  v: u32, vb: u32, vh: u32, vl: u32, ve: u32, m: u32, mb: u32, mh: u32, ml: u32, ms: u32 }
const WIDE = max(E, EV);
const PER = (EV + 7u) / 8u;
const LOWEST = -3.0e38;
var<workgroup> queries: array<f32, 16u * E>;
var<workgroup> tile: array<f32, 32u * WIDE>;
var<workgroup> chances: array<f32, 512>;
fn score(dot: f32, b: u32, h: u32, row: u32, key: u32) -> f32 {
  if (key >= p.keys || row >= p.queries || (CAUSAL && key > row)) { return LOWEST; }
  let s = dot * p.scale;
  if (MASK == 1u) { return select(LOWEST, s, mask_at(p.m + b * p.mb + h * p.mh + row * p.ml + key * p.ms) != 0.0); }
  if (MASK == 2u) { return max(s + mask_at(p.m + b * p.mb + h * p.mh + row * p.ml + key * p.ms), LOWEST); }
  return s;
}
@compute @workgroup_size(128) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let g = group_index(wid, nwg);
  if (g >= p.count) { return; }
  let tiles = (p.queries + 15u) / 16u;
  let first = g % tiles * 16u;
  let h = g / tiles % p.heads;
  let b = g / tiles / p.heads;
  let row = lid / 8u;
  let lane = lid % 8u;
  let q_base = p.q + b * p.qb + h * p.qh;
  let k_base = p.k + b * p.kb + h / p.shared_by * p.kh;
  let v_base = p.v + b * p.vb + h / p.shared_by * p.vh;
  for (var n = lid; n < 16u * E; n += 128u) { queries[n] = f32(q[q_base + min(first + n / E, p.queries - 1u) * p.ql + n % E * p.qe]); }
  var top = LOWEST;
  var total = 0.0;
  var sums: array<f32, PER>;
  let end = select(p.keys, min(p.keys, first + 16u), CAUSAL);
  for (var start = 0u; start < end; start += 32u) {
    for (var n = lid; n < 32u * E; n += 128u) { tile[n] = f32(k[k_base + min(start + n / E, p.keys - 1u) * p.kl + n % E * p.ke]); }
    workgroupBarrier();
    for (var j = lane; j < 32u; j += 8u) {
      var dot = 0.0;
      for (var e = 0u; e < E; e++) { dot += queries[row * E + e] * tile[j * E + e]; }
      chances[row * 32u + j] = score(dot, b, h, first + row, start + j);
    }
    workgroupBarrier();
    var now = top;
    for (var j = 0u; j < 32u; j++) { now = max(now, chances[row * 32u + j]); }
    for (var n = lid; n < 32u * EV; n += 128u) { tile[n] = f32(v[v_base + min(start + n / EV, p.keys - 1u) * p.vl + n % EV * p.ve]); }
    workgroupBarrier();
    for (var j = lane; j < 32u; j += 8u) {
      let s = chances[row * 32u + j];
      chances[row * 32u + j] = select(exp(s - now), 0.0, s <= LOWEST);
    }
    workgroupBarrier();
    let shrink = exp(top - now);
    top = now;
    total *= shrink;
    for (var n = 0u; n < PER; n++) { sums[n] *= shrink; }
    for (var j = 0u; j < 32u; j++) {
      let chance = chances[row * 32u + j];
      total += chance;
      for (var n = 0u; n < PER; n++) { sums[n] += chance * tile[j * EV + min(lane + n * 8u, EV - 1u)]; }
    }
    workgroupBarrier();
  }
  if (first + row < p.queries) {
    let at = ((b * p.queries + first + row) * p.heads + h) * EV;
    for (var n = 0u; n < PER; n++) {
      let e = lane + n * 8u;
      if (e < EV) { y[at + e] = T(select(sums[n] / total, 0.0, total == 0.0)); }
    }
  }
}
