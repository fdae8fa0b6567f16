/** What GPUs run out of and complain about: each says which tensor or kernel, and of which node. */
import {type DeviceKind, load, type Model, type Output, tensor} from '../../runtime/src/index.ts';
import {KEPT_BYTES} from '../../runtime/src/devices/webgpu/staging.ts';
import {tinyFolder, tinyPackage} from '../fixtures/tiny.ts';
import {check, k, ramp, rejects, same} from './check.ts';

type Body = () => Promise<void>;

/** Replaces a method for a while; `change` gets the real one. */
async function patched<T extends object, Name extends keyof T>(
  owner: T,
  name: Name,
  change: (real: T[Name]) => unknown,
  body: Body,
): Promise<void> {
  const real = owner[name];
  owner[name] = change(real) as T[Name];
  try {
    await body();
  } finally {
    owner[name] = real;
  }
}

type Create = (this: GPUDevice, descriptor: GPUBufferDescriptor) => GPUBuffer;
const isStaging = ({usage}: GPUBufferDescriptor): boolean => (usage & GPUBufferUsage.MAP_READ) !== 0;

async function worksOn(model: Model): Promise<void> {
  const {y} = await model.run({x: ramp(4), k});
  same(await y?.data(), [3, 8, 13, 18], 'y');
}

async function stagingIsBounded(): Promise<void> {
  const alive = new Map<GPUBuffer, number>();
  let made = 0;
  let most = 0;
  const create = (real: Create): Create =>
    function (this: GPUDevice, descriptor) {
      const buffer = real.call(this, descriptor);
      if (!isStaging(descriptor)) return buffer;
      ++made;
      alive.set(buffer, descriptor.size);
      most = Math.max(most, [...alive.values()].reduce((sum, size) => sum + size, 0));
      const destroy = buffer.destroy.bind(buffer);
      buffer.destroy = () => {
        alive.delete(buffer);
        return destroy();
      };
      return buffer;
    };
  await patched(GPUDevice.prototype, 'createBuffer', create, async () => {
    const bytes = (): number => [...alive.values()].reduce((sum, size) => sum + size, 0);
    const model = await load(await tinyPackage('webgpu'));
    const run = async (n: number): Promise<void> => {
      const {y} = await model.run({x: ramp(n), k});
      same((await y?.data())?.length, n, 'length');
    };
    for (let at = 0; at < 100; ++at) await run(2 * at + 2);
    check(made < 12, `${made} staging buffers for outputs of 8 to 800 bytes`);
    for (let at = 0; at < 40; ++at) await run(100_000 * (40 - at));
    check(bytes() <= KEPT_BYTES, `${bytes()} bytes of staging buffers at rest`);
    check(most < KEPT_BYTES + 20 * 2 ** 20, `${most} bytes of staging buffers at once`);
    const before = made;
    await run(100_000);
    await run(100_002);
    same(made, before, 'buffers made for a size that was there last');
    model.dispose();
    same(bytes(), 0, 'bytes after the model is gone');
  });
}

/** No memory from the `nth` texture on: what WebGL answers then. */
async function withoutTextures(nth: number, body: (made: () => number) => Promise<void>): Promise<void> {
  let made = 0;
  let error = 0;
  const {prototype} = WebGL2RenderingContext;
  type Storage = WebGL2RenderingContext['texStorage2D'];
  await patched(
    prototype,
    'texStorage2D',
    (real: Storage): Storage =>
      function (this: WebGL2RenderingContext, ...given) {
        if (++made >= nth) error = this.OUT_OF_MEMORY;
        real.apply(this, given);
      },
    () =>
      patched(
        prototype,
        'getError',
        (real: () => number) =>
          function (this: WebGL2RenderingContext) {
            const found = error || real.call(this);
            error = 0;
            return found;
          },
        () => body(() => made),
      ),
  );
}

async function glMemory(): Promise<void> {
  const folder = await tinyFolder({n: 4});
  folder.set('index.json', new TextEncoder().encode('{"variants": {"webgl": "webgl/", "wasm": "wasm/"}}'));
  await withoutTextures(3, async (made) => {
    using model = await load(folder);
    const {device, fallbacks} = model.report();
    same(device, 'wasm', 'device');
    same(fallbacks[0]?.reason, 'tensor "y", a texture of 0.0 MiB: WebGL says OUT_OF_MEMORY', 'reason');
    same(made(), 3, 'textures');
    await worksOn(model);
  });
  // Sizes that a run decides: the error is the run's, and later runs are as before.
  using model = await load(await tinyPackage('webgl'));
  await worksOn(model);
  await withoutTextures(1, () =>
    rejects(model.run({x: ramp(4000), k}), 'out-of-memory', /^tensor "x", a texture of .* OUT_OF_MEMORY/),
  );
  await worksOn(model);
  // And none is made in runs where all sizes are known when loading.
  using known = await load(await tinyPackage('webgl', {n: 4}));
  await withoutTextures(1, async (made) => {
    await worksOn(known);
    same(made(), 0, 'textures made by a run');
  });
}

