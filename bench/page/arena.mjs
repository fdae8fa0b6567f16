// One comparison in a frame of its own, which is thrown away after it.
import {compare} from '../lib/compare.mjs';
import {at} from './places.mjs';

const openers = async (module) => (await import(`./parties/${module}.mjs`)).open;

const ARRAYS = {f32: Float32Array, i32: Int32Array, i64: BigInt64Array, i8: Int8Array, u8: Uint8Array, bool: Uint8Array};

/** A graph whose files the server has (lib/packages.mjs); engines want arrays of their own frame. */
async function servedGraph(post, wanted) {
  const told = await post('/graph', wanted);
  const fetched = async (name) => (await fetch(at(`packages/${name}`))).arrayBuffer();
  const bytes = async (name) => new Uint8Array(await fetched(name));
  const inputs = await Promise.all(told.inputs.map(async (port) => ({...port, data: new ARRAYS[port.type](await fetched(port.values))})));
  return {...told, served: true, inputs, file: () => bytes(told.file), tflite: () => bytes(told.tflite)};
}

/** post(path, body): to the server that makes packages, where there is one. */
globalThis.compare = (comparison, {post, ...settings}, progress) =>
  compare(comparison, {...settings, graph: post && ((wanted) => servedGraph(post, wanted))}, openers, progress);
parent.dispatchEvent(new CustomEvent('arena'));
