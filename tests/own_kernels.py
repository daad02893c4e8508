"""Kernels of users' own, as the tests on both devices use them."""
import pyborch as torch


def scaled(reference=lambda np, x, factor: x * np.float32(factor)):
    """y = x * factor, with a gradient."""
    return torch.kernels.compile("""
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
          if (id.x < p.y_count) { y[id.x] = x[id.x] * p.factor; }
        }""", inputs={"x": torch.float32}, outputs={"y": "x"}, params={"factor": "f32"}, grad={"x": lambda g, factor: g * factor},
                                 reference=reference, name="scaled")


def picked():
    """Rows of a table by index, and how far they reach: two inputs, two outputs, groups of its own."""
    return torch.kernels.compile("""
        @compute @workgroup_size(8) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
            @builtin(local_invocation_index) lid: u32) {
          let row = group_index(wid, nwg);
          let width = p.rows_count / p.at_count;
          var most = 0.0;
          for (var k = 0u; k < width; k++) {
            let v = table[u32(at[row]) * width + k];
            if (lid == 0u) { rows[row * width + k] = v; }
            most = max(most, abs(v));
          }
          if (lid == 0u) { reach[row] = most; }
        }""", inputs={"table": "float32", "at": "int64"},
        outputs={"rows": lambda table, at: ((*at.shape, table.shape[1]), table.dtype), "reach": lambda table, at: (at.shape, table.dtype)},
        groups=lambda table, at, rows, reach: at.numel, reference=lambda np, table, at: (table[at], abs(table[at]).max(-1)))
