// Graphs made for the fingerprints. Most have several independent branches with the same kind of work, so that one package
// covers many schedules. Names in shapes are open dimensions.
import {Graph, draw, product} from '../../bench/models/graph.mjs';
import {graph as subgraph, model, node, stored, value} from '../cli/models.mjs';

const ints = (...values) => BigInt64Array.from(values, BigInt);

// Input data is not part of a model file; an empty array sets the element type.
const floats = (graph, name, ...dims) => graph.input(name, dims, new Float32Array(0));
const indices = (graph, name, ...dims) => graph.input(name, dims, new BigInt64Array(0));

/** Builds a graph of branches, functions that return one output or several. */
function branches(name, opset, ...all) {
  const graph = new Graph(name, opset);
  for (const branch of all) for (const value of [branch(graph)].flat()) graph.output(value);
  return graph;
}

// Adds a convolution with weights and bias; `to` is the shape of the output.
function conv(graph, x, to, kernel, {group = 1, op = 'Conv', ...more} = {}) {
  const channels = x.shape[1];
  const shape = op === 'Conv' ? [to[1], channels / group, ...kernel] : [channels, to[1] / group, ...kernel];
  const weight = graph.weight(shape, (channels / group) * product(kernel));
  return graph.node(op, [x, weight, graph.weight([to[1]], 1)], to, {kernel_shape: kernel, group, ...more});
}

export const products = () => branches('products', 17,
  (g) => g.node('MatMul', [floats(g, 'a', 37, 53), floats(g, 'b', 53, 29)], [37, 29]),
  (g) => g.node('MatMul', [floats(g, 'c', 2, 3, 64, 48), floats(g, 'd', 2, 3, 48, 32)], [2, 3, 64, 32]),
  (g) => g.node('MatMul', [floats(g, 'e', 4, 64, 48), floats(g, 'f', 48, 128)], [4, 64, 128]),
  (g) => g.node('MatMul', [floats(g, 'row', 512), floats(g, 'wide', 512, 384)], [384]),
  (g) => g.node('MatMul', [floats(g, 'tall', 384, 512), floats(g, 'column', 512)], [384]),
  (g) => g.node('MatMul', [floats(g, 'i', 8, 4096), floats(g, 'j', 4096, 8)], [8, 8]),
  (g) => g.node('Gemm', [floats(g, 'k', 96, 64), floats(g, 'l', 80, 96), floats(g, 'm', 80)], [64, 80], {transA: 1, transB: 1, alpha: {float: 0.5}}),
);

export const productsOpen = () => branches('products_open', 17,
  (g) => g.node('MatMul', [floats(g, 'a', 'm', 53), floats(g, 'b', 53, 'n')], [1, 1]),
  (g) => g.node('MatMul', [floats(g, 'c', 'h', 'p', 'k'), floats(g, 'd', 'h', 'k', 'q')], [1, 1, 1]),
);

export const linears = () => branches('linears', 17,
  (g) => {
    const x = g.node('Gemm', [floats(g, 'row', 1, 256), g.weight([512, 256], 256), g.weight([512], 1)], [1, 512], {transB: 1});
    return g.node('MatMul', [g.node('Relu', [x], x.shape), g.weight([512, 10], 512)], [1, 10]);
  },
  (g) => {
    const x = g.node('MatMul', [floats(g, 'rows', 'batch', 128), g.weight([128, 96], 128)], ['batch', 96]);
    const y = g.node('Sigmoid', [g.node('Add', [x, g.weight([96], 1)], x.shape)], x.shape);
    return g.node('MatMul', [g.node('Mul', [x, y], x.shape), g.weight([96, 3], 96)], ['batch', 3]);
  },
);

export const convolutions = () => branches('convolutions', 17,
  (g) => conv(g, floats(g, 'five', 1, 3, 40, 40), [1, 16, 40, 40], [5, 5], {pads: [2, 2, 2, 2]}),
  (g) => conv(g, floats(g, 'point', 4, 24, 17, 19), [4, 40, 9, 10], [1, 1], {strides: [2, 2]}),
  (g) => conv(g, floats(g, 'dilated', 2, 8, 20, 20), [2, 12, 12, 16], [3, 3], {dilations: [4, 2]}),
  (g) => conv(g, floats(g, 'groups', 1, 32, 14, 14), [1, 64, 14, 14], [3, 3], {group: 4, pads: [1, 1, 1, 1]}),
  (g) => conv(g, floats(g, 'deep', 1, 24, 28, 28), [1, 24, 14, 14], [5, 5], {group: 24, strides: [2, 2], pads: [2, 2, 2, 2]}),
  (g) => conv(g, floats(g, 'line', 1, 16, 200), [1, 32, 198], [3]),
  (g) => conv(g, floats(g, 'volume', 1, 4, 8, 9, 10), [1, 8, 8, 9, 10], [3, 3, 3], {pads: [1, 1, 1, 1, 1, 1]}),
);

