// The process protocol in JavaScript, for Node, without dependencies: call serve(description, handle).
// handle(operation, arrays, keywords) returns {dtype, shape, data}, several of them as {results: {name: …}}, or {value: …};
// data is a typed array. It throws NotImplemented for what it does not have.
'use strict';
const fs = require('fs');
const KINDS = {F64: Float64Array, F32: Float32Array, F16: Uint16Array, BF16: Uint16Array, I64: BigInt64Array, I32: Int32Array, U32: Uint32Array, BOOL: Uint8Array, I8: Int8Array, U8: Uint8Array};
const DTYPES = {float64: 'F64', float32: 'F32', float16: 'F16', bfloat16: 'BF16', int64: 'I64', int32: 'I32', bool: 'BOOL'};
class NotImplemented extends Error {}

function pack(metadata, arrays) {
  const header = {__metadata__: metadata}, parts = [];
  let start = 0;
  for (const [name, {dtype, shape, data}] of Object.entries(arrays)) {
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    header[name] = {dtype, shape, data_offsets: [start, start += bytes.length]};
    parts.push(bytes);
  }
  const text = Buffer.from(JSON.stringify(header)), padding = Buffer.alloc((8 - text.length % 8) % 8, ' '), size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length + padding.length));
  return Buffer.concat([size, text, padding, ...parts]);
}

function read(size, mayEnd) { // synchronously, so that no other code runs in between
  const bytes = Buffer.from(new ArrayBuffer(size));
  for (let have = 0; have < size;) {
    let count = 0;
    try { count = fs.readSync(0, bytes, have, size - have, null); } catch (e) { if (e.code === 'EAGAIN') continue; if (e.code !== 'EOF') throw e; }
    if (!count && !have && mayEnd) process.exit(0);
    if (!count) throw new Error('the input ends early');
    have += count;
  }
  return bytes;
}

function receive() {
  const size = read(8, true).readBigUInt64LE();
  if (size > 1n << 20n) throw new Error('its header is too large');
  const {__metadata__: metadata = {}, ...described} = JSON.parse(read(Number(size)).toString());
  const length = Math.max(0, ...Object.values(described).map(({data_offsets: [, end]}) => end)), data = read(length), arrays = {};
  for (const [name, {dtype, shape, data_offsets: [start, end]}] of Object.entries(described)) {
    const count = shape.reduce((a, b) => a * (b >= 0 ? b : NaN), 1), kind = KINDS[dtype];
    if (!kind || end - start !== count * kind.BYTES_PER_ELEMENT) throw new Error(`the array ${name}`);
    arrays[name] = {dtype, shape, data: new kind(data.buffer.slice(data.byteOffset + start, data.byteOffset + end))};
  }
  return [metadata, arrays];
}

async function serve(description, handle) {
  for (const name of ['log', 'info', 'debug']) console[name] = console.error; // standard output is the channel
  for (let quits = false; !quits;) {
    const [{request, operation, ...keywords}, arrays] = receive();
    let answer = pack({}, {});
    try {
      quits = request === 'quit';
      if (request === 'describe') answer = pack({describe: JSON.stringify(description)}, {});
      else if (request === 'call') {
        const result = await handle(operation, arrays, keywords);
        answer = 'value' in result ? pack({value: JSON.stringify(result.value)}, {}) : pack({}, result.results || {result});
      } else if (!quits) throw new Error(`unknown request ${request}`);
    } catch (e) {
      answer = pack(e instanceof NotImplemented ? {not_implemented: e.message} : {error: String(e), ...(e.lost && {lost: 'true'})}, {});
    }
    for (let sent = 0; sent < answer.length;) {
      try { sent += fs.writeSync(1, answer, sent); } catch (e) { if (e.code !== 'EAGAIN') throw e; }
    }
  }
  process.exit(0);
}
module.exports = {serve, NotImplemented, KINDS, DTYPES};
