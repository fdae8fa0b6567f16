/** The WebGL 2 backend: a kernel is a fragment program, a slot a texture, a launch a draw. */
import type {
  Buffer,
  Device,
  Executable,
  Fence,
  Launch,
  Program,
  Queue,
  Read,
  Recording,
  Room,
} from '../device.ts';
import type {Lifetime} from '../lifetime.ts';
import {type DType, GossamerError} from '../../values/types.ts';
import {alive, findContext, type GlContext, type GlProgram, passed} from './context.ts';
import {complaint} from './errors.ts';
import {buildPrograms, copier} from './programs.ts';
import {formatOf, Texture, texelType} from './texture.ts';

interface Draw {
  readonly name: string;
  readonly program: GlProgram;
  readonly inputs: readonly {readonly target: number; readonly texture: WebGLTexture}[];
  readonly frame: WebGLFramebuffer;
  scalars: readonly number[];
  width: number;
  /** 0: no launch. */
  height: number;
}

interface GlRecording extends Recording {
  readonly draws: readonly Draw[];
  /** The first submission is watched. */
  watched: boolean;
}

function requireFlat(texture: Texture): void {
  if (texture.layers > 1) {
    throw new GossamerError('damaged', 'an input, output or weight lies in a texture with layers');
  }
}

/** At the end of what is read, since a context whose end has not been heard of yet answers with zeros. */
const SEAL = Uint8Array.of(0x47, 0x6f, 0x73, 0x73);

class GlQueue implements Queue {
  readonly #context: GlContext;
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

