/** Pictures to tensors on WebGPU: lines first, then columns, in two passes. */
import type {DType} from '../values/types.ts';
import type {GpuBufferHolder} from '../devices/webgpu/device.ts';
import {pictureOf} from './pixels.ts';
import type {ImageSource, Work} from './work.ts';

const code = (type: 'f32' | 'i32'): string => `
struct Work {
  height: u32, width: u32, channels: u32, planes: u32,
  most_columns: u32, most_rows: u32, begin: u32, lines: u32,
  scale: f32, low: f32, high: f32, whole: u32,
  mean: vec4<f32>, deviation: vec4<f32>,
}
@group(0) @binding(0) var picture: texture_2d<f32>;
@group(0) @binding(1) var<storage, read> columns: array<f32>;
@group(0) @binding(2) var<storage, read> rows: array<f32>;
@group(0) @binding(3) var<storage, read_write> across: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> result: array<${type}>;
@group(0) @binding(5) var<uniform> work: Work;

fn pixel(x: u32, y: u32) -> vec4<f32> {
  let c = vec4<u32>(round(textureLoad(picture, vec2<u32>(x, y), 0) * 255.0));
  if (work.channels == 4u) { return vec4<f32>(c); }
  let over = (c.rgb * c.a + 255u * (255u - c.a) + 127u) / 255u;
  if (work.channels == 3u) { return vec4<f32>(vec3<f32>(over), 0.0); }
  return vec4<f32>(f32((19595u * over.r + 38470u * over.g + 7471u * over.b + 32768u) >> 16u));
}

@compute @workgroup_size(8, 8) fn lines(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= work.width || id.y >= work.lines) { return; }
  let at = id.x * work.most_columns;
  let first = u32(columns[at]);
  let count = u32(columns[at + 1u]);
  var sum = vec4<f32>(0.0);
  for (var tap = 0u; tap < count; tap++) {
    sum += columns[at + 2u + tap] * pixel(first + tap, work.begin + id.y);
  }
  across[id.y * work.width + id.x] = sum;
}

@compute @workgroup_size(8, 8) fn finish(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= work.width || id.y >= work.height) { return; }
  let at = id.y * work.most_rows;
  let first = u32(rows[at]) - work.begin;
  let count = u32(rows[at + 1u]);
  var sum = vec4<f32>(0.0);
  for (var tap = 0u; tap < count; tap++) {
    sum += rows[at + 2u + tap] * across[(first + tap) * work.width + id.x];
  }
  let values = (sum * work.scale - work.mean) / work.deviation;
  for (var c = 0u; c < work.channels; c++) {
    var value = values[c];
    if (work.whole != 0u) { value = clamp(floor(value + 0.5), work.low, work.high); }
    let to = select((id.y * work.width + id.x) * work.channels + c, (c * work.height + id.y) * work.width + id.x, work.planes != 0u);
    result[to] = ${type}(value);
  }
}`;

interface Tools {
  readonly layout: GPUBindGroupLayout;
  readonly lines: GPUComputePipeline;
  readonly finish: GPUComputePipeline;
}

const known = new WeakMap<GPUDevice, Map<string, Promise<Tools>>>();

async function makeTools(device: GPUDevice, type: 'f32' | 'i32'): Promise<Tools> {
  const {COMPUTE: visibility} = GPUShaderStage;
  const types = ['read-only-storage', 'read-only-storage', 'storage', 'storage', 'uniform'] as const;
  const layout = device.createBindGroupLayout({
    entries: [
      {binding: 0, visibility, texture: {sampleType: 'unfilterable-float'}},
      ...types.map((kind, at): GPUBindGroupLayoutEntry => ({binding: at + 1, visibility, buffer: {type: kind}})),
    ],
  });
  const module = device.createShaderModule({code: code(type)});
  const make = (entryPoint: string): Promise<GPUComputePipeline> =>
    device.createComputePipelineAsync({layout: device.createPipelineLayout({bindGroupLayouts: [layout]}), compute: {module, entryPoint}});
  const [lines, finish] = await Promise.all([make('lines'), make('finish')]);
  return {layout, lines, finish};
}

function toolsOf(device: GPUDevice, type: 'f32' | 'i32'): Promise<Tools> {
  const mine = known.get(device) ?? new Map<string, Promise<Tools>>();
  known.set(device, mine);
  let tools = mine.get(type);
  if (!tools) mine.set(type, (tools = makeTools(device, type)));
  return tools;
}

/** The picture as a texture; whether it is to be destroyed afterwards. */
function textureOf(device: GPUDevice, source: ImageSource, {width, height}: Work['picture']): [GPUTexture, boolean] {
  if ('texture' in source) return [source.texture as GPUTexture, false];
  const {TEXTURE_BINDING, COPY_DST, RENDER_ATTACHMENT} = GPUTextureUsage;
  const texture = device.createTexture({size: [width, height], format: 'rgba8unorm', usage: TEXTURE_BINDING | COPY_DST | RENDER_ATTACHMENT});
  const write = (): void => {
    const {rgba} = pictureOf(source);
    device.queue.writeTexture({texture}, rgba as Uint8Array<ArrayBuffer>, {bytesPerRow: 4 * width}, [width, height]);
  };
  if ('rgba' in source || 'data' in source) write();
  else {
    try {
      device.queue.copyExternalImageToTexture({source}, {texture, premultipliedAlpha: false}, [width, height]);
    } catch {
      write(); // Firefox takes no VideoFrame, adapters in software cannot copy one; what is forbidden is so here, too
    }
  }
  return [texture, true];
}

export async function prepare(device: GPUDevice, source: ImageSource, work: Work): Promise<(buffer: unknown, storage: DType) => void> {
  const type = work.limits ? 'i32' : 'f32';
  const [texture, own] = textureOf(device, source, work.picture);
  const tools = await toolsOf(device, type);
  const {STORAGE, COPY_DST, UNIFORM} = GPUBufferUsage;
  return (target) => {
    const made: GPUBuffer[] = [];
    const put = (data: ArrayBuffer, usage = STORAGE): GPUBuffer => {
      const buffer = device.createBuffer({size: data.byteLength, usage: usage | COPY_DST});
      device.queue.writeBuffer(buffer, 0, data);
      made.push(buffer);
      return buffer;
    };
    const {height, width, channels, planes, mostColumns, mostRows, begin, lines, scale, mean, std, limits = [0, 0]} = work;
    const words = new ArrayBuffer(80);
    new Uint32Array(words).set([height, width, channels, Number(planes), mostColumns, mostRows, begin, lines]);
    new Float32Array(words).set([scale, ...limits], 8);
    new Uint32Array(words)[11] = Number(type === 'i32');
    new Float32Array(words).set([...mean, ...std], 12);
    const across = device.createBuffer({size: 16 * width * lines, usage: STORAGE});
    made.push(across);
    const buffers = [put(work.columns.buffer), put(work.rows.buffer), across, (target as GpuBufferHolder).gpu, put(words, UNIFORM)];
    const group = device.createBindGroup({
      layout: tools.layout,
      entries: [
        {binding: 0, resource: texture.createView()},
        ...buffers.map((buffer, at) => ({binding: at + 1, resource: {buffer}})),
      ],
    });
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setBindGroup(0, group);
    for (const [pipeline, y] of [[tools.lines, lines], [tools.finish, height]] as const) {
      pass.setPipeline(pipeline);
      pass.dispatchWorkgroups(Math.ceil(width / 8), Math.ceil(y / 8));
    }
    pass.end();
    device.queue.submit([encoder.finish()]);
    made.forEach((buffer) => buffer.destroy());
    if (own) texture.destroy();
  };
}
