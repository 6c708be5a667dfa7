// ONNX Runtime Web (WebAssembly) in Node as a backend: each operation is a model of one node, as ONNX defines it.
'use strict';
const ort = require('onnxruntime-web');
const {serve, NotImplemented} = require('../javascript/spec_server.js');

// --- a model of one node, in protocol buffers: a field is its number and its kind, and then a whole number or counted bytes ---

function varint(n) {
  const bytes = [];
  for (n = BigInt.asUintN(64, BigInt(n)); n > 127n; n >>= 7n) bytes.push(Number(n & 127n) | 128);
  return Buffer.from([...bytes, Number(n)]);
}
const bytesField = (number, content) => Buffer.concat([varint(number << 3 | 2), varint(Buffer.from(content).length), Buffer.from(content)]);
const intField = (number, n) => Buffer.concat([varint(number << 3), varint(n)]);
function floatField(number, x) {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(x);
  return Buffer.concat([varint(number << 3 | 5), bytes]);
}
class Float { constructor(value) { this.value = Number(value); } }

function attribute(name, value) { // name 1, float 2, integer 3, string 4, type 20
  const parts = typeof value === 'string' ? [bytesField(4, value), intField(20, 3)]
    : value instanceof Float ? [floatField(2, value.value), intField(20, 1)] : [intField(3, value), intField(20, 2)];
  return Buffer.concat([bytesField(1, name), ...parts]);
}

const ELEMENTS = {F32: 1, I32: 6, I64: 7, BOOL: 9, F16: 10, F64: 11}; // of ONNX
const valueInfo = (name, dtype) => Buffer.concat([bytesField(1, name), bytesField(2, bytesField(1, intField(1, ELEMENTS[dtype])))]);

function model(operator, dtypes, attributes, result) {
  const names = dtypes.map((dtype, i) => dtype ? `x${i}` : '');
  const node = Buffer.concat([
    ...names.map(name => bytesField(1, name)), bytesField(2, 'y'), bytesField(4, operator),
    ...Object.entries(attributes).map(([name, value]) => bytesField(5, attribute(name, value))),
  ]);
  const inputs = dtypes.flatMap((dtype, i) => dtype ? [bytesField(11, valueInfo(names[i], dtype))] : []);
  const graph = Buffer.concat([bytesField(1, node), bytesField(2, operator), ...inputs, bytesField(12, valueInfo('y', result))]);
  return Buffer.concat([intField(1, 10), bytesField(7, graph), bytesField(8, Buffer.concat([bytesField(1, ''), intField(2, 23)]))]);
}

// --- running it ---

const TYPES = {F64: 'float64', F32: 'float32', F16: 'float16', I64: 'int64', I32: 'int32', BOOL: 'bool'};
const CODES = Object.fromEntries(Object.entries(TYPES).map(([code, name]) => [name, code]));
const sessions = new Map();

async function run(operator, arrays, attributes = {}, result = arrays[0].dtype) {
  const dtypes = arrays.map(array => array && array.dtype), key = JSON.stringify([operator, dtypes, attributes]);
  if (!sessions.has(key)) {
    try {
      const bytes = new Uint8Array(model(operator, dtypes, attributes, result));
      sessions.set(key, await ort.InferenceSession.create(bytes, {logSeverityLevel: 4}));
    } catch (error) {
      if (/NOT_IMPLEMENTED|Could not find an implementation/.test(error.message)) throw new NotImplemented(`${operator} of ${dtypes}`);
      throw error;
    }
  }
  const feeds = {};
  arrays.forEach((array, i) => { if (array) feeds[`x${i}`] = new ort.Tensor(TYPES[array.dtype], array.data, array.shape); });
  const {y} = await sessions.get(key).run(feeds);
  return {dtype: CODES[y.type], shape: [...y.dims], data: y.data};
}

const reshape = (array, shape) => ({...array, shape});
async function linear({x, weight, bias}) { // Gemm takes matrices
  const rows = x.shape.slice(0, -1).reduce((a, b) => a * b, 1), matrix = reshape(x, [rows, weight.shape[1]]);
  return reshape(await run('Gemm', bias ? [matrix, weight, bias] : [matrix, weight], {transB: 1}), [...x.shape.slice(0, -1), weight.shape[0]]);
}

const size = dims => dims.reduce((a, b) => a * b, 1);

