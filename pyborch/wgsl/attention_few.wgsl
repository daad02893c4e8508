// Attention of a few queries over many keys, as in decoding: what the kernels of attention_few_groups.wgsl and attention_few_lanes.wgsl share.
// A workgroup walks up to CHUNK keys of one (batch, key head) for R rows (the queries of the heads that share it), so that keys and values are read
// once; what it finds are parts, which attention_join.wgsl puts together (flash decoding, Dao et al. 2023). A part of a row is EV4 fours of sums of
// exp(score - top) * value, then (top, sum of exp(score - top)).
// Prepended: const E, EV, R, CHUNK, LANES, HELD, MASK (0 none, 1 added, 2 seen where not 0 and else p.fill, 3 the other way round), LATEST (the
// queries are the newest keys, and see none after themselves); arrays q and parts; mask_at(); k4() and v4(), four elements of a row, zeros behind
// its end; length_of(b), place(b, key): (index of the first dim, index along the keys).
// Grid: batch * key heads * parts * blocks (of R rows).
struct Params {
  queries: u32, keys: u32, key_heads: u32, shared_by: u32, blocks: u32, parts: u32, count: u32, width: u32, scale: f32, fill: f32,
  q: u32, qb: u32, qh: u32, ql: u32, qe: u32, k: u32, kb: u32, kh: u32, kl: u32, ke: u32,
  v: u32, vb: u32, vh: u32, vl: u32, ve: u32, m: u32, mb: u32, mh: u32, ml: u32, ms: u32 }
const THREADS = 128u;
const E4 = (E + 3u) / 4u;
const EV4 = (EV + 3u) / 4u;
const PER = (E4 + LANES - 1u) / LANES;  // fours of a key that a thread reads
const LOWEST = -3.4028234663852886e38;  // of what is not seen
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
