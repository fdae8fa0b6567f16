/** The WebGL 2 backend: a kernel is a fragment program, a slot a texture, a launch a draw. */
import type {
  Buffer,
  Device,
  Executable,
  Fence,
  Launch,
  Program,
  Queue,
  Recording,
  Room,
} from '../device.ts';
import type {Lifetime} from '../lifetime.ts';
import {createPlan, type PlanMemory} from '../plan_module.ts';
import {type DType, GossamerError} from '../types.ts';
import {alive, findContext, type GlContext, passed} from './context.ts';
import {complaint} from './errors.ts';
import {buildPrograms, type GlProgram} from './programs.ts';
import {formatOf, type TexelType, Texture, texelType} from './texture.ts';

interface Draw {
  readonly name: string;
  readonly program: GlProgram;
  readonly inputs: readonly {readonly target: number; readonly texture: WebGLTexture}[];
  readonly frame: WebGLFramebuffer;
  readonly scalars: readonly number[];
  readonly width: number;
  readonly height: number;
}

class GlRecording implements Recording {
  readonly draws: readonly Draw[];
  constructor(draws: readonly Draw[]) {
    this.draws = draws;
  }
  dispose(): void {
    // Textures and framebuffers belong to the slots.
  }
}

function requireFlat(texture: Texture): void {
  if (texture.layers > 1) {
    throw new GossamerError('damaged', 'an input, output or weight lies in a texture with layers');
  }
}

/** Behind each result, since a context whose end has not been heard of yet answers with zeros. */
const SEAL = Uint8Array.of(0x47, 0x6f, 0x73, 0x73);

class GlQueue implements Queue {
  readonly #context: GlContext;
  #watched = new WeakSet<GlRecording>();
  constructor(context: GlContext) {
    this.#context = context;
  }

