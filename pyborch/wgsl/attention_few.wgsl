// Attention of a few queries over many keys, as in decoding: a workgroup walks up to CHUNK keys of one (batch, key head) for R rows (the queries
// of the heads that share it), so that keys and values are read once; what it finds are parts, which attention_join.wgsl puts together
// (flash decoding, Dao et al. 2023). A part of a row is EV4 fours of sums of exp(score - top) * value, then (top, sum of exp(score - top)).
// LANES threads read a key side by side, and WIDE threads a value; a thread has HELD keys, and AHEAD values, on their way at once.
// Prepended: const E, EV, R (at most 16), CHUNK (64, 128 or 256), LANES, HELD, WIDE, AHEAD, MASK (0 none, 1 added, 2 seen where not 0 and else
// p.fill, 3 the other way round), LATEST (the queries are the newest keys, and see none after themselves); arrays q and parts; mask_at();
// k4() and v4(), four elements of a row, zeros behind its end; length_of(b), place(b, key): (index of the first dim, index along the keys).
// Grid: batch * key heads * parts * blocks (of R rows). Workgroup memory: see few_bytes() in ops/decode.py.
struct Params {
  queries: u32, keys: u32, key_heads: u32, shared_by: u32, blocks: u32, parts: u32, count: u32, width: u32, scale: f32, fill: f32,
  q: u32, qb: u32, qh: u32, ql: u32, qe: u32, k: u32, kb: u32, kh: u32, kl: u32, ke: u32,
  v: u32, vb: u32, vh: u32, vl: u32, ve: u32, m: u32, mb: u32, mh: u32, ml: u32, ms: u32 }
