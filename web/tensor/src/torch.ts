/**
 * All that @gossamer/tensor has, with the rest of PyTorch's names: importing it gives tensors their rarer methods, and `nn` and `optim`
 * are larger.
 */
import './composed/rare_methods.ts';
import {predicates} from './composed/prelude.ts';
import {Tensor} from './tensor.ts';

export * from './index.ts';
export * as nn from './nn/torch.ts';
export * as optim from './optim/torch.ts';

predicates(Tensor);
