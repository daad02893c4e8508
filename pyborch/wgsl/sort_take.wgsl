// The results of a sort from where elements came from: y and index in the layout of x. Prepended: order.wgsl; arrays x, ids, y, index.
@compute @workgroup_size(256) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let at = group_index(wid, nwg) * 256u + lid;
  if (at >= p.rows * p.n) { return; }
  let row = at / p.n;
  let from_index = ids[at];
  y[place_of(row, at % p.n)] = x[p.offset + place_of(row, u32(from_index))];
  index[place_of(row, at % p.n)] = from_index;
}
