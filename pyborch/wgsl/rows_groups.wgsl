// Rows with a group of 256 lanes each: the caller gives fn row_work(row: u32, lane: u32) and p.rows; all_sum and all_max join the lanes.
const LANES = 256u;
var<workgroup> shared_lanes: array<f32, 256>;
var<private> my_lane: u32;
fn all_sum(v: f32) -> f32 {
  shared_lanes[my_lane] = v;
  for (var half = 128u; half > 0u; half >>= 1u) {
    workgroupBarrier();
    if (my_lane < half) { shared_lanes[my_lane] += shared_lanes[my_lane + half]; }
  }
  workgroupBarrier();
  let r = shared_lanes[0];
  workgroupBarrier();
  return r;
}
fn all_max(v: f32) -> f32 {
  shared_lanes[my_lane] = v;
  for (var half = 128u; half > 0u; half >>= 1u) {
    workgroupBarrier();
    if (my_lane < half) { shared_lanes[my_lane] = max_nan(shared_lanes[my_lane], shared_lanes[my_lane + half]); }
  }
  workgroupBarrier();
  let r = shared_lanes[0];
  workgroupBarrier();
  return r;
}
@compute @workgroup_size(256) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  my_lane = lid;
  let row = group_index(wid, nwg);
  if (row < p.rows) { row_work(row, lid); }
}
