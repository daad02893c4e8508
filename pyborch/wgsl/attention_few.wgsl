// Attention of a few queries over many keys, as in decoding: a workgroup walks CHUNK keys of one (batch, key head) for all R rows (the queries of
// all heads that share it), so that keys and values are read once; what it finds are parts, which attention_join.wgsl puts together.
// A part of a row is EV sums of exp(score - top) * value, then top, then the sum of exp(score - top).
// Prepended: const E, EV (at most THREADS), WIDE (EV rounded up to a power of two), R, CHUNK, THREADS, MASK (0 none, 1 added, 2 seen where not 0);
// alias T; mask_at(). Grid: batch * key heads * parts.
struct Params {
  queries: u32, keys: u32, key_heads: u32, shared_by: u32, parts: u32, count: u32, scale: f32,
  q: u32, qb: u32, qh: u32, ql: u32, qe: u32, k: u32, kb: u32, kh: u32, kl: u32, ke: u32,
  v: u32, vb: u32, vh: u32, vl: u32, ve: u32, m: u32, mb: u32, mh: u32, ml: u32, ms: u32 }
const LOWEST = -3.4028234663852886e38;  // of what is not seen
var<workgroup> rows: array<f32, R * E>;
var<workgroup> chances: array<f32, R * CHUNK>;
var<workgroup> shared_sums: array<array<f32, R>, THREADS>;
fn mask_on(score: f32, b: u32, h: u32, row: u32, key: u32) -> f32 {
  if (MASK == 0u) { return score; }
  let m = mask_at(p.m + b * p.mb + h * p.mh + row * p.ml + key * p.ms);
  if (MASK == 2u) { return select(score, LOWEST, m == 0.0); }
  return select(max(score + m, -3.4028233e38), LOWEST, bitcast<u32>(m) == 0xff800000u);
}
// The largest (or the sum) of what each thread brings, row by row, in all threads.
fn over_threads(lid: u32, largest: bool) {
  for (var half = THREADS / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lid < half) {
      for (var r = 0u; r < R; r++) {
        let other = shared_sums[lid + half][r];
        if (largest) { shared_sums[lid][r] = max(shared_sums[lid][r], other); } else { shared_sums[lid][r] += other; }
      }
    }
  }
  workgroupBarrier();
}
@compute @workgroup_size(THREADS) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let g = group_index(wid, nwg);
  if (g >= p.count) { return; }
  let start = g % p.parts * CHUNK;
  let key_head = g / p.parts % p.key_heads;
  let b = g / p.parts / p.key_heads;
  let k_base = p.k + b * p.kb + key_head * p.kh;
  let v_base = p.v + b * p.vb + key_head * p.vh;
  for (var n = lid; n < R * E; n += THREADS) {
    let r = n / E;
    rows[n] = f32(q[p.q + b * p.qb + (key_head * p.shared_by + r / p.queries) * p.qh + r % p.queries * p.ql + n % E * p.qe]) * p.scale;
  }
  workgroupBarrier();
  var best: array<f32, R>;
  for (var r = 0u; r < R; r++) { best[r] = LOWEST; }
  for (var c = lid; c < CHUNK; c += THREADS) {
    let key = start + c;
    var dots: array<f32, R>;
    for (var r = 0u; r < R; r++) { dots[r] = 0.0; }
    if (key < p.keys) {
      for (var e = 0u; e < E; e++) {
        let x = f32(k[k_base + key * p.kl + e * p.ke]);
        for (var r = 0u; r < R; r++) { dots[r] += rows[r * E + e] * x; }
      }
    }
    for (var r = 0u; r < R; r++) {
      var score = LOWEST;
      if (key < p.keys) { score = mask_on(dots[r], b, key_head * p.shared_by + r / p.queries, r % p.queries, key); }
      chances[r * CHUNK + c] = score;
      best[r] = max(best[r], score);
    }
  }
  for (var r = 0u; r < R; r++) { shared_sums[lid][r] = best[r]; }
  over_threads(lid, true);
  for (var r = 0u; r < R; r++) { best[r] = shared_sums[0][r]; }
  workgroupBarrier();
  for (var r = 0u; r < R; r++) {
    var total = 0.0;
    for (var c = lid; c < CHUNK; c += THREADS) {
      let score = chances[r * CHUNK + c];
      let chance = select(exp(score - best[r]), 0.0, score <= LOWEST);
      chances[r * CHUNK + c] = chance;
      total += chance;
    }
    shared_sums[lid][r] = total;
  }
  over_threads(lid, false);
  let to = g * R * (EV + 2u);
  if (lid < R) {
    parts[to + lid * (EV + 2u) + EV] = best[lid];
    parts[to + lid * (EV + 2u) + EV + 1u] = shared_sums[0][lid];
  }
  workgroupBarrier();
  var sums: array<f32, R>;
  for (var r = 0u; r < R; r++) { sums[r] = 0.0; }
  let e = lid % WIDE;
  if (e < EV) {
    for (var c = lid / WIDE; c < min(CHUNK, p.keys - start); c += THREADS / WIDE) {
      let x = f32(v[v_base + (start + c) * p.vl + e * p.ve]);
      for (var r = 0u; r < R; r++) { sums[r] += chances[r * CHUNK + c] * x; }
    }
  }
  for (var r = 0u; r < R; r++) { shared_sums[lid][r] = sums[r]; }
  workgroupBarrier();
  if (lid < EV) {
    for (var r = 0u; r < R; r++) {
      var sum = 0.0;
      for (var t = lid; t < THREADS; t += WIDE) { sum += shared_sums[t][r]; }
      parts[to + r * (EV + 2u) + lid] = sum;
    }
  }
}