export const convolutionsOpen = () => branches('convolutions_open', 17,
  (g) => {
    const x = conv(g, floats(g, 'image', 'n', 3, 'h', 'w'), ['n', 16, 'h', 'w'], [3, 3], {pads: [1, 1, 1, 1]});
    return conv(g, g.node('Relu', [x], x.shape), ['n', 32, 'h', 'w'], [3, 3], {pads: [1, 1, 1, 1]});
  },
);

export const transposed = () => branches('transposed', 17,
  (g) => conv(g, floats(g, 'twice', 1, 16, 12, 12), [1, 8, 24, 24], [2, 2], {op: 'ConvTranspose', strides: [2, 2]}),
  (g) => conv(g, floats(g, 'padded', 1, 12, 9, 9), [1, 12, 17, 17], [3, 3], {op: 'ConvTranspose', strides: [2, 2], pads: [1, 1, 1, 1], group: 3}),
);

export const reductions = () => branches('reductions', 18,
  (g) => g.node('ReduceMean', [floats(g, 'image', 2, 16, 24, 24), g.constant(ints(2, 3))], [2, 16, 1, 1]),
  (g) => g.node('ReduceMax', [floats(g, 'columns', 1000, 48), g.constant(ints(0))], [48], {keepdims: 0}),
  (g) => g.node('ReduceL2', [floats(g, 'rows', 64, 777), g.constant(ints(1))], [64, 1]),
  (g) => g.node('ReduceSum', [floats(g, 'all', 300, 400)], [], {keepdims: 0}),
  (g) => g.node('ReduceLogSumExp', [floats(g, 'middle', 6, 50, 30), g.constant(ints(1))], [6, 1, 30]),
  (g) => g.node('ArgMin', [floats(g, 'least', 20, 90)], [20, 1], {axis: 1}, {type: 'i64'}),
  (g) => g.node('CumSum', [floats(g, 'running', 32, 128), g.constant(ints(1), [])], [32, 128]),
);

export const rows = () => branches('rows', 18,
  (g) => g.node('Softmax', [floats(g, 'few', 2, 20000)], [2, 20000], {axis: -1}),
  (g) => g.node('Softmax', [floats(g, 'columns', 60, 33)], [60, 33], {axis: 0}),
  (g) => g.node('LogSoftmax', [floats(g, 'many', 3000, 10)], [3000, 10], {axis: -1}),
  (g) => {
    const x = floats(g, 'x', 1, 'length', 192);
    return g.node('LayerNormalization', [x, g.weight([192], 1), g.weight([192], 1)], x.shape, {axis: -1, epsilon: {float: 1e-5}});
  },
  (g) => g.node('InstanceNormalization', [floats(g, 'planes', 1, 8, 30, 30), g.weight([8], 1), g.weight([8], 1)], [1, 8, 30, 30]),
  (g) => g.node('LpNormalization', [floats(g, 'unit', 12, 100)], [12, 100], {axis: 1, p: 2}),
);

export const elementwise = () => branches('elementwise', 20,
  (g) => {
    const [x, row, column] = [floats(g, 'x', 40, 50), floats(g, 'r', 50), floats(g, 'c', 40, 1)];
    const sum = g.node('Mul', [g.node('Add', [x, row], x.shape), column], x.shape);
    const [sine, power] = [g.node('Sin', [sum], x.shape), g.node('Pow', [sum, g.scalar(1.5)], x.shape)];
    return g.node('Where', [g.node('Less', [sine, power], x.shape, {}, {type: 'bool'}), g.node('Tanh', [sine], x.shape), g.node('Erf', [power], x.shape)], x.shape);
  },
  (g) => g.node('Gelu', [floats(g, 'y', 1, 'n', 65)], [1, 'n', 65], {approximate: 'tanh'}),
  (g) => {
    const n = g.input('n', [100], new Int32Array(0));
    return g.node('Mod', [g.node('Mul', [n, n], [100]), g.constant(Int32Array.of(7), [])], [100]);
  },
);

