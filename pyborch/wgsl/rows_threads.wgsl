// Rows with a thread each, 64 per group: the caller gives fn row_work(row: u32, lane: u32) and p.rows.
const LANES = 1u;
fn all_sum(v: f32) -> f32 { return v; }
fn all_max(v: f32) -> f32 { return v; }
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let row = group_index(wid, nwg) * 64u + lid;
  if (row < p.rows) { row_work(row, 0u); }
}
