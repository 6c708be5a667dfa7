// Functions as a student writes them. logsumexp is wrong on purpose: the maximum is not subtracted. Try it with
//   pytest --pyargs spec_tests --backend="process:node student.js"
'use strict';
const {serve, NotImplemented} = require('./spec_server.js');

const description = {
  protocol: 1, name: 'student-js', version: process.version, dtypes: ['float32', 'float64'],
  operations: {relu: {arrays: ['x']}, softmax: {arrays: ['x']}, linear: {arrays: ['x', 'weight'], optional: ['bias']}, logsumexp: {arrays: ['x']}},
};

const rows = ({shape, data}) => {
  const d = data.length ? shape.at(-1) : 1;
  return Array.from({length: data.length / d}, (_, i) => data.subarray(i * d, (i + 1) * d));
};

const operations = {
  relu: ({x}) => ({...x, data: x.data.map(v => v < 0 ? 0 : v)}),

  softmax({x}) {
    const data = x.data.slice();
    for (const row of rows({...x, data})) {
      const largest = row.reduce((a, b) => Math.max(a, b));
      const exponentials = Float64Array.from(row, v => Math.exp(v - largest)), sum = exponentials.reduce((a, b) => a + b);
      row.set(exponentials.map(e => e / sum));
    }
    return {...x, data};
  },

  linear({x, weight, bias}) {
    const [out, d] = weight.shape, count = x.shape.slice(0, -1).reduce((a, b) => a * b, 1), data = new x.data.constructor(count * out);
    for (let i = 0; i < count; i++) {
      for (let o = 0; o < out; o++) {
        let sum = 0; // in float64
        for (let j = 0; j < d; j++) sum += x.data[i * d + j] * weight.data[o * d + j];
        data[i * out + o] = sum + (bias ? bias.data[o] : 0);
      }
    }
    return {dtype: x.dtype, shape: [...x.shape.slice(0, -1), out], data};
  },

  logsumexp({x}) { // wrong
    const sums = rows(x).map(row => Math.log(row.reduce((a, b) => a + Math.exp(b), 0)));
    return {dtype: x.dtype, shape: x.shape.slice(0, -1), data: x.data.constructor.from(sums)};
  },
};

serve(description, (operation, arrays) => {
  if (!Object.hasOwn(operations, operation)) throw new NotImplemented(operation);
  if (!['F32', 'F64'].includes(arrays.x.dtype)) throw new NotImplemented(`${operation} of ${arrays.x.dtype}`);
  return operations[operation](arrays);
});
