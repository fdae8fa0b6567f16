/** Documents for tests, as the compiler writes them. */
import type {Compiled, GraphNode, Launch, Value, View} from '../src/document.ts';

export const value = (name: string, shape?: Value['shape'], weight?: Value['weight']): Value => ({name, dtype: 'f32', ...(shape && {shape}), ...(weight && {weight})});

export const node = (op: string, name: string, inputs: readonly number[], outputs: readonly number[], more: Partial<GraphNode> = {}): GraphNode => ({op, name, inputs, outputs, ...more});

export const view = (more: Partial<View>): View => ({
  format: 'gossamer-view', version: 1, name: 'test', bytes: 100, dims: [], values: [], nodes: [], inputs: [], outputs: [], targets: [], profiles: [], ...more,
});

/** x [batch, 4] -> Conv -> Relu -> Softmax -> y; webgpu computes the first two in one launch and the last on the CPU. */
export function small(): View {
  const shape = ['batch', 4] as const;
  const launch = (kernel: number, tensors: readonly number[], origin: string, more: Partial<Launch> = {}): Launch => ({kernel, tensors, range: 1, origin, ...more});
  const compiled: Compiled = {
    target: 'webgpu', memoryBytes: 0, weightBytes: 64, packageBytes: 1000, layouts: [],
    plan: [['*', 'batch', 4], ['*', ['*', 'batch', 4], 8]],
    kernels: [{origin: 'Conv "a/conv" + Relu "a/relu"', code: 'fn main() {}'}, {origin: 'Softmax "b/softmax"', ir: 'kernel'}],
    manifest: {
      tensors: [0, 1, 2, 3].map((slot) => ({name: ['x', 'w', 'h', 'y'][slot] ?? '', dtype: 'f32', storage: 'f32', elements: slot === 1 ? 16 : {plan: 0}, slot})),
      slots: [{bytes: 4096}, {bytes: 64}, {bytes: 4096}, {bytes: 4096}],
      kernels: [{name: 'conv', group: 64}, {name: 'softmax', device: 1}],
      init: [], side: {target: 'wasm'},
      run: [launch(0, [0, 1, 2], 'Conv "a/conv" + Relu "a/relu"', {operations: {plan: 1}}), launch(1, [2, 3], 'Softmax "b/softmax"', {reason: 'f64 is computed by the CPU'})],
      inputs: [{name: 'x', tensor: 0}], outputs: [{name: 'y', tensor: 3}], weights: [{tensor: 1}],
    },
  };
  return view({
    dims: [{name: 'batch', estimate: 2}],
    values: [value('x', shape), value('w', [4, 4], {bytes: 64, elements: 16, seen: 16, zeros: 0, notFinite: 0, least: 0, most: 1, mean: 0.5, deviation: 0.1, bins: [8, 8]}), value('c', shape), value('h', shape), value('y', shape)],
    nodes: [node('Conv', 'a/conv', [0, 1], [2]), node('Relu', 'a/relu', [2], [3]), node('Softmax', 'b/softmax', [3], [4])],
    inputs: [0], outputs: [4], targets: [compiled, {target: 'webgl', problem: 'too large', where: ''}],
  });
}