  write(buffer: Buffer, data: Uint8Array, storage: DType): void {
    const gl = alive(this.#context);
    const texture = buffer as Texture;
    requireFlat(texture);
    if (data.byteLength === 0) return;
    const type = texelType(storage);
    const {width} = texture;
    const rows = Math.ceil(data.byteLength / (16 * width));
    // Whole rows are uploaded; the rest of the last one becomes zeros.
    const padded = new ArrayBuffer(rows * width * 16);
    new Uint8Array(padded).set(data);
    const {format, type: element, array} = formatOf(gl, type);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, texture.texture(type));
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, width, rows, format, element, new array(padded));
  }

  #draw(draws: readonly Draw[]): void {
    const gl = alive(this.#context);
    let program: WebGLProgram | undefined;
    for (const draw of draws) {
      if (draw.program.program !== program) gl.useProgram((program = draw.program.program));
      draw.inputs.forEach(({target, texture}, unit) => {
        gl.activeTexture(gl.TEXTURE0 + unit);
        gl.bindTexture(target, texture);
      });
      draw.program.scalars.forEach((at, index) => gl.uniform1i(at, draw.scalars[index] ?? 0));
      gl.bindFramebuffer(gl.FRAMEBUFFER, draw.frame);
      gl.viewport(0, 0, draw.width, draw.height);
      gl.drawArrays(gl.TRIANGLES, 0, 3);
    }
  }

  submit(recording: Recording): Fence {
    const gl = alive(this.#context);
    const {draws} = recording as GlRecording;
    this.#draw(draws);
    if (!this.#watched.has(recording as GlRecording)) {
      // Asking for errors waits for the GPU, so only a recording's first run does.
      this.#watched.add(recording as GlRecording);
      const problem = complaint(gl, 'run');
      if (problem) {
        for (const draw of draws) {
          this.#draw([draw]);
          const blamed = complaint(gl, draw.name);
          if (blamed) throw blamed;
        }
        throw problem;
      }
    }
    gl.flush();
    const context = this.#context;
    return {
      accepted: Promise.resolve(),
      get done() {
        return passed(context);
      },
    };
  }

  async read(buffer: Buffer, bytes: number, storage: DType): Promise<Uint8Array> {
    const texture = buffer as Texture;
    requireFlat(texture);
    if (bytes === 0) return new Uint8Array();
    const gl = alive(this.#context);
    const type: TexelType = texelType(storage);
    const {width} = texture;
    const rows = Math.ceil(bytes / (16 * width));
    const {format, type: element} = formatOf(gl, type);
    gl.bindFramebuffer(gl.FRAMEBUFFER, texture.frame(type));
    gl.readBuffer(gl.COLOR_ATTACHMENT0);
    const staging = gl.createBuffer();
    const end = rows * width * 16;
    try {
      gl.bindBuffer(gl.PIXEL_PACK_BUFFER, staging);
      gl.bufferData(gl.PIXEL_PACK_BUFFER, end + SEAL.length, gl.STREAM_READ);
      gl.bufferSubData(gl.PIXEL_PACK_BUFFER, end, SEAL);
      gl.readPixels(0, 0, width, rows, format, element, 0);
      gl.bindBuffer(gl.PIXEL_PACK_BUFFER, null);
      await passed(this.#context);
      const result = new Uint8Array(bytes);
      const seal = new Uint8Array(SEAL.length);
      alive(this.#context).bindBuffer(gl.PIXEL_PACK_BUFFER, staging);
      gl.getBufferSubData(gl.PIXEL_PACK_BUFFER, 0, result);
      gl.getBufferSubData(gl.PIXEL_PACK_BUFFER, end, seal);
      gl.bindBuffer(gl.PIXEL_PACK_BUFFER, null);
      if (seal.join() !== SEAL.join()) {
        throw complaint(gl, 'reading') ?? new GossamerError('lost', 'WebGL gave no result');
      }
      return result;
    } finally {
      gl.deleteBuffer(staging);
    }
  }
}

class GlExecutable implements Executable {
  readonly #context: GlContext;
  readonly #programs: readonly GlProgram[];
  readonly #plan: PlanMemory | undefined;
  constructor(context: GlContext, programs: readonly GlProgram[], plan: PlanMemory | undefined) {
    this.#context = context;
    this.#programs = programs;
    this.#plan = plan;
  }

  plan(segment: number, dims: readonly number[]): Promise<Float64Array> {
    return Promise.resolve(this.#plan?.evaluate(segment, dims) ?? new Float64Array());
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- a throw becomes a rejection
  async record(launches: readonly Launch[]): Promise<Recording> {
    const draws = launches
      .filter((launch) => launch.range > 0)
      .map((launch): Draw => {
        const program = this.#programs[launch.kernel];
        const written = launch.buffers.at(-1) as Texture | undefined;
        if (!program || !written) throw new GossamerError('damaged', `kernel ${launch.kernel}`);
        const inputs = launch.buffers.slice(0, -1).map((buffer, at) => {
          const texture = buffer as Texture;
          const type = texelType(launch.storage[at] ?? 'f32');
          return {target: texture.target, texture: texture.texture(type)};
        });
        return {
          name: launch.name,
          program,
          inputs,
          frame: written.frame(texelType(launch.storage.at(-1) ?? 'f32')),
          scalars: launch.scalars,
          width: written.width,
          // Rows below the tensor's last texel hold nothing.
          height: Math.min(written.height, Math.ceil(launch.range / written.width)),
        };
      });
    return new GlRecording(draws);
  }

  dispose(): void {
    const {gl} = this.#context;
    new Set(this.#programs).forEach(({program}) => gl.deleteProgram(program));
  }
}

class WebGlDevice implements Device {
  readonly kind = 'webgl';
  readonly adapter: string;
  readonly threads = 1;
  readonly fallbacks = [];
  readonly queue: Queue;
  readonly life: Lifetime;
  readonly #context: GlContext;
  constructor(context: GlContext) {
    this.#context = context;
    this.life = context.life;
    this.adapter = context.name;
    this.queue = new GlQueue(context);
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- a throw becomes a rejection
  async createBuffers(rooms: readonly Room[]): Promise<Buffer[]> {
    const made = rooms.map((room) => new Texture(this.#context, room));
    try {
      made.forEach((texture, at) => texture.claim(rooms[at] as Room));
    } catch (problem) {
      made.forEach((texture) => texture.dispose());
      throw problem;
    }
    return made;
  }

  async createExecutable(program: Program, progress: (done: number) => void): Promise<Executable> {
    const plan =
      program.module && program.plan && (await createPlan(program.module, program.plan));
    const programs = await buildPrograms(this.#context, program.kernels, progress);
    return new GlExecutable(this.#context, programs, plan);
  }

  dispose(): void {
    // The context is the page's; buffers and executables are disposed of by their owner.
  }
}

/** Throws 'unsupported' when WebGL 2 or rendering to float textures is missing. */
export function open(): Promise<Device> {
  const context = findContext();
  return typeof context === 'string'
    ? Promise.reject(new GossamerError('unsupported', context))
    : Promise.resolve(new WebGlDevice(context));
}
