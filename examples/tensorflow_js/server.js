// TensorFlow.js' own functions, and its own gradients, as a backend: node server.js cpu, or wasm. The .toml files start it.
'use strict';
const tf = require('@tensorflow/tfjs');
const {serve, NotImplemented, KINDS} = require('../javascript/spec_server.js');

const which = process.argv[2] || 'cpu';
if (which === 'wasm') require('@tensorflow/tfjs-backend-wasm');

const rank = x => x.shape.length;
const activations = {};
const activate = (name, x) => (activations[name] ??= tf.layers.activation({activation: name})).apply(x);

function linear(x, weight, bias) { // tf.matMul takes matrices
  const y = tf.matMul(x.reshape([-1, weight.shape[1]]), weight, false, true).reshape([...x.shape.slice(0, -1), weight.shape[0]]);
  return bias ? y.add(bias) : y;
}

function attention({q, k, v, mask, bias}, {is_causal, scale}) {
  let scores = tf.matMul(q, k, false, true).mul(scale === 'null' ? 1 / Math.sqrt(q.shape.at(-1)) : Number(scale));
  if (bias) scores = scores.add(bias);
  if (is_causal === 'true') {
    const [n, m] = scores.shape.slice(-2);
    const causal = tf.tensor(Uint8Array.from({length: n * m}, (_, i) => i % m <= Math.floor(i / m)), [n, m], 'bool');
    mask = mask ? tf.logicalAnd(mask, causal) : causal;
  }
  if (mask) scores = tf.where(tf.broadcastTo(mask, scores.shape), scores, tf.fill(scores.shape, -Infinity));
  return tf.matMul(tf.softmax(scores, -1), v);
}

function layerNorm({x, weight, bias}, {eps}) { // as tf.layers.layerNormalization does it: moments, then batchNorm
  if (rank(x) > 4) throw new NotImplemented('tf.batchNorm takes at most four dimensions');
  const {mean, variance} = tf.moments(x, -1, true), full = t => tf.broadcastTo(t, x.shape);
  return tf.batchNorm(x, full(mean), full(variance), full(bias), full(weight), Number(eps));
}

// for each operation: its function, its arrays, those that are optional, and its keywords
const OPERATIONS = {
  relu: [({x}) => tf.relu(x), ['x']],
  sigmoid: [({x}) => tf.sigmoid(x), ['x']],
  silu: [({x}) => activate('swish', x), ['x']],
  gelu: [({x}, {approximate}) => activate(approximate === 'tanh' ? 'gelu_new' : 'gelu', x), ['x'], [], ['approximate']],
  softmax: [({x}) => tf.softmax(x, -1), ['x']], // tf.softmax and tf.logSoftmax have the last axis alone
  log_softmax: [({x}) => tf.logSoftmax(x, -1), ['x']],
  logsumexp: [({x}, {axis}) => tf.logSumExp(x, Number(axis)), ['x'], [], ['axis']],
  embedding: [({token_ids, weight}) => tf.gather(weight, token_ids), ['token_ids', 'weight']],
  linear: [({x, weight, bias}) => linear(x, weight, bias), ['x', 'weight'], ['bias']],
  glu: [({x, w1, w2}) => tf.mul(tf.sigmoid(linear(x, w1)), linear(x, w2)), ['x', 'w1', 'w2']],
  swiglu: [({x, w1, w2, w3}) => linear(tf.mul(activate('swish', linear(x, w1)), linear(x, w3)), w2), ['x', 'w1', 'w2', 'w3']],
  feed_forward: [
    ({x, w1, w2, b1, b2}, {activation}) => linear(activate(activation, linear(x, w1, b1)), w2, b2),
    ['x', 'w1', 'w2'], ['b1', 'b2'], ['activation'],
  ],
  layer_norm: [layerNorm, ['x', 'weight', 'bias'], [], ['eps']],
  rms_norm: [
    ({x, weight}, {eps}) => x.mul(tf.rsqrt(tf.mean(tf.square(x), -1, true).add(Number(eps)))).mul(weight),
    ['x', 'weight'], [], ['eps'],
  ],
  scaled_dot_product_attention: [attention, ['q', 'k', 'v'], ['mask', 'bias'], ['is_causal', 'scale']],
};

const operations = {};
for (const [name, [, arrays, optional = [], keywords = []]] of Object.entries(OPERATIONS)) {
  operations[name] = {arrays, optional, keywords};
  operations[`${name}_vjp`] = {arrays: ['cotangent', ...arrays], optional, keywords};
}

const CODES = {float32: 'F32', int32: 'I32', bool: 'BOOL'};
const receive = ({dtype, shape, data}) => tf.tensor(data, shape, {F32: 'float32', I32: 'int32', BOOL: 'bool'}[dtype]);
const send = t => ({dtype: CODES[t.dtype], shape: t.shape, data: KINDS[CODES[t.dtype]].from(t.dataSync())});

function differentiate(call, {cotangent, ...arrays}, keywords) {
  const names = Object.keys(arrays).filter(name => arrays[name].dtype === 'float32');
  const named = inputs => ({...arrays, ...Object.fromEntries(names.map((name, i) => [name, inputs[i]]))});
  const gradients = tf.grads((...inputs) => call(named(inputs), keywords))(names.map(name => arrays[name]), cotangent);
  return {results: Object.fromEntries(names.map((name, i) => [name, send(gradients[i])]))};
}

async function main() {
  await tf.setBackend(which);
  await tf.ready();
  const description = {
    protocol: 1, name: `TensorFlow.js (${tf.getBackend()})`, version: tf.version.tfjs, dtypes: ['float32'], integer: 'int32', operations,
    conventions: {causal_alignment: 'top-left', fully_masked_rows: 'nan'},
  };
  await serve(description, (operation, arrays, keywords) => {
    tf.engine().startScope(); // which frees the tensors of the call
    try {
      const [call] = OPERATIONS[operation.replace(/_vjp$/, '')] || [], tensors = {};
      if (!call) throw new NotImplemented(operation);
      for (const [name, array] of Object.entries(arrays)) {
        if (!['F32', 'I32', 'BOOL'].includes(array.dtype)) throw new NotImplemented(`${operation} of ${array.dtype}`);
        tensors[name] = receive(array);
      }
      return operation.endsWith('_vjp') ? differentiate(call, tensors, keywords) : send(call(tensors, keywords));
    } catch (error) {
      error.lost = /memory access out of bounds|unreachable|table index is out of bounds/.test(error.message); // of WebAssembly
      throw error;
    } finally {
      tf.engine().endScope();
    }
  });
}
main();
