// Check plain functions against a folder of test vectors, in Node without dependencies: node check_plain.js vectors
'use strict';
const fs = require('fs'), path = require('path');

// The functions to check: replace them by your own. Each takes arrays {shape, data} and keywords by their names, and returns numbers.
const FUNCTIONS = {
  rms_norm: {arrays: ['x', 'weight'], keywords: {eps: undefined}, call: ({x, weight, eps}) => byRows(x, row => {
    const scale = 1 / Math.sqrt(row.reduce((sum, v) => sum + v * v, 0) / row.length + eps);
    return row.map((v, i) => v * scale * weight.data[i]);
  })},
  rope: {arrays: ['x', 'positions'], keywords: {theta: 10000}, call: ({x, positions, theta}) => {
    const n = x.shape.at(-2), d = x.shape.at(-1), each = positions.data.length === n; // one row of positions for the whole batch
    return byRows(x, (row, r) => row.map((v, i) => {
      const angle = Number(positions.data[each ? r % n : r]) * theta ** (-2 * (i >> 1) / d), other = row[i ^ 1];
      return v * Math.cos(angle) + (i % 2 ? other : -other) * Math.sin(angle);
    }));
  }},
  swiglu: {arrays: ['x', 'w1', 'w2', 'w3'], keywords: {}, call: ({x, w1, w2, w3}) => byRows(x, row => {
    const gate = times(w1, row), up = times(w3, row);
    return times(w2, gate.map((g, i) => g / (1 + Math.exp(-g)) * up[i]));
  })},
};
const byRows = ({shape, data}, f) => { // f of each row of the last axis
  const width = shape.at(-1), rows = width ? data.length / width : 0;
  return Array.from({length: rows}, (_, r) => f(Array.from(data.subarray(r * width, (r + 1) * width)), r)).flat();
};
const times = ({shape: [rows, width], data}, x) =>
  Array.from({length: rows}, (_, r) => x.reduce((sum, v, i) => sum + v * data[r * width + i], 0));

const KINDS = {F64: Float64Array, F32: Float32Array, I64: BigInt64Array, I32: Int32Array, BOOL: Uint8Array};
function read(file) {
  const bytes = fs.readFileSync(file), size = Number(bytes.readBigUInt64LE(0));
  const {__metadata__: metadata, ...entries} = JSON.parse(bytes.subarray(8, 8 + size).toString());
  const vectors = Array.from({length: Number(metadata.count)}, () => ({about: {}, arrays: {}}));
  const split = name => [name.slice(0, name.indexOf('.')), name.slice(name.indexOf('.') + 1)];
  for (const [name, text] of Object.entries(metadata)) if (/^\d/.test(name)) vectors[split(name)[0]].about[split(name)[1]] = text;
  for (const [name, {dtype, shape, data_offsets: [start, end]}] of Object.entries(entries)) {
    const data = KINDS[dtype] && new KINDS[dtype](new Uint8Array(bytes.subarray(8 + size + start, 8 + size + end)).buffer);
    vectors[split(name)[0]].arrays[split(name)[1]] = {shape, data};
  }
  return vectors;
}

let failures = 0;
for (const [operation, {arrays: names, keywords, call}] of Object.entries(FUNCTIONS)) {
  const file = path.join(process.argv[2], `${operation}.safetensors`);
  if (!fs.existsSync(file)) continue;
  let checked = 0, failed = 0;
  const vectors = read(file);
  for (const [number, {about, arrays: {value, low, high, ...given}}] of vectors.entries()) {
    const stated = Object.keys(about).filter(key => key.startsWith('keywords.')).map(key => key.slice('keywords.'.length));
    if (about.dtype !== 'float32' || Object.keys(given).some(x => !names.includes(x)) || stated.some(key => !(key in keywords))) continue;
    const numbers = Object.fromEntries(stated.map(key => [key, Number(about[`keywords.${key}`])])); // a keyword that is not there has its default
    const y = Float32Array.from(call({...keywords, ...given, ...numbers}));
    const wrong = y.length === low.data.length // where low is -inf and high is inf nothing is claimed; a NaN is wrong everywhere else
      ? y.findIndex((v, i) => !(low.data[i] <= v && v <= high.data[i]) && high.data[i] - low.data[i] !== Infinity) : 0;
    checked++;
    if (wrong >= 0 && ++failed < 4) console.log(`${operation}, vector ${number}: element ${wrong} is ${y[wrong]}, not in [${low.data[wrong]}, ${high.data[wrong]}]`);
  }
  console.log(`${operation}: ${checked} of ${vectors.length} vectors checked, ${failed} failed`);
  failures += failed;
}
process.exit(failures ? 1 : 0);
