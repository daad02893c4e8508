// Stable sort of rows of up to SIZE elements (a power of two, at most 2,048), a workgroup each: a bitonic network in workgroup memory, over pairs of
// key (order.wgsl) and index, which are all different. y: sorted values, index: where they came from.
// Prepended: const SIZE, order.wgsl; alias T, V; arrays x, y, index. Grid: rows.
const THREADS = min(256u, SIZE / 2u);
var<workgroup> keys: array<u32, SIZE>;
var<workgroup> from_index: array<u32, SIZE>;
@compute @workgroup_size(THREADS) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let row = group_index(wid, nwg);
  if (row >= p.rows) { return; }
  for (var k = lid; k < SIZE; k += THREADS) {
    keys[k] = 0xffffffffu;
    if (k < p.n) { keys[k] = key_of(V(x[p.offset + place_of(row, k)])); }
    from_index[k] = k;
  }
  workgroupBarrier();
  for (var width = 2u; width <= SIZE; width *= 2u) {
    for (var apart = width / 2u; apart > 0u; apart /= 2u) {
      for (var t = lid; t < SIZE / 2u; t += THREADS) {
        let i = 2u * t - (t & (apart - 1u));
        let j = i + apart;
        let later = keys[i] > keys[j] || (keys[i] == keys[j] && from_index[i] > from_index[j]);
        if (later == ((i & width) == 0u)) {
          let key = keys[i];
          let came_from = from_index[i];
          keys[i] = keys[j];
          from_index[i] = from_index[j];
          keys[j] = key;
          from_index[j] = came_from;
        }
      }
      workgroupBarrier();
    }
  }
  for (var k = lid; k < p.n; k += THREADS) {
    y[place_of(row, k)] = x[p.offset + place_of(row, from_index[k])];
    index[place_of(row, k)] = i32(from_index[k]);
  }
}
