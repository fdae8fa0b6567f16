// Names that TensorJS has, in its documentation's order, and some of PyTorch's: all are there.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import * as api from '../src/index.ts';

const words = (text: string): string[] => text.split(/\s+/).filter((word) => word);
const missing = (of: object, names: string): string[] => words(names).filter((name) => !(name in of));

const TENSOR = `getValues getShape constantLike singleConstant cast delete compare copy sum sumSquare product max min reduceMean
  reduceMeanSquare reduceLogSum reduceLogSumExp conv convTranspose pad averagePool upsample normalize softmax matMul gemm exp log
  sqrt abs sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh negate powerScalar sigmoid hardSigmoid sign floor ceil round
  clip clipBackward add subtract multiply divide power addScalar multiplyScalar addMultiplyScalar reshape transpose slice concat
  repeat expand squeeze flatten gather setValues alignShapes alignTensor get set backward isLeaf grad`;
const PYTORCH = `matmul mm bmm mv dot outer addmm sub mul div pow neg remainder fmod floorDivide maximum minimum clamp relu gelu silu
  eq ne lt le gt ge where maskedFill maskedSelect nonzero unique mean prod amax amin any all argmax argmin var std norm logsumexp
  cumsum cumprod topk sort argsort view permute unsqueeze narrow select index indexSelect scatter scatterAdd flip roll split chunk
  tile triu tril diagonal trace oneHot logSoftmax detach requiresGrad retainGrad item data array numel to toDevice clone einsum`;
const SPARSE = `nnz sparseDims getSparseShape getDenseShape unary add sub mul div subtract multiply divide matMul matmul sum max min
  product sumSquare mean reduceMean concat repeat reshape transpose toDense delete compare`;
const MODULE = `forward getSubModules getParameters toBackend toCPU toWASM toGPU mode backend parameters namedParameters buffers
  children modules train eval zeroGrad stateDict loadStateDict save load freeze unfreeze to toDevice`;
const ONNX = 'inputs outputs forward optimize prune getNodes getNodeWithOutput getNodeWithInput resolveConstant getParameters delete lora';
const LAYERS = `Linear Conv1d Conv2d ConvTranspose2d BatchNorm1d BatchNorm2d LayerNorm GroupNorm Embedding Dropout Sequential ModuleList
  ModuleDict LSTM GRU MultiheadAttention TransformerEncoderLayer MaxPool2d AvgPool2d AdaptiveAvgPool2d Relu ReLU Tanh Sigmoid GELU
  Softmax Flatten MSELoss BCEWithLogitsLoss CrossEntropyLoss NLLLoss L1Loss HuberLoss KLDivLoss functional init`;
const LOSSES = 'mseLoss bce binaryCrossEntropyWithLogits crossEntropy nllLoss l1Loss huberLoss klDiv';
const OPTIM = `SGD Adam AdamW RMSprop Adagrad StepLR CosineAnnealingLR OneCycleLR ReduceLROnPlateau L1Regularization L2Regularization
  clipGradNorm clipGradValue`;
const EXPORTS = `Tensor CPUTensor WASMTensor GPUTensor SparseTensor Variable OnnxModel nn optim noGrad grad checkpoint detectAnomaly
  tidy memory manualSeed synchronize exportOnnx numericalGradient util init setNumThreads`;

test('nothing of the API is missing', () => {
  const {nn, optim, util} = api;
  const lists: [string, object, string][] = [
    ['Tensor', api.Tensor.prototype, `${TENSOR} ${PYTORCH}`],
    ['Tensor, static', api.Tensor, 'fromData arange zeros ones full rand randn eye linspace cat stack einsum where'],
    ['CPUTensor', api.CPUTensor, 'range'], ['GPUTensor', api.GPUTensor, 'range fromData'], ['Variable', api.Variable, 'create fromData'],
    ['SparseTensor', api.SparseTensor.prototype, SPARSE], ['SparseTensor, static', api.SparseTensor, 'fromDense coo csr'],
    ['Module', nn.Module.prototype, MODULE.replace('forward', '')], ['OnnxModel', api.OnnxModel.prototype, ONNX],
    ['nn', nn, LAYERS], ['nn.functional', nn.functional, LOSSES], ['optim', optim, OPTIM],
    ['Optimizer', optim.Adam.prototype, 'step zeroGrads zeroGrad stateDict loadStateDict'],
    ['util.shape', util.shape, 'getSize computeStrides indexToPos posToIndex compareShapes checkEquivShapes incrementIndex decrementIndex'],
    ['util.convert', util.convert, 'toBackend toCPU toWASM toGPU sameType'],
    ['exports', api, EXPORTS],
  ];
  const found = lists.flatMap(([where, of, names]) => missing(of, names).map((name) => `${where}: ${name}`));
  assert.deepEqual(found, []);
});
