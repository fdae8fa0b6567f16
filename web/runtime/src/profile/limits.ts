/**
 * What a device reaches at most: a copy of 16 MiB, which is more than caches near the arithmetic hold, and multiply-adds
 * that wait for nothing but each other.
 */
import type {Device, Extent, Kernel} from '../devices/device.ts';
import {open as openWasm} from '../devices/wasm/device.ts';
import type {Limits} from './findings.ts';
import {limitsModule, operationsAnItem} from './limits_module.ts';
import {byRepetition} from './repetition.ts';

const SIDE = 1024;
const BYTES = SIDE * SIDE * 16;
const GROUP = 256;
const WASM_ITEMS = 256;

/** Apart from each other, so that none waits; they differ, so that all are computed. */
const SUMS = Array.from({length: 8}, (_, at) => `a${at}`);
const ROUNDS = 64;
const OPERATIONS_A_POINT = ROUNDS * SUMS.length * 4 * 2;

const sums = (type: string, step: (sum: string) => string): string => `
  ${SUMS.map((sum, at) => `${type} ${sum} = f * ${at}.0;`).join(' ')}
  for (${type === 'var' ? 'var' : 'int'} i = 0; i < ${ROUNDS}; i++) { ${SUMS.map((sum) => `${sum} = ${step(sum)};`).join(' ')} }`;

const wgsl = (body: string): string => `
@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<f32>>;
@compute @workgroup_size(${GROUP}) fn main(@builtin(global_invocation_id) at: vec3<u32>) {
  let f = x[at.x];${body} }`;
const WGSL = [
  wgsl('y[at.x] = f;'),
  wgsl(`${sums('var', (sum) => `fma(${sum}, f, f)`)} y[at.x] = ${SUMS.join(' + ')};`),
];

const glsl = (body: string): string => `#version 300 es
precision highp float;
uniform highp sampler2D b0;
layout(location = 0) out vec4 y;
void main() { vec4 f = texelFetch(b0, ivec2(gl_FragCoord.xy), 0);${body} }`;
const GLSL = [glsl('y = f;'), glsl(`${sums('vec4', (sum) => `${sum} * f + f`)} y = ${SUMS.join(' + ')};`)];

interface Measured {
  readonly entry: string;
  readonly code: string | undefined;
  readonly range: number;
}

/** Milliseconds of kernels that read one buffer and write another. */
async function timesOf(
  device: Device,
  module: Uint8Array | undefined,
  extent: Extent,
  measured: readonly Measured[],
): Promise<readonly number[]> {
  const kernels = measured.map(({entry, code}): Kernel => ({
    name: 'limit', origin: '', entry, code, group: GROUP, buffers: 2, writes: 1, scalars: 0,
  }));
  const rooms = ['x', 'y'].map((name) => ({extent, name, storage: ['f32'] as const}));
  const buffers = await device.createBuffers(rooms);
  const executable = await device.createExecutable({kernels, module, plan: undefined}, () => undefined);
  const storage = ['f32', 'f32'] as const;
  const launches = measured.map(({range}, kernel) => ({kernel, name: 'limit', buffers, storage, scalars: [], range}));
  const recordings = await Promise.all(launches.map((launch) => executable.record([launch])));
  const times = await byRepetition({device, executable}, recordings, 10);
  [...recordings, executable, ...buffers].forEach((each) => each.dispose());
  return times;
}

/** On threads and memory of its own, which go with it. */
async function ofWasm({threads, software}: Device): Promise<readonly [number, number]> {
  const device = await openWasm(threads, !software);
  const relaxed = !device.software;
  const both = ['copy', 'arithmetic'].map((entry) => ({entry, code: undefined, range: WASM_ITEMS}));
  try {
    const [copy = 0, arithmetic = 0] = await timesOf(device, limitsModule(relaxed), {bytes: BYTES}, both);
    return [(2 * BYTES) / copy, (WASM_ITEMS * operationsAnItem(relaxed)) / arithmetic];
  } finally {
    device.dispose();
  }
}

async function ofGpu(device: Device): Promise<readonly [number, number]> {
  const gl = device.kind === 'webgl';
  const [copy, arithmetic] = (gl ? GLSL : WGSL) as [string, string];
  const time = async (code: string, side: number): Promise<number> => {
    const points = side * side;
    const extent = gl ? {width: side, height: side, layers: 1} : {bytes: points * 16};
    const [ms = 0] = await timesOf(device, undefined, extent, [{entry: 'main', code, range: gl ? points : points / GROUP}]);
    return ms;
  };
  let best = 0;
  // As many points as keep it busy, and no more: GPUs in software have enough with few.
  for (let side = 64; side <= SIDE; side *= 4) {
    const ms = await time(arithmetic, side);
    best = Math.max(best, (side * side * OPERATIONS_A_POINT) / ms);
    if (ms > 1) break;
  }
  return [(2 * BYTES) / (await time(copy, SIDE)), best];
}

const known = new Map<string, Promise<Limits>>();

/** Measured once for each adapter and number of threads. */
export function limitsOf(device: Device): Promise<Limits> {
  const {kind, adapter, threads} = device;
  const key = `${kind} ${adapter} ${threads}`;
  const found = known.get(key) ?? measured(device);
  known.set(key, found);
  found.catch(() => known.delete(key));
  return found;
}

async function measured(device: Device): Promise<Limits> {
  const [copy, arithmetic] = await (device.kind === 'wasm' ? ofWasm(device) : ofGpu(device));
  return {device: device.kind, copyRate: copy / 1e6, arithmeticRate: arithmetic / 1e6};
}
