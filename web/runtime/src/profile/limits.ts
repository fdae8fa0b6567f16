/** What a device reaches at most: a plain copy of 16 MiB, which is more than caches near the arithmetic hold. */
import type {Device, Extent, Kernel} from '../device.ts';
import {byRepetition} from './repetition.ts';

const SIDE = 1024;
const BYTES = SIDE * SIDE * 16;
const GROUP = 256;

const WGSL = `
@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<f32>>;
@compute @workgroup_size(${GROUP}) fn main(@builtin(global_invocation_id) at: vec3<u32>) { y[at.x] = x[at.x]; }`;

const GLSL = `#version 300 es
precision highp float;
uniform highp sampler2D b0;
layout(location = 0) out vec4 y;
void main() { y = texelFetch(b0, ivec2(gl_FragCoord.xy), 0); }`;

/** Memory of this thread as WebAssembly copies it. */
function copyHere(): number {
  const memory = new Uint8Array(new WebAssembly.Memory({initial: (2 * BYTES) / 65536}).buffer).fill(1);
  let best = Infinity;
  for (let at = 0; at < 10; ++at) {
    const begin = performance.now();
    memory.copyWithin(BYTES, 0, BYTES);
    best = Math.min(best, performance.now() - begin);
  }
  return best;
}

/** 10^9 bytes a second, read and written. */
export async function copyLimit(device: Device): Promise<number> {
  const rate = (ms: number): number => (2 * BYTES) / ms / 1e6;
  if (device.kind === 'wasm') return rate(copyHere());
  const gl = device.kind === 'webgl';
  const extent: Extent = gl ? {width: SIDE, height: SIDE, layers: 1} : {bytes: BYTES};
  const kernel: Kernel = {
    name: 'copy', origin: '', entry: 'main', code: gl ? GLSL : WGSL, group: GROUP, buffers: 2, writes: 1, scalars: 0,
  };
  const rooms = ['x', 'y'].map((name) => ({extent, name, storage: ['f32'] as const}));
  const buffers = await device.createBuffers(rooms);
  const executable = await device.createExecutable({kernels: [kernel], module: undefined, plan: undefined}, () => undefined);
  const range = (SIDE * SIDE) / (gl ? 1 : GROUP);
  const copy = {kernel: 0, name: 'copy', buffers, storage: ['f32', 'f32'] as const, scalars: [], range};
  const recording = await executable.record([copy]);
  const [ms = 0] = await byRepetition({device, executable}, [recording], 20);
  [recording, executable, ...buffers].forEach((each) => each.dispose());
  return rate(ms);
}