export const moves = () => branches('moves', 18,
  (g) => {
    const [x, y] = [floats(g, 'x', 2, 12, 10, 7), floats(g, 'y', 2, 4, 10, 7)];
    const turned = g.node('Transpose', [g.node('Concat', [x, y], [2, 16, 10, 7], {axis: 1})], [2, 10, 7, 16], {perm: [0, 2, 3, 1]});
    return g.nodeOf('Split', [turned, g.constant(ints(5, 11))], [5, 11].map((width) => ({shape: [2, 10, 7, width], type: 'f32'})), {axis: 3});
  },
  (g) => g.node('Slice', [floats(g, 'cut', 30, 40), g.constant(ints(28, 3)), g.constant(ints(2, 39)), g.constant(ints(0, 1)), g.constant(ints(-3, 2))], [9, 18]),
  (g) => g.node('Pad', [floats(g, 'inside', 1, 3, 9, 9), g.constant(ints(0, 0, 2, 1, 0, 0, 1, 3))], [1, 3, 12, 13], {mode: 'reflect'}),
  (g) => g.node('Gather', [g.weight([500, 24], 1), indices(g, 'ids', 3, 'n')], [3, 'n', 24], {axis: 0}, {type: 'f32'}),
  (g) => g.node('GatherElements', [floats(g, 'from', 8, 20), indices(g, 'at', 8, 5)], [8, 5], {axis: 1}),
  (g) => g.node('Tile', [floats(g, 'tile', 3, 5), g.constant(ints(4, 2))], [12, 10]),
  (g) => g.node('DepthToSpace', [floats(g, 'deep', 1, 16, 6, 6)], [1, 4, 12, 12], {blocksize: 2}),
);

export const pools = () => branches('pools', 18,
  (g) => g.node('MaxPool', [floats(g, 'a', 1, 16, 30, 30)], [1, 16, 15, 15], {kernel_shape: [3, 3], strides: [2, 2], pads: [1, 1, 1, 1]}),
  (g) => g.node('AveragePool', [floats(g, 'b', 2, 6, 17, 17)], [2, 6, 17, 17], {kernel_shape: [5, 5], pads: [2, 2, 2, 2]}),
  (g) => g.node('GlobalAveragePool', [floats(g, 'c', 1, 64, 'h', 'w')], [1, 64, 1, 1]),
  (g) => g.nodeOf('MaxPool', [floats(g, 'd', 1, 4, 12, 12)], ['f32', 'i64'].map((type) => ({shape: [1, 4, 6, 6], type})), {kernel_shape: [2, 2], strides: [2, 2]}),
);

export const resizes = () => branches('resizes', 18,
  ...['nearest', 'linear', 'cubic'].map((mode) => (g) =>
    g.node('Resize', [floats(g, mode, 1, 3, 12, 16), undefined, g.constant(Float32Array.of(1, 1, 2, 1.5))], [1, 3, 24, 24], {mode})),
  (g) => g.node('GridSample', [floats(g, 'image', 1, 3, 16, 16), floats(g, 'grid', 1, 10, 11, 2)], [1, 3, 10, 11], {mode: 'bilinear'}),
);

export const ordered = () => branches('ordered', 18,
  (g) => g.nodeOf('TopK', [floats(g, 'scores', 5, 333), g.constant(ints(4))], ['f32', 'i64'].map((type) => ({shape: [5, 4], type})), {axis: -1}),
  (g) => {
    const found = g.node('NonZero', [floats(g, 'sparse', 40, 25)], [2, 'found'], {}, {type: 'i64'});
    return g.node('Transpose', [found], ['found', 2], {perm: [1, 0]});
  },
  (g) => g.node('ScatterElements', [floats(g, 'data', 10, 20), indices(g, 'at', 10, 6), floats(g, 'updates', 10, 6)], [10, 20], {axis: 1, reduction: 'add'}),
  (g) => g.node('OneHot', [indices(g, 'classes', 'n'), g.constant(ints(12)), g.constant(Float32Array.of(0, 1))], ['n', 12], {axis: -1}, {type: 'f32'}),
);

/** An embedding, a bidirectional LSTM and a GRU over an open length. */
export const recurrent = () => branches('recurrent', 17, (g) => {
  const [width, hidden] = [16, 24];
  const x = g.node('Gather', [g.weight([64, width], 1), indices(g, 'ids', 'length', 2)], ['length', 2, width], {axis: 0}, {type: 'f32'});
  const weights = (gates, directions, inputs) => [[directions, gates * hidden, inputs], [directions, gates * hidden, hidden], [directions, 2 * gates * hidden]].map((shape) => g.weight(shape, hidden));
  const [y] = g.nodeOf('LSTM', [x, ...weights(4, 2, width)], [{shape: ['length', 2, 2, hidden], type: 'f32'}], {hidden_size: hidden, direction: 'bidirectional'});
  const flat = g.node('Reshape', [g.node('Transpose', [y], ['length', 2, 2, hidden], {perm: [0, 2, 1, 3]}), g.constant(ints(0, 0, 2 * hidden))], ['length', 2, 2 * hidden]);
  return g.nodeOf('GRU', [flat, ...weights(3, 1, 2 * hidden)], [{shape: ['length', 1, 2, hidden], type: 'f32'}], {hidden_size: hidden, linear_before_reset: 1});
});

