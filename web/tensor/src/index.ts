/**
 * Tensors that are computed on when they are read, gradients, modules and optimizers, in a page, a worker or Node.
 *
 *     const a = new Tensor([1, 2, 3, 4, 5, 6], {shape: [2, 3]});
 *     console.log(await a.matmul(a.transpose()).array());
 *
 * Importing this loads compiler.wasm (start.ts) and touches no DOM.
 */
import {liveTensors} from './core.ts';
import {allEngines, type Engine, type ProgramProfile} from './engine.ts';
import {leafBytes} from './recording.ts';
import * as shapes from './shape.ts';
import type {Tensor} from './tensor.ts';

export {type ProgramProfile, setNumThreads, setSpecializeAfter} from './engine.ts';
export {init} from './start.ts';
export {type DynamicAxes, exportOnnx, type ExportOptions, type LoraOptions, OnnxModel, type OnnxModelOptions, type OnnxNode} from './onnx_model.ts';
export {SparseTensor} from './sparse.ts';
export {CPUTensor, GPUTensor, type MakeOptions, Tensor, Variable, WASMTensor} from './tensor.ts';
export {type TensorOptions, tidy} from './core.ts';
export type {Data, Nested} from './elements.ts';
export {enableGrad, noGrad} from './tracing.ts';
export {checkpoint} from './checkpoint.ts';
export {detectAnomaly} from './anomaly.ts';
export {grad, type GradOptions, numericalGradient} from './autograd.ts';
export {synchronize} from './execution.ts';
export {manualSeed} from './random.ts';
export {loadSafetensors, saveSafetensors} from './safetensors.ts';
export {Floats, type Device} from './recording.ts';
export type {DType, DTypeName} from './dtype.ts';
export type {Picture} from './picture.ts';
export {GossamerError} from '../../runtime/src/values/types.ts';
export * as nn from './nn/index.ts';
export * as optim from './optim/index.ts';

/**
 * What is held: tensors in use, bytes of elements, how many programs are ready and were compiled, bytes of weights that programs have as
 * their own, and bytes that a device's latest program takes for what it makes and does not give.
 */
export function memory(): {tensors: number; bytes: number; programs: number; compiled: number; weights: number; scratch: number} {
  const sum = (of: (engine: Engine) => number): number => allEngines().reduce((total, each) => total + of(each), 0);
  return {
    tensors: liveTensors(),
    bytes: leafBytes(),
    programs: sum(({programs}) => programs.ready),
    compiled: sum(({programs}) => programs.compiled),
    weights: sum(({weights}) => weights),
    scratch: sum(({scratch}) => scratch),
  };
}

/** What each program did, on each device. */
export const profile = (): ProgramProfile[] => allEngines().flatMap((engine) => engine.profile());

const to = (tensor: Tensor, device: 'cpu' | 'webgpu' | 'webgl'): Tensor => tensor.to(device);

/** TensorJS's helpers. */
export const util = {
  shape: {
    getSize: shapes.getSize, computeStrides: shapes.computeStrides, indexToPos: shapes.indexToPos, posToIndex: shapes.posToIndex,
    compareShapes: shapes.compareShapes, checkEquivShapes: shapes.checkEquivShapes,
    incrementIndex: shapes.incrementIndex, decrementIndex: shapes.decrementIndex,
  },
  convert: {
    toBackend: to,
    toCPU: (tensor: Tensor): Tensor => tensor.to('cpu'),
    toWASM: (tensor: Tensor): Tensor => tensor.to('cpu'),
    toGPU: (tensor: Tensor): Tensor => tensor.to('webgl'),
    sameType: (a: Tensor, b: Tensor): boolean => a.device === b.device && a.dtype === b.dtype,
  },
};
