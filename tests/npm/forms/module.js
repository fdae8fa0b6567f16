import './answer.js';
import {load, tensor} from './node_modules/@gossamer/runtime/dist/runtime.js';
import {compile} from './node_modules/@gossamer/compiler/dist/compiler.js';

globalThis.use = ({compiled, ...options}) => globalThis.answer({load, tensor, ...(compiled ? {} : {compile})}, options);