/** Four-bit weights times one row, as in a decoding step, and times several rows, as in a prompt. */
export const fourBits = () => branches('four_bits', 17, ...[1, 16].map((count) => (g) => {
  const [inner, outer, block] = [128, 192, 32];
  const blocks = inner / block;
  const packed = Uint8Array.from(draw(7, (outer * inner) / 2, 127.49), (each) => 128 + Math.round(each));
  return g.node('MatMulNBits', [floats(g, `x${count}`, count, inner), g.constant(packed, [outer, blocks, block / 2]), g.weight([outer * blocks], inner)], [count, outer], {K: inner, N: outer, bits: 4, block_size: block}, {domain: 'com.microsoft'});
}));

/** A training step: the loss, its gradients and the updated weights. */
function training(name, x, classes, layers) {
  const g = new Graph(name, 17);
  const weights = [];
  const variable = (...shape) => {
    weights.push(g.input(`v${weights.length}`, shape, new Float32Array(0)));
    return weights.at(-1);
  };
  const scores = layers(g, floats(g, 'x', ...x), variable);
  const loss = g.node('SoftmaxCrossEntropyLoss', [scores, indices(g, 'labels', x[0])], [], {reduction: 'mean'});
  g.output(loss);
  const gradients = g.nodeOf('Gradient', [...weights, loss], weights.map(({shape}) => ({shape, type: 'f32'})), {count: weights.length}, 'ai.gossamer');
  for (const [at, weight] of weights.entries()) {
    const step = g.node('Mul', [gradients[at], g.scalar(0.01)], weight.shape);
    g.output(g.node('Sub', [weight, step], weight.shape));
  }
  return g;
}

export const trainMlp = () => training('train_mlp', [16, 64], 10, (g, x, variable) => {
  const hidden = g.node('Gemm', [x, variable(64, 48), variable(48)], [16, 48]);
  return g.node('Gemm', [g.node('Relu', [hidden], [16, 48]), variable(48, 10), variable(10)], [16, 10]);
});

export const trainCnn = () => training('train_cnn', [8, 1, 14, 14], 10, (g, x, variable) => {
  const map = g.node('Relu', [g.node('Conv', [x, variable(6, 1, 3, 3), variable(6)], [8, 6, 12, 12], {kernel_shape: [3, 3]})], [8, 6, 12, 12]);
  const small = g.node('MaxPool', [map], [8, 6, 6, 6], {kernel_shape: [2, 2], strides: [2, 2]});
  return g.node('MatMul', [g.node('Flatten', [small], [8, 216]), variable(216, 10)], [8, 10]);
});

/** More inputs than a kernel can bind on some devices. */
export const manyInputs = () => branches('many_inputs', 17,
  (g) => g.node('Sum', Array.from({length: 12}, (_, at) => floats(g, `x${at}`, 20, 30)), [20, 30]),
  (g) => g.node('Concat', Array.from({length: 12}, (_, at) => floats(g, `y${at}`, 5, 6)), [5, 72], {axis: 1}),
);

/** Tensors of f16, which webgpu stores as f16 with `--f16`. */
export const halves = () => model({
  nodes: [
    node('MatMul', ['a', 'b'], ['product']), node('Softmax', ['product'], ['shares'], {integers: {axis: -1}}),
    node('LayerNormalization', ['product', 'scale'], ['normal'], {integers: {axis: -1}}),
    node('Conv', ['image', 'filter'], ['map']), node('Relu', ['map'], ['positive']),
    node('ReduceMax', ['positive'], ['most'], {integers: {keepdims: 0}}), node('Cast', ['x'], ['half'], {integers: {to: 10}}),
  ],
  inputs: [
    value('a', 'f16', ['n', 64]), value('b', 'f16', [64, 80]), value('scale', 'f16', [80]), value('image', 'f16', [1, 8, 20, 20]),
    value('filter', 'f16', [16, 8, 3, 3]), value('x', 'f32', [77]),
  ],
  outputs: [value('shares', 'f16', ['n', 80]), value('normal', 'f16', ['n', 80]), value('positive', 'f16', [1, 16, 18, 18]), value('most', 'f16', []), value('half', 'f16', [77])],
});

