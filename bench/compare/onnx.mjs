// Writes ONNX models: as much of the protobuf format and of onnx.proto as a graph of few nodes needs.
const FLOAT = 1, INT64 = 7;                    // TensorProto.DataType
const ATTRIBUTE_FLOAT = 1, ATTRIBUTE_INT = 2, ATTRIBUTE_INTS = 7;
const text = new TextEncoder();

function joined(parts) {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

// A number by seven bits, low ones first; a set eighth bit says that more follow. Negative ones are 64 bits in two's complement.
function varint(number) {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(number));
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Uint8Array.of(...bytes, Number(rest));
}

const int = (field, number) => joined([varint(field << 3), varint(number)]);
const float = (field, number) => joined([varint(field << 3 | 5), new Uint8Array(Float32Array.of(number).buffer)]);
const bytes = (field, content) => joined([varint(field << 3 | 2), varint(content.length), content]);
const string = (field, content) => bytes(field, text.encode(content));
const message = (field, ...parts) => bytes(field, joined(parts));

// An attribute is named so that its kind can be told: {axis: -1}, {pads: [1, 1]}, {epsilon: {float: 1e-5}}.
function attribute([name, value]) {
  const kind = Array.isArray(value) ? ATTRIBUTE_INTS : typeof value === "object" ? ATTRIBUTE_FLOAT : ATTRIBUTE_INT;
  const single = () => kind === ATTRIBUTE_FLOAT ? float(2, value.float) : int(3, value);
  const content = kind === ATTRIBUTE_INTS ? value.map((v) => int(8, v)) : [single()];
  return message(5, string(1, name), ...content, int(20, kind));
}

// node(["x", "w"], "MatMul", ["y"], {}) -> NodeProto
export function node(inputs, op, outputs, attributes = {}) {
  return message(1, ...inputs.map((name) => string(1, name)), ...outputs.map((name) => string(2, name)), string(4, op),
    ...Object.entries(attributes).map(attribute));
}

// A tensor that the graph holds; ints are int64.
export function constant(name, { data, shape }) {
  const raw = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const type = data instanceof BigInt64Array ? INT64 : FLOAT;
  return message(5, ...shape.map((n) => int(1, n)), int(2, type), string(8, name), bytes(9, raw));
}

function value(field, [name, shape]) {
  const dimensions = message(2, ...shape.map((n) => message(1, int(1, n))));
  return message(field, string(1, name), message(2, message(1, int(1, FLOAT), dimensions)));
}

// The bytes of a ModelProto of opset 17; inputs and outputs are {name: shape}, all float32.
export function model({ nodes, constants = [], inputs, outputs }) {
  const ends = [...Object.entries(inputs).map((e) => value(11, e)), ...Object.entries(outputs).map((e) => value(12, e))];
  const graph = message(7, ...nodes, string(2, "graph"), ...constants, ...ends);
  return joined([int(1, 8), graph, message(8, string(1, ""), int(2, 17))]);
}
