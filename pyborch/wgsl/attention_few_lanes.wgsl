// Attention of a few queries over many keys (attention_few.wgsl) in registers: LANES threads of a subgroup have HELD keys and their values at a
// time, add up scores by shuffles, and keep a running softmax of each row; the workgroup's threads come together once, at the end.
// R is at most 8. Limits: subgroups of at least LANES threads, and their builtin subgroup_id.
const SLOTS = THREADS / LANES;          // keys side by side
const PER_V = (EV4 + LANES - 1u) / LANES;
var<workgroup> tops: array<vec2<f32>, R * SLOTS>;  // and sums
var<workgroup> values: array<vec4<f32>, THREADS>;
@compute @workgroup_size(THREADS) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(subgroup_invocation_id) sid: u32, @builtin(subgroup_id) subgroup: u32, @builtin(subgroup_size) subgroup_size: u32) {
  let g = group_index(wid, nwg);
  if (g >= p.count) { return; }
  let block = g % p.blocks;
  let start = g / p.blocks % p.parts * CHUNK;
  let key_head = g / p.blocks / p.parts % p.key_heads;
  let b = g / p.blocks / p.parts / p.key_heads;
  let length = length_of(b);
  if (start >= length) { return; }
  let end = min(start + CHUNK, length);
  let lane = sid % LANES;
  let slot = subgroup * (subgroup_size / LANES) + sid / LANES;
  var a: array<vec4<f32>, R * PER>;
  var top: array<f32, R>;
  var total: array<f32, R>;
  var found: array<vec4<f32>, R * PER_V>;
  for (var r = 0u; r < R; r++) {
    let row = row_of(block, r);
    let at = p.q + b * p.qb + (key_head * p.shared_by + row / p.queries) * p.qh + row % p.queries * p.ql;
    for (var j = 0u; j < PER; j++) { a[r * PER + j] = q4(at, lane + j * LANES); }
    top[r] = LOWEST;
  }
  for (var tile = start; tile < end; tile += SLOTS * HELD) {
    var ks: array<vec4<f32>, HELD * PER>;
    var vs: array<vec4<f32>, HELD * PER_V>;
    for (var n = 0u; n < HELD; n++) {
      let spot = place(b, min(tile + n * SLOTS + slot, length - 1u));
      let k_at = p.k + spot.x * p.kb + key_head * p.kh + spot.y * p.kl;
      let v_at = p.v + spot.x * p.vb + key_head * p.vh + spot.y * p.vl;
      for (var j = 0u; j < PER; j++) { ks[n * PER + j] = k4(k_at, min(lane + j * LANES, E4 - 1u)); }
      for (var j = 0u; j < PER_V; j++) { vs[n * PER_V + j] = v4(v_at, min(lane + j * LANES, EV4 - 1u)); }
    }
    for (var r = 0u; r < R; r++) {
      let row = row_of(block, r);
      let head = key_head * p.shared_by + row / p.queries;
      var scores: array<f32, HELD>;
      var now = top[r];
      for (var n = 0u; n < HELD; n++) {
        var sum = 0.0;
        for (var j = 0u; j < PER; j++) { sum += dot(a[r * PER + j], ks[n * PER + j]); }
        for (var step = LANES / 2u; step > 0u; step /= 2u) { sum += subgroupShuffleXor(sum, step); }
        let key = tile + n * SLOTS + slot;
        scores[n] = select(LOWEST, score_of(sum, b, head, row % p.queries, min(key, length - 1u), length), key < end);
        now = max(now, scores[n]);
      }
      let shrink = exp(top[r] - now);
      top[r] = now;
      total[r] *= shrink;
      for (var j = 0u; j < PER_V; j++) { found[r * PER_V + j] *= shrink; }
      for (var n = 0u; n < HELD; n++) {
        let chance = select(exp(scores[n] - now), 0.0, scores[n] <= LOWEST);
        total[r] += chance;
        for (var j = 0u; j < PER_V; j++) { found[r * PER_V + j] += chance * vs[n * PER_V + j]; }
      }
    }
  }
  if (lane == 0u) {
    for (var r = 0u; r < R; r++) { tops[r * SLOTS + slot] = vec2<f32>(top[r], total[r]); }
  }
  workgroupBarrier();
  for (var r = 0u; r < R; r++) {
    let to = (g * R + r) * (EV4 + 1u);
    var highest = LOWEST;
    var sum = 0.0;
    for (var s = 0u; s < SLOTS; s++) { highest = max(highest, tops[r * SLOTS + s].x); }
    for (var s = 0u; s < SLOTS; s++) { sum += tops[r * SLOTS + s].y * exp(tops[r * SLOTS + s].x - highest); }
    if (lane == 0u && slot == 0u) { parts[to + EV4] = vec4<f32>(highest, sum, 0.0, 0.0); }
    for (var j = 0u; j < PER_V; j++) {
      values[slot * LANES + lane] = found[r * PER_V + j] * exp(top[r] - highest);
      workgroupBarrier();
      if (slot == 0u && lane + j * LANES < EV4) {
        var four = vec4<f32>(0.0);
        for (var s = 0u; s < SLOTS; s++) { four += values[s * LANES + lane]; }
        parts[to + lane + j * LANES] = four;
      }
      workgroupBarrier();
    }
  }
}