async function gpuMemory(): Promise<void> {
  using model = await load(await tinyPackage('webgpu', {n: 4}));
  type Pop = (this: GPUDevice) => Promise<GPUError | null>;
  let fail = false;
  const create = (real: Create): Create =>
    function (this: GPUDevice, descriptor) {
      fail = isStaging(descriptor);
      // An invalid buffer: what a device without memory gives.
      return real.call(this, fail ? {...descriptor, usage: 0} : descriptor);
    };
  // Scopes are asked from the innermost: validation, memory, internal.
  let asked = 0;
  const answer = (pop: Pop): Pop =>
    async function (this: GPUDevice) {
      const at = fail ? ++asked : 0;
      await pop.call(this);
      return at === 2 ? new GPUOutOfMemoryError('no memory left') : null;
    };
  await patched(GPUDevice.prototype, 'createBuffer', create, () =>
    patched(GPUDevice.prototype, 'popErrorScope', answer, async () => {
      const {y} = await model.run({x: ramp(4), k});
      await rejects(y?.data() as Promise<unknown>, 'out-of-memory', /tensor "y": .*staging buffer of 256 bytes: no memory/);
    }),
  );
  await worksOn(model);
}

/** A driver that refuses what the kernel "next" wants, the only one of integers. */
async function wrongLaunch(kind: 'webgpu' | 'webgl'): Promise<void> {
  using model = await load(await tinyPackage(kind, {n: 4}));
  const fails = (message: RegExp): Body => () => rejects(model.run({x: ramp(4), k}), 'kernel', message);
  if (kind === 'webgl') {
    type Draw = WebGL2RenderingContext['drawArrays'];
    const draw = (real: Draw): Draw =>
      function (this: WebGL2RenderingContext, mode, first, count) {
        const program = this.getParameter(this.CURRENT_PROGRAM) as WebGLProgram;
        const {type} = this.getActiveUniform(program, 0) as WebGLActiveInfo;
        real.call(this, mode, first, type === this.INT_SAMPLER_2D ? -1 : count);
      };
    const message = /^kernel "next" \(Add "m"\): WebGL says INVALID_VALUE/;
    await patched(WebGL2RenderingContext.prototype, 'drawArrays', draw, fails(message));
  } else {
    type Bind = (this: GPUComputePassEncoder, index: number, group: GPUBindGroup) => undefined;
    const bind = (real: Bind): Bind =>
      function (this: GPUComputePassEncoder, index, group) {
        return real.call(this, group.label.includes('next') ? 3 : index, group);
      };
    const {prototype} = GPUComputePassEncoder;
    await patched(prototype as {setBindGroup: Bind}, 'setBindGroup', bind, fails(/^kernel "next" \(Add "m"\): ./));
  }
}

async function wrongBinding(): Promise<void> {
  using model = await load(await tinyPackage('webgpu', {n: 4}));
  type Bind = (this: GPUDevice, descriptor: GPUBindGroupDescriptor) => GPUBindGroup;
  const bind = (real: Bind): Bind =>
    function (this: GPUDevice, descriptor) {
      const entries = [...descriptor.entries];
      return real.call(this, {...descriptor, entries: entries.slice(entries.length === 2 ? 1 : 0)});
    };
  await patched(GPUDevice.prototype, 'createBindGroup', bind, () =>
    rejects(model.run({x: ramp(4), k}), 'kernel', /^kernel "next" \(Add "m"\): /),
  );
  await worksOn(model);
}

/** Runs of many sizes at once, and outputs read after others were asked for. */
async function manyAtOnce(kind: DeviceKind): Promise<void> {
  using model = await load(await tinyPackage(kind));
  const sizes = Array.from({length: 30}, (_, at) => 2 * ((at * 7) % 30) + 2);
  const outs = await Promise.all(sizes.map((n) => model.run({x: ramp(n), k})));
  for (const [at, {y}] of outs.entries()) {
    const wanted = Float32Array.from({length: sizes[at] ?? 0}, (_, each) => 5 * each + 3);
    same(await (y as Output).data(), wanted, `y of ${sizes[at]}`);
  }
  const {y} = await model.run({x: tensor(new Float32Array(0), [1, 0]), k});
  same((await y?.data())?.length, 0, 'length of nothing');
}

export function addTrouble(tests: Map<string, Body>): void {
  tests.set('webgpu: buffers to read through are few, whatever the sizes', stagingIsBounded);
  tests.set('webgpu: no memory to read through names the tensor', gpuMemory);
  tests.set('webgpu: bindings that are refused name the kernel and its node', wrongBinding);
  tests.set('webgl: no memory is noticed when loading, and names the tensor', glMemory);
  for (const kind of ['webgpu', 'webgl'] as const) {
    tests.set(`${kind}: a launch that is refused names the kernel and its node`, () => wrongLaunch(kind));
    tests.set(`${kind}: runs of many sizes at once`, () => manyAtOnce(kind));
  }
}