  copy(from: Buffer, to: Buffer, bytes: number, storage: DType): void {
    const context = this.#context;
    const gl = alive(context);
    const [source, target] = [from as Texture, to as Texture];
    requireFlat(source);
    requireFlat(target);
    const type = texelType(storage);
    const rows = Math.ceil(bytes / (16 * target.width));
    if (rows === 0) return;
    const {program, scalars} = copier(context, type);
    this.#draw({draws: [{
      name: 'copy',
      program: {program, scalars},
      inputs: [{target: gl.TEXTURE_2D, texture: source.texture(type)}],
      frame: target.frame(type),
      scalars: [source.width, target.width],
      width: target.width,
      height: rows,
    }]});
  }

  #draw({draws}: Pick<GlRecording, 'draws'>): void {
    const gl = alive(this.#context);
    let used: WebGLProgram | undefined;
    for (const {program: {program, scalars: places}, inputs, frame, scalars, width, height} of draws) {
      if (height === 0) continue;
      if (program !== used) gl.useProgram((used = program));
      for (let unit = 0; unit < inputs.length; ++unit) {
        const {target, texture} = inputs[unit] as Draw['inputs'][number];
        gl.activeTexture(gl.TEXTURE0 + unit);
        gl.bindTexture(target, texture);
      }
      for (let at = 0; at < places.length; ++at) gl.uniform1i(places[at] ?? null, scalars[at] ?? 0);
      gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
      gl.viewport(0, 0, width, height);
      gl.drawArrays(gl.TRIANGLES, 0, 3);
    }
  }

  submit(recordings: readonly Recording[], reads: readonly Read[]): Fence {
    const context = this.#context;
    const gl = alive(context);
    for (const recording of recordings as readonly GlRecording[]) {
      this.#draw(recording);
      if (recording.watched) continue;
      // Asking for errors waits for the GPU, so only a recording's first run does.
      recording.watched = true;
      const problem = complaint(gl, 'run');
      if (!problem) continue;
      for (const draw of recording.draws) {
        this.#draw({draws: [draw]});
        const blamed = complaint(gl, draw.name);
        if (blamed) throw blamed;
      }
      throw problem;
    }
    const data = this.#read(reads);
    gl.flush();
    return {
      accepted: Promise.resolve(),
      data,
      get done() {
        return reads.length > 0 ? data : passed(context);
      },
    };
  }

  async #read(reads: readonly Read[]): Promise<Uint8Array[]> {
    if (reads.length === 0) return [];
    const gl = alive(this.#context);
    const {PIXEL_PACK_BUFFER} = gl;
    let end = 0;
    const parts = reads.map(({buffer, bytes, storage, offset = 0}) => {
      const texture = buffer as Texture;
      requireFlat(texture);
      const row = 16 * texture.width;
      const first = Math.floor(offset / row);
      const rows = Math.ceil((offset + bytes) / row) - first;
      const begin = end;
      end += rows * row;
      return {texture, bytes, type: texelType(storage), first, rows, begin, from: begin + offset - first * row};
    });
    // One for all that is read at once; Chromium copies ahead only out of buffers that are written once.
    const buffer = gl.createBuffer();
    const into = (from: number, bytes: Uint8Array): Uint8Array => {
      gl.getBufferSubData(PIXEL_PACK_BUFFER, from, bytes);
      return bytes;
    };
    try {
      gl.bindBuffer(PIXEL_PACK_BUFFER, buffer);
      gl.bufferData(PIXEL_PACK_BUFFER, end + SEAL.length, gl.STREAM_READ);
      gl.bufferSubData(PIXEL_PACK_BUFFER, end, SEAL);
      for (const {texture, type, first, rows, begin} of parts) {
        const {format, type: element} = formatOf(gl, type);
        gl.bindFramebuffer(gl.FRAMEBUFFER, texture.frame(type));
        gl.readPixels(0, first, texture.width, rows, format, element, begin);
      }
      gl.bindBuffer(PIXEL_PACK_BUFFER, null);
      await passed(this.#context);
      alive(this.#context).bindBuffer(PIXEL_PACK_BUFFER, buffer);
      const results = parts.map(({from, bytes}) => into(from, new Uint8Array(bytes)));
      const seal = into(end, new Uint8Array(SEAL.length));
      gl.bindBuffer(PIXEL_PACK_BUFFER, null);
      if (seal.join() !== SEAL.join()) {
        throw complaint(gl, 'reading') ?? new GossamerError('lost', 'WebGL gave no result');
      }
      return results;
    } finally {
      gl.deleteBuffer(buffer);
    }
  }
}

/** Of a draw what depends on dimensions. */
function variable({buffers, scalars, range}: Launch): Pick<Draw, 'scalars' | 'width' | 'height'> {
  const {width, height} = buffers.at(-1) as Texture;
  // Rows below the tensor's last texel hold nothing, and where there is one row, nor do texels behind it.
  return {scalars, width: Math.min(width, range), height: Math.min(height, Math.ceil(range / width))};
}

const update = ({draws}: GlRecording, launches: readonly Launch[]): void =>
  draws.forEach((draw, at) => Object.assign(draw, variable(launches[at] as Launch)));

// eslint-disable-next-line @typescript-eslint/require-await -- a throw becomes a rejection
async function record(programs: readonly GlProgram[], launches: readonly Launch[]): Promise<GlRecording> {
  const draws = launches.map((launch): Draw => {
    const program = programs[launch.kernel];
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
      ...variable(launch),
    };
  });
  // Textures and framebuffers belong to the slots.
  return {draws, watched: false, dispose: () => undefined};
}

export class WebGlDevice implements Device {
  readonly kind = 'webgl';
  readonly adapter: string;
  readonly threads = 1;
  readonly fallbacks = [];
  readonly queue: Queue;
  readonly life: Lifetime;
  readonly owner: object;
  readonly context: GlContext;
  constructor(context: GlContext) {
    this.context = context;
    this.life = context.life;
    this.owner = context;
    this.adapter = context.name;
    this.queue = new GlQueue(context);
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- a throw becomes a rejection
  async createBuffers(rooms: readonly Room[]): Promise<Buffer[]> {
    const made = rooms.map((room) => new Texture(this.context, room));
    try {
      made.forEach((texture, at) => texture.claim(rooms[at] as Room));
    } catch (problem) {
      made.forEach((texture) => texture.dispose());
      throw problem;
    }
    return made;
  }

  async createExecutable({kernels}: Program, progress: (done: number) => void): Promise<Executable> {
    const [programs, dispose] = await buildPrograms(this.context, kernels, progress);
    return {
      record: (launches) => record(programs, launches),
      update: (recording, launches) => update(recording as GlRecording, launches),
      dispose,
    };
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