function expand(array, shape) { // to a whole mask, as Attention takes it: its last two axes may be 1, and its batch axes may be absent
  const own = [...Array(shape.length - array.shape.length).fill(1), ...array.shape], data = new array.data.constructor(size(shape));
  for (let i = 0; i < data.length; i++) {
    let from = 0, rest = i, stride = 1;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      from += own[axis] > 1 ? (rest % shape[axis]) * stride : 0;
      rest = Math.floor(rest / shape[axis]);
      stride *= own[axis];
    }
    data[i] = array.data[from];
  }
  return {dtype: array.dtype, shape, data};
}

async function attention({q, k, v, mask, bias}, {is_causal, scale}) { // Attention has four dimensions: batch, heads, tokens, features
  if (mask && bias) throw new NotImplemented('mask and bias together');
  if (scale !== 'null' && Number(scale) <= 0) throw new NotImplemented('Attention refuses a scale that is not positive');
  const batch = q.shape.slice(0, -2), added = mask || bias, fold = array => reshape(array, [size(batch), 1, ...array.shape.slice(-2)]);
  if ([k, v].some(array => String(array.shape.slice(0, -2)) !== String(batch))) throw new NotImplemented('batches that differ');
  if (added && added.shape.length > q.shape.length) throw new NotImplemented('a mask with more batch axes than the queries');
  const inputs = [fold(q), fold(k), fold(v), ...(added ? [fold(expand(added, [...batch, q.shape.at(-2), k.shape.at(-2)]))] : [])];
  const attributes = {is_causal: is_causal === 'true' ? 1 : 0, ...(scale !== 'null' && {scale: new Float(scale)})};
  return reshape(await run('Attention', inputs, attributes), [...q.shape.slice(0, -1), v.shape.at(-1)]);
}

// for each operation: its function, its arrays, those that are optional, and its keywords
const OPERATIONS = {
  relu: [({x}) => run('Relu', [x]), ['x']],
  sigmoid: [({x}) => run('Sigmoid', [x]), ['x']],
  silu: [async ({x}) => run('Mul', [x, await run('Sigmoid', [x])]), ['x']], // Swish is of opset 24
  gelu: [({x}, {approximate}) => run('Gelu', [x], {approximate}), ['x'], [], ['approximate']],
  softmax: [({x}, {axis}) => run('Softmax', [x], {axis: Number(axis)}), ['x'], [], ['axis']],
  log_softmax: [({x}, {axis}) => run('LogSoftmax', [x], {axis: Number(axis)}), ['x'], [], ['axis']],
  embedding: [({token_ids, weight}) => run('Gather', [weight, token_ids], {axis: 0}), ['token_ids', 'weight']],
  linear: [linear, ['x', 'weight'], ['bias']],
  layer_norm: [
    ({x, weight, bias}, {eps}) => run('LayerNormalization', [x, weight, bias], {axis: -1, epsilon: new Float(eps)}),
    ['x', 'weight', 'bias'], [], ['eps'],
  ],
  rms_norm: [({x, weight}, {eps}) => run('RMSNormalization', [x, weight], {axis: -1, epsilon: new Float(eps)}), ['x', 'weight'], [], ['eps']],
  scaled_dot_product_attention: [attention, ['q', 'k', 'v'], ['mask', 'bias'], ['is_causal', 'scale']],
};
const operations = Object.fromEntries(
  Object.entries(OPERATIONS).map(([name, [, arrays, optional = [], keywords = []]]) => [name, {arrays, optional, keywords}]));

ort.env.wasm.numThreads = 1;
const description = {
  protocol: 1, name: 'ONNX Runtime Web (WebAssembly)', version: ort.env.versions.web, dtypes: ['float64', 'float32', 'float16'], operations,
  conventions: {causal_alignment: 'top-left', fully_masked_rows: 'zero'},
  domain: {scaled_dot_product_attention: {empty: false}}, // refused: "Batch size must be greater than 0"
};
serve(description, (operation, arrays, keywords) => {
  if (!Object.hasOwn(OPERATIONS, operation)) throw new NotImplemented(operation);
  for (const {dtype} of Object.values(arrays)) if (!TYPES[dtype]) throw new NotImplemented(`${operation} of ${dtype}`);
  return OPERATIONS[operation][0](arrays, keywords);
});