const THREADS = 128u;
const E4 = (E + 3u) / 4u;
const EV4 = (EV + 3u) / 4u;
const PER = (E4 + LANES - 1u) / LANES;  // fours of a key that a thread reads
const QS = PER * LANES;
const SIDE = THREADS / LANES;           // keys side by side
const SLOTS = THREADS / WIDE;           // values side by side
const SPREAD = 8u;                      // threads of a row's softmax
const LOWEST = -3.4028234663852886e38;  // of what is not seen
var<workgroup> rows: array<vec4<f32>, R * QS>;
var<workgroup> scores: array<f32, R * CHUNK>;  // then chances
var<workgroup> sums: array<f32, R * THREADS>;
var<workgroup> values: array<vec4<f32>, THREADS>;
// Rows past the last one are the last one again.
fn row_of(block: u32, r: u32) -> u32 { return min(block * R + r, p.queries * p.shared_by - 1u); }
fn q4(at: u32, f: u32) -> vec4<f32> {
  var four = vec4<f32>(0.0);
  for (var n = 0u; n < 4u; n++) {
    if (4u * f + n < E) { four[n] = f32(q[at + (4u * f + n) * p.qe]); }
  }
  return four * p.scale;
}
fn score_of(dots: f32, b: u32, head: u32, query: u32, key: u32, length: u32) -> f32 {
  if (key >= length) { return LOWEST; }
  if (LATEST) {
    if (key + p.queries > length + query) { return LOWEST; }
  }
  if (MASK == 0u) { return dots; }
  let m = mask_at(p.m + b * p.mb + head * p.mh + query * p.ml + key * p.ms);
  if (MASK > 1u) { return select(dots, p.fill, (m != 0.0) == (MASK == 3u)); }
  return select(max(dots + m, -3.4028233e38), LOWEST, bitcast<u32>(m) == 0xff800000u);
}
@compute @workgroup_size(THREADS) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let g = group_index(wid, nwg);
  if (g >= p.count) { return; }
  let block = g % p.blocks;
  let start = g / p.blocks % p.parts * CHUNK;
  let key_head = g / p.blocks / p.parts % p.key_heads;
  let b = g / p.blocks / p.parts / p.key_heads;
  let length = length_of(b);
  if (start >= length) { return; }
  let size = min(CHUNK, length - start);
  for (var n = lid; n < R * QS; n += THREADS) {
    let row = row_of(block, n / QS);
    rows[n] = q4(p.q + b * p.qb + (key_head * p.shared_by + row / p.queries) * p.qh + row % p.queries * p.ql, n % QS);
  }
  workgroupBarrier();
  // scores
  let lane = lid % LANES;
  for (var tile = 0u; tile < size; tile += SIDE * HELD) {
    var dots: array<f32, R * HELD>;
    var at: array<u32, HELD>;
    for (var n = 0u; n < R * HELD; n++) { dots[n] = 0.0; }
    for (var n = 0u; n < HELD; n++) {
      let spot = place(b, min(start + tile + n * SIDE + lid / LANES, length - 1u));
      at[n] = p.k + spot.x * p.kb + key_head * p.kh + spot.y * p.kl;
    }
    for (var j = 0u; j < PER; j++) {
      let f = lane + j * LANES;
      var fours: array<vec4<f32>, HELD>;
      for (var n = 0u; n < HELD; n++) { fours[n] = k4(at[n], min(f, E4 - 1u)); }
      for (var r = 0u; r < R; r++) {
        let a = rows[r * QS + f];
        for (var n = 0u; n < HELD; n++) { dots[r * HELD + n] += dot(a, fours[n]); }
      }
    }
    for (var n = 0u; n < HELD; n++) {
      for (var r = 0u; r < R; r++) { sums[r * THREADS + lid] = dots[r * HELD + n]; }
      workgroupBarrier();
      for (var o = lid; o < R * SIDE; o += THREADS) {
        let r = o / SIDE;
        let c = o % SIDE;
        var sum = 0.0;
        for (var l = 0u; l < LANES; l++) { sum += sums[r * THREADS + c * LANES + (l + c) % LANES]; }  // turned: banks differ
        let row = row_of(block, r);
        let key = tile + n * SIDE + c;
        scores[r * CHUNK + key] = score_of(sum, b, key_head * p.shared_by + row / p.queries, row % p.queries, start + key, length);
      }
      workgroupBarrier();
    }
  }
  // chances
  let mine = lid / SPREAD;
  var top = LOWEST;
  var total = 0.0;
  if (mine < R) {
    for (var c = lid % SPREAD; c < size; c += SPREAD) { top = max(top, scores[mine * CHUNK + c]); }
  }
  sums[lid] = top;
  workgroupBarrier();
  if (mine < R) {
    for (var t = 0u; t < SPREAD; t++) { top = max(top, sums[mine * SPREAD + t]); }
    for (var c = lid % SPREAD; c < CHUNK; c += SPREAD) {
      var chance = 0.0;
      if (c < size) {
        let score = scores[mine * CHUNK + c];
        chance = select(exp(score - top), 0.0, score <= LOWEST);
      }
      scores[mine * CHUNK + c] = chance;
      total += chance;
    }
  }
  workgroupBarrier();
  sums[lid] = total;
  workgroupBarrier();
  let to = g * R * (EV4 + 1u);
  if (mine < R && lid % SPREAD == 0u) {
    total = 0.0;
    for (var t = 0u; t < SPREAD; t++) { total += sums[lid + t]; }
    parts[to + mine * (EV4 + 1u) + EV4] = vec4<f32>(top, total, 0.0, 0.0);
  }
  // values
  let slot = lid / WIDE;
  for (var first = 0u; first < EV4; first += WIDE) {
    let f = first + lid % WIDE;
    var found: array<vec4<f32>, R>;
    for (var r = 0u; r < R; r++) { found[r] = vec4<f32>(0.0); }
    for (var c = slot; c < size; c += SLOTS * AHEAD) {
      var fours: array<vec4<f32>, AHEAD>;
      for (var n = 0u; n < AHEAD; n++) {
        let spot = place(b, min(start + c + n * SLOTS, length - 1u));
        fours[n] = v4(p.v + spot.x * p.vb + key_head * p.vh + spot.y * p.vl, min(f, EV4 - 1u));
      }
      for (var n = 0u; n < AHEAD; n++) {
        for (var r = 0u; r < R; r++) { found[r] += scores[r * CHUNK + c + n * SLOTS] * fours[n]; }
      }
    }
    for (var r = 0u; r < R; r++) {
      values[lid] = found[r];
      workgroupBarrier();
      if (slot == 0u && f < EV4) {
        var sum = vec4<f32>(0.0);
        for (var s = lid; s < THREADS; s += WIDE) { sum += values[s]; }
        parts[to + r * (EV4 + 1u) + f] = sum;
      }
      workgroupBarrier();
    }
  }
}
