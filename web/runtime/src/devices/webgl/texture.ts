import type {Buffer, Extent, Room} from '../device.ts';
import {bytesOf, type DType, GossamerError} from '../../values/types.ts';
import {alive, type GlContext} from './context.ts';
import {complaint, nameOf} from './errors.ts';

export type TexelType = 'f32' | 'i32' | 'u32';

interface Format {
  readonly internal: number;
  readonly format: number;
  readonly type: number;
  readonly array: new (buffer: ArrayBuffer) => Float32Array | Int32Array | Uint32Array;
}

export function formatOf(gl: WebGL2RenderingContext, type: TexelType): Format {
  switch (type) {
    case 'f32':
      return {internal: gl.RGBA32F, format: gl.RGBA, type: gl.FLOAT, array: Float32Array};
    case 'i32':
      return {internal: gl.RGBA32I, format: gl.RGBA_INTEGER, type: gl.INT, array: Int32Array};
    case 'u32': {
      const {RGBA32UI: internal, RGBA_INTEGER: format, UNSIGNED_INT: type} = gl;
      return {internal, format, type, array: Uint32Array};
    }
  }
}

/** Elements of one or two bytes share words of u32. */
export function texelType(storage: DType): TexelType {
  if (storage === 'f32' || storage === 'i32' || storage === 'u32') return storage;
  if (bytesOf(storage) <= 2) return 'u32';
  throw new GossamerError('damaged', `webgl has no textures of ${storage}`);
}

/** A slot. Tensors of several types may share it, so it has a texture for each type in use. */
export class Texture implements Buffer {
  readonly extent: Extent;
  readonly width: number;
  readonly height: number;
  readonly layers: number;
  readonly #context: GlContext;
  readonly #textures = new Map<TexelType, WebGLTexture>();
  readonly #frames = new Map<TexelType, WebGLFramebuffer>();

  constructor(context: GlContext, {extent, name}: Room) {
    if (!('width' in extent)) throw new GossamerError('damaged', 'no texture');
    this.extent = extent;
    this.width = extent.width;
    this.height = Math.max(1, extent.height);
    this.layers = extent.layers;
    this.#context = context;
    const {maxSize, maxTargets} = context;
    if (this.width > maxSize || this.height > maxSize) {
      throw new GossamerError(
        'unsupported',
        `${name} needs a texture of ${this.width} x ${this.height}, ` +
          `this adapter allows ${maxSize} x ${maxSize}: use smaller inputs` +
          // Of an open size the width is the compiler's guess; of a known one it is chosen.
          (this.width < maxSize && this.width * this.height <= maxSize ** 2 ? ', or compile with its open dimensions fixed (dims, shapes; --dim, --shape)' : ''),
      );
    }
    if (this.layers > maxTargets) {
      throw new GossamerError(
        'unsupported',
        `${name} needs ${this.layers} render targets, this adapter allows ${maxTargets}`,
      );
    }
  }

  get target(): number {
    const {gl} = this.#context;
    return this.layers > 1 ? gl.TEXTURE_2D_ARRAY : gl.TEXTURE_2D;
  }

  texture(type: TexelType): WebGLTexture {
    const known = this.#textures.get(type);
    if (known) return known;
    const gl = alive(this.#context);
    const texture = gl.createTexture();
    const {internal} = formatOf(gl, type);
    const {target, width, height, layers} = this;
    gl.bindTexture(target, texture);
    if (layers > 1) gl.texStorage3D(target, 1, internal, width, height, layers);
    else gl.texStorage2D(target, 1, internal, width, height);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) {
      gl.texParameteri(target, name, gl.NEAREST);
    }
    for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) {
      gl.texParameteri(target, name, gl.CLAMP_TO_EDGE);
    }
    this.#textures.set(type, texture);
    return texture;
  }

  /** A framebuffer with each layer attached. */
  frame(type: TexelType): WebGLFramebuffer {
    const known = this.#frames.get(type);
    if (known) return known;
    const gl = alive(this.#context);
    const texture = this.texture(type);
    const frame = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    const targets = Array.from({length: this.layers}, (_, at) => gl.COLOR_ATTACHMENT0 + at);
    targets.forEach((attachment, layer) => {
      if (this.layers > 1) {
        gl.framebufferTextureLayer(gl.FRAMEBUFFER, attachment, texture, 0, layer);
      } else {
        gl.framebufferTexture2D(gl.FRAMEBUFFER, attachment, gl.TEXTURE_2D, texture, 0);
      }
    });
    gl.drawBuffers(targets);
    const status = gl.checkFramebufferStatus(gl.FRAMEBUFFER);
    if (status !== gl.FRAMEBUFFER_COMPLETE) {
      gl.deleteFramebuffer(frame);
      const what = `${this.layers} ${type} textures of ${this.width} x ${this.height}`;
      throw new GossamerError('unsupported', `WebGL cannot render to ${what} (${nameOf(gl, status)})`);
    }
    this.#frames.set(type, frame);
    return frame;
  }

  /** Makes the drivers that allocate on first use do so, and throws what they say. */
  claim({name, storage}: Room): void {
    const gl = alive(this.#context);
    while (gl.getError() !== gl.NO_ERROR); // what others left behind
    for (const type of new Set(storage.map(texelType))) {
      this.frame(type);
      for (let layer = 0; layer < this.layers; ++layer) {
        if (type === 'f32') gl.clearBufferfv(gl.COLOR, layer, new Float32Array(4));
        else if (type === 'i32') gl.clearBufferiv(gl.COLOR, layer, new Int32Array(4));
        else gl.clearBufferuiv(gl.COLOR, layer, new Uint32Array(4));
      }
    }
    const mebibytes = (this.width * this.height * this.layers * 16) / 2 ** 20;
    const problem = complaint(gl, `${name}, a texture of ${mebibytes.toFixed(1)} MiB`);
    if (problem) throw problem;
  }

  dispose(): void {
    const {gl} = this.#context;
    this.#frames.forEach((frame) => gl.deleteFramebuffer(frame));
    this.#textures.forEach((texture) => gl.deleteTexture(texture));
    this.#frames.clear();
    this.#textures.clear();
  }
}
