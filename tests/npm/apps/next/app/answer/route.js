// On the server: a model compiled and run by Node.
import {Tensor} from '@gossamer/ort';
import {load} from '@gossamer/runtime';

export const dynamic = 'force-static';

export const GET = () => Response.json({imported: [typeof load, new Tensor('float32', [1, 2]).size]});
