// The .tflite writer: its files are read back here by the rules of FlatBuffers alone. That LiteRT takes them and agrees
// with ONNX Runtime is checked by `make bench` itself.
import assert from 'node:assert/strict';
import test from 'node:test';
import {filterChannelsLast, imageChannelsLast} from '../models/channels_last.mjs';
import {bytes, flatbuffer, i32, ints, table, text, u8, vector} from '../models/flatbuffer.mjs';
import {mobilenetv2, resnet18, squeezenet} from '../models/networks.mjs';
import {tfliteFile} from '../models/tflite_file.mjs';

/** Reads by position: root(), field(table, index), list(vector), string(at). */
function reader(file) {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const follow = (at) => at + view.getUint32(at, true);
  const place = (from, index) => {
    const known = from - view.getInt32(from, true);
    const offset = 4 + 2 * index < view.getUint16(known, true) ? view.getUint16(known + 4 + 2 * index, true) : 0;
    return offset ? from + offset : undefined;
  };
  const ref = (from, index) => {
    const at = place(from, index);
    return at === undefined ? undefined : follow(at);
  };
  const length = (at) => view.getUint32(at, true);
  return {
    view,
    root: () => follow(0),
    place,
    ref,
    length,
    list: (at) => Array.from({length: length(at)}, (_, index) => follow(at + 4 + 4 * index)),
    ints: (at) => Array.from({length: length(at)}, (_, index) => view.getInt32(at + 4 + 4 * index, true)),
    string: (at) => new TextDecoder().decode(file.subarray(at + 4, at + 4 + length(at))),
  };
}

test('tables, vectors, strings and absent fields read back', () => {
  const file = flatbuffer(table([i32(-7), undefined, text('abc'), vector([table([u8(9)]), table([])]), ints([1, -2])]), 'ABCD');
  const read = reader(file);
  const root = read.root();
  assert.equal(new TextDecoder().decode(file.subarray(4, 8)), 'ABCD');
  assert.equal(read.view.getInt32(read.place(root, 0), true), -7);
  assert.equal(read.place(root, 1), undefined);
  assert.equal(read.place(root, 9), undefined);
  assert.equal(read.string(read.ref(root, 2)), 'abc');
  const [first, second] = read.list(read.ref(root, 3));
  assert.equal(read.view.getUint8(read.place(first, 0)), 9);
  assert.equal(read.place(second, 0), undefined);
  assert.deepEqual(read.ints(read.ref(root, 4)), [1, -2]);
});

test('data is aligned to 16 bytes, also when the file grows', () => {
  const data = Uint8Array.from({length: 3 << 20}, (_, at) => at);
  const file = flatbuffer(table([u8(1), bytes(Float32Array.of(1, 2)), bytes(data)]), 'ABCD');
  const read = reader(file);
  for (const index of [1, 2]) assert.equal((read.ref(read.root(), index) + 4) % 16, 0);
  const at = read.ref(read.root(), 2);
  assert.deepEqual(Buffer.from(file.subarray(at + 4, at + 4 + read.length(at))).equals(Buffer.from(data)), true);
});

test('channels go last', () => {
  assert.deepEqual([...imageChannelsLast(Float32Array.of(1, 2, 3, 4, 5, 6), [3, 1, 2])], [1, 3, 5, 2, 4, 6]);
  const full = filterChannelsLast({shape: [2, 2, 1, 2], data: Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8)});
  assert.deepEqual([full.shape, [...full.data]], [[2, 1, 2, 2], [1, 3, 2, 4, 5, 7, 6, 8]]);
  const depthwise = filterChannelsLast({shape: [2, 1, 1, 2], data: Float32Array.of(1, 2, 3, 4)});
  assert.deepEqual([depthwise.shape, [...depthwise.data]], [[1, 1, 2, 2], [1, 3, 2, 4]]);
});

for (const [make, operators] of [[resnet18, {PAD: 5, CONV: 20, ADD: 8, MAX: 1, MEAN: 1, FC: 1}], [mobilenetv2, {PAD: 5, CONV: 35, DEPTHWISE: 17, ADD: 10, MEAN: 1, FC: 1}], [squeezenet, {CONV: 26, CONCAT: 8, MAX: 3, MEAN: 1}]]) {
  const net = make();
  test(`${net.name}: operators in order of use, weights of every layer, shapes channels last`, () => {
    const file = tfliteFile(net);
    const read = reader(file);
    const names = {0: 'ADD', 2: 'CONCAT', 3: 'CONV', 4: 'DEPTHWISE', 9: 'FC', 17: 'MAX', 34: 'PAD', 40: 'MEAN'};
    const codes = read.list(read.ref(read.root(), 1)).map((code) => names[read.view.getInt32(read.place(code, 3), true)]);
    const [graph] = read.list(read.ref(read.root(), 2));
    const tensors = read.list(read.ref(graph, 0));
    const shape = (tensor) => read.ints(read.ref(tensors[tensor], 0));
    const used = {};
    const known = new Set(read.ints(read.ref(graph, 1)));
    for (const operator of read.list(read.ref(graph, 3))) {
      const code = codes[read.view.getUint32(read.place(operator, 0), true)];
      used[code] = (used[code] ?? 0) + 1;
      for (const input of read.ints(read.ref(operator, 1))) {
        const constant = read.view.getUint32(read.place(tensors[input], 2), true) > 0;
        assert.ok(constant || known.has(input), `tensor ${input} is read before it is written`);
      }
      read.ints(read.ref(operator, 2)).forEach((output) => known.add(output));
    }
    assert.deepEqual(used, operators);
    assert.deepEqual(shape(read.ints(read.ref(graph, 1))[0]), [1, 224, 224, 3]);
    assert.deepEqual(shape(read.ints(read.ref(graph, 2))[0]), [1, 1000]);
    const weights = net.layers.filter(({weight}) => weight).reduce((sum, {weight, bias}) => sum + weight.data.length + bias.data.length, 0);
    assert.ok(file.length >= 4 * weights && file.length < 4 * weights + 200_000, String(file.length - 4 * weights));
  });
}
