// Service workers cannot import later on, so the run time is the one in a single piece.
import './answer.js';
import './answers.js';
import {load, tensor} from './node_modules/@gossamer/runtime/dist/single/runtime.js';
import {compile} from './node_modules/@gossamer/compiler/dist/compiler.js';

globalThis.answers({load, tensor, compile});
