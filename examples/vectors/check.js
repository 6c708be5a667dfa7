// Check a function against a file of test vectors, in Node without dependencies: node check.js softmax.safetensors
'use strict';
const fs = require('fs');

function softmax(x, width) { // the function to check: replace it by your own
  const y = new Float32Array(x.length);
  for (let i = 0; i < x.length; i += width) {
    const row = x.subarray(i, i + width), largest = row.reduce((a, b) => Math.max(a, b));
    const exponentials = Float64Array.from(row, v => Math.exp(v - largest)), sum = exponentials.reduce((a, b) => a + b);
    y.set(exponentials.map(e => e / sum), i);
  }
  return y;
}

const KINDS = {F64: Float64Array, F32: Float32Array, I64: BigInt64Array, I32: Int32Array, BOOL: Uint8Array}; // none of 16 bits

function read(path) {
  const bytes = fs.readFileSync(path), size = Number(bytes.readBigUInt64LE(0));
  const {__metadata__: metadata, ...described} = JSON.parse(bytes.subarray(8, 8 + size).toString()), arrays = {};
  for (const [name, {dtype, shape, data_offsets: [start, end]}] of Object.entries(described)) {
    const copy = new Uint8Array(bytes.subarray(8 + size + start, 8 + size + end)).buffer;
    arrays[name] = {shape, data: KINDS[dtype] && new KINDS[dtype](copy)};
  }
  return [metadata, arrays];
}

const [metadata, arrays] = read(process.argv[2]);
let checked = 0, failed = 0;
for (let number = 0; number < Number(metadata.count); number++) {
  const about = key => metadata[`${number}.${key}`], {shape, data: x} = arrays[`${number}.x`];
  const axis = Number(about('keywords.axis'));
  if (about('dtype') !== 'float32' || (axis !== -1 && axis !== shape.length - 1)) continue; // it has the last axis alone, and float32
  const low = arrays[`${number}.low`].data, high = arrays[`${number}.high`].data, y = softmax(x, shape.at(-1));
  checked++;
  // no claim is made where low is -inf and high is inf; a NaN is wrong everywhere else
  const wrong = y.length === low.length ? y.findIndex((v, i) => !(low[i] <= v && v <= high[i]) && high[i] - low[i] !== Infinity) : 0;
  if (wrong >= 0) {
    failed++;
    console.log(`vector ${number}, law ${about('law')}: element ${wrong} is ${y[wrong]}, not in [${low[wrong]}, ${high[wrong]}]`);
    console.log(`  so do: ${about('catches') || 'no known bugs'}`);
  }
}
console.log(`${metadata.operation}: ${checked} of ${metadata.count} vectors checked, ${failed} failed`);
process.exit(failed ? 1 : 0);
