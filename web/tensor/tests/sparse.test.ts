import assert from 'node:assert/strict';
import {test} from 'node:test';

import {SparseTensor, Tensor} from '../src/index.ts';
import {skip} from './start.ts';

const dense = [[0, 2, 0], [1, 0, -3]];
const made = (): SparseTensor => new SparseTensor([2, 1, -3], [[0, 1], [1, 0], [1, 2]], [2, 3]);
/** Without negative zeros. */
const whole = async (sparse: SparseTensor | Tensor): Promise<unknown> => (sparse instanceof Tensor ? sparse : sparse.toDense()).add(0).array();

test('sparse and dense forms of a tensor are the same', {skip}, async () => {
  const sparse = made();
  assert.deepEqual(await sparse.toDense().array(), dense);
  assert.deepEqual([sparse.nnz, sparse.sparseDims, sparse.getSparseShape(), sparse.getDenseShape()], [3, 2, [2, 3], []]);
  const read = await SparseTensor.fromDense(new Tensor(dense));
  assert.deepEqual([...read.indices()], [0, 1, 1, 0, 1, 2]);
  assert.ok(await read.compare(sparse));
  const blocks = await SparseTensor.fromDense(new Tensor(dense).reshape(3, 2), 1);
  assert.deepEqual([blocks.nnz, blocks.values.shape], [3, [3, 2]]);
  assert.deepEqual(await SparseTensor.coo([[0, 1, 1], [1, 0, 2]], [2, 1, -3], [2, 3]).toDense().array(), dense);
  const {rowStarts, columns, values} = sparse.transpose().toCsr();
  assert.deepEqual([[...rowStarts], [...columns], await values.array()], [[0, 1, 2, 3], [1, 0, 1], [1, 2, -3]]);
  assert.deepEqual(await SparseTensor.csr(rowStarts, columns, values, [3, 2]).toDense().array(), [[0, 1], [2, 0], [0, -3]]);
  assert.deepEqual(await new SparseTensor([1, 2], [[1], [1]], [2]).toDense().array(), [0, 3]);
});

test('arithmetic of sparse tensors', {skip}, async () => {
  const sparse = made();
  const other = new SparseTensor([10, 20], [[0, 0], [1, 2]], [2, 3]);
  const ones = Tensor.ones([2, 3]);
  assert.deepEqual(await whole(sparse.add(other)), [[10, 2, 0], [1, 0, 17]]);
  assert.deepEqual(await whole(sparse.sub(made())), [[0, 0, 0], [0, 0, 0]]);
  assert.deepEqual(await whole(sparse.add(ones)), [[1, 3, 1], [2, 1, -2]]);
  assert.deepEqual(await whole(sparse.sub(ones)), [[-1, 1, -1], [0, -1, -4]]);
  assert.deepEqual(await whole(sparse.mul(sparse)), [[0, 4, 0], [1, 0, 9]]);
  assert.deepEqual(await whole(sparse.mul(Tensor.arange(6).reshape(2, 3))), [[0, 2, 0], [3, 0, -15]]);
  assert.deepEqual(await whole(sparse.div(2).unary('abs')), [[0, 1, 0], [0.5, 0, 1.5]]);
  assert.throws(() => sparse.mul(other), /elements in different places/);
  const b = Tensor.arange(6).reshape(3, 2).cast('f32');
  assert.deepEqual(await sparse.matmul(b).array(), [[4, 6], [-12, -14]]);
  assert.deepEqual(await sparse.matmul(new Tensor([1, 2, 3])).array(), [4, -8]);
  assert.deepEqual(await sparse.rmatmul(new Tensor([[1, 2]])).array(), [[2, 2, -6]]);
});

test('reductions count the zeros that are not stored', {skip}, async () => {
  const sparse = new SparseTensor([2, -1, -3, 5], [[0, 1], [1, 0], [1, 1], [1, 2]], [2, 3]);
  const full = sparse.toDense();
  for (const name of ['sum', 'max', 'min', 'product', 'mean', 'sumSquare'] as const) {
    for (const axes of [undefined, 0, 1] as const) {
      for (const keep of [false, true]) {
        assert.deepEqual(await whole(sparse[name](axes, keep)), await whole(full[name](axes, keep)), `${name} ${axes} ${keep}`);
      }
    }
  }
  const blocks = await SparseTensor.fromDense(full.reshape(3, 2), 1);
  assert.deepEqual(await whole(blocks.sum(0)), await full.reshape(3, 2).sum(0).array());
  assert.deepEqual(await whole(blocks.max(1)), await full.reshape(3, 2).max(1).array());
});

test('layout of sparse tensors', {skip}, async () => {
  const sparse = made();
  const full = sparse.toDense();
  assert.deepEqual(await whole(sparse.concat(sparse, 1)), await full.concat(full, 1).array());
  assert.deepEqual(await whole(sparse.repeat([2, 2])), await full.repeat(2, 2).array());
  assert.deepEqual(await whole(sparse.reshape([3, -1])), await full.reshape(3, 2).array());
  assert.deepEqual(await whole(sparse.transpose()), await full.transpose().array());
});

test('what is no sparse tensor is refused', {skip}, () => {
  assert.throws(() => new SparseTensor([1], [[0, 3]], [2, 3]), /index 3 on axis 1 of shape \[2, 3\]/);
  assert.throws(() => new SparseTensor([1, 2], [[0, 1]], [2, 3]), /values of shape \[1\], not \[2\]/);
  assert.throws(() => new SparseTensor([1], [[0]], [2, 3]), /no rows of 2/);
  assert.throws(() => SparseTensor.csr([0, 2, 1], [0, 1], [1, 2], [2, 2]), /do not divide 2 elements/);
  assert.throws(() => made().matmul(new Tensor([[1]])), /sparse \[2, 3\] times \[1, 1\]/);
});