/** A cache of halves that grows by rows. */
export const halfCache = () => model({
  nodes: [
    node('Cast', ['rows'], ['stored'], {integers: {to: 10}}), node('Concat', ['past', 'stored'], ['present'], {integers: {axis: 2}}),
    node('Cast', ['present'], ['wide'], {integers: {to: 1}}), node('Softmax', ['wide'], ['shares'], {integers: {axis: 2}}),
  ],
  inputs: [value('past', 'f16', [1, 2, 'p', 16]), value('rows', 'f32', [1, 2, 'n', 16])],
  outputs: [value('present', 'f16', [1, 2, 'q', 16]), value('shares', 'f32', [1, 2, 'q', 16])],
});

/** Types that most GPUs lack, mixed with f32. */
export const mixedTypes = () => model({
  nodes: [
    node('Cast', ['x'], ['wide'], {integers: {to: 11}}), node('Exp', ['wide'], ['powers']), node('ReduceSum', ['powers'], ['sum'], {integers: {keepdims: 0}}),
    node('Cast', ['sum'], ['single'], {integers: {to: 1}}), node('Mul', ['x', 'single'], ['scaled']),
    node('Mul', ['n', 'n'], ['squares']), node('BitShift', ['bytes', 'one'], ['shifted'], {strings: {direction: 'LEFT'}}),
    node('Cast', ['squares'], ['halves'], {integers: {to: 10}}), node('Add', ['halves', 'h'], ['half']),
  ],
  inputs: [value('x', 'f32', ['n', 9]), value('n', 'i64', [33]), value('bytes', 'u8', [40]), value('one', 'u8', []), value('h', 'f16', [33])],
  outputs: [value('scaled', 'f32', ['n', 9]), value('squares', 'i64', [33]), value('shifted', 'u8', [40]), value('half', 'f16', [33]), value('sum', 'f64', [])],
});

/** An If whose condition depends on the input, and a Scan over rows. */
export const branching = () => model({
  nodes: [
    node('ReduceSum', ['x'], ['total'], {integers: {keepdims: 0}}), node('Greater', ['total', 'zero'], ['large']),
    node('If', ['large'], ['chosen'], {graphs: {
      then_branch: subgraph({nodes: [node('Softmax', ['x'], ['shares'])], inputs: [], outputs: [value('shares', 'f32', ['n', 6])]}),
      else_branch: subgraph({nodes: [node('Neg', ['x'], ['less'])], inputs: [], outputs: [value('less', 'f32', ['n', 6])]}),
    }}),
    node('Scan', ['start', 'chosen'], ['last', 'sums'], {integers: {num_scan_inputs: 1}, graphs: {
      body: subgraph({
        nodes: [node('Add', ['state', 'row'], ['next']), node('Tanh', ['next'], ['out'])],
        inputs: [value('state', 'f32', [6]), value('row', 'f32', [6])], outputs: [value('next', 'f32', [6]), value('out', 'f32', [6])],
      }),
    }}),
  ],
  inputs: [value('x', 'f32', ['n', 6]), value('start', 'f32', [6])],
  outputs: [value('last', 'f32', [6]), value('sums', 'f32', ['n', 6])],
  weights: [stored({type: 'f32', shape: [], data: Float32Array.of(0)}, 'zero')],
});

/** Caches that grow along an inner axis and along the first one (`--state`), and kernels that read them. */
export const grower = () => model({
  nodes: [
    node('Concat', ['past', 'rows'], ['present'], {integers: {axis: 2}}), node('Concat', ['list', 'items'], ['longer'], {integers: {axis: 0}}),
    node('Mul', ['present', 'present'], ['square']), node('ReduceSum', ['square', 'two'], ['squares'], {integers: {keepdims: 0}}),
    node('ReduceMax', ['longer'], ['most'], {integers: {keepdims: 0}}),
  ],
  inputs: [value('past', 'f32', [1, 2, 'p', 3]), value('rows', 'f32', [1, 2, 'n', 3]), value('list', 'f32', ['l', 2]), value('items', 'f32', ['m', 2])],
  outputs: [value('present', 'f32', [1, 2, 'q', 3]), value('longer', 'f32', ['k', 2]), value('squares', 'f32', [1, 2, 3]), value('most', 'f32', [])],
  weights: [stored({type: 'i64', shape: [1], data: ints(2)}, 'two')],
});
