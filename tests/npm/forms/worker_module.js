import './answer.js';
import './answers.js';
import {load, tensor} from './node_modules/@gossamer/runtime/dist/runtime.js';
import {compile} from './node_modules/@gossamer/compiler/dist/compiler.js';

globalThis.answers({load, tensor, compile});
