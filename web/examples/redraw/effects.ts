/** What can be done to a picture: each a model, and what is done around it. */
import {compile} from '../../compiler/src/index.ts';
import {load, type Model, openDevice, tensor} from '../../runtime/src/index.ts';
import {readSignature} from '../compile/model_file.ts';
import {canvasOf, fromBgr, luma, type Pixels, scaled, toBgr, withLuma} from './pixels.ts';
import {byTiles} from './tiles.ts';

type Target = 'webgpu' | 'webgl' | 'wasm';

export interface Redrawn {
  /** At the size of `after`. */
  readonly before: Pixels;
  readonly after: Pixels;
}

export interface Effect {
  /** Of the folder that is served. */
  readonly path: string;
  /** `told` hears how much is done, 0 to 1. */
  redraw(picture: ImageBitmap, network: Network, told: (share: number) => Promise<void>): Promise<Redrawn>;
}

/** A model of one image to one image, both of known shapes but for the batch. */
export class Network {
  readonly #model: Model;
  readonly shape: readonly number[];

  constructor(model: Model, shape: readonly number[]) {
    this.#model = model;
    this.shape = shape;
  }

  static async open(file: Blob, target: Target): Promise<Network> {
    const [input] = readSignature(new Uint8Array(await file.arrayBuffer())).inputs;
    const shape = input?.shape?.map((extent, axis) => (axis === 0 ? 1 : Number(extent))) ?? [];
    if (!input || shape.length !== 4 || !shape.every((extent) => extent > 0)) throw new Error('The model takes no image of a known size.');
    const compiled = await compile(file, {target, shapes: {[input.name]: shape}});
    return new Network(await load(compiled, {device: await openDevice(target)}), shape);
  }

  get adapter(): string {
    return this.#model.report().adapter;
  }

  async run(values: Float32Array): Promise<Float32Array> {
    const [input] = this.#model.inputs;
    const [output] = this.#model.outputs;
    const results = await this.#model.run({[input?.name ?? '']: tensor(values, this.shape)});
    return (await results[output?.name ?? '']?.data<Float32Array>()) ?? new Float32Array();
  }

  dispose(): void {
    this.#model.dispose();
  }
}

const SCALE = 3;
/** Larger pictures are made as small as this first. */
const MOST = 600;
/** How far a result is from the pixels that it depends on (three windows of 3, one of 5). */
export const MARGIN = 5;

/**
 * ESPCN (Shi et al., arXiv 1609.05158) knows brightness alone: colours are the browser's. It takes squares of one size, so the picture
 * is cut into such, which overlap by what their edges do not know.
 */
const enlarge: Effect = {
  path: 'models/super_resolution_10/model.onnx',
  async redraw(picture, network, told) {
    const shrink = Math.min(1, MOST / Math.max(picture.width, picture.height));
    const [width, height] = [Math.max(1, Math.round(picture.width * shrink)), Math.max(1, Math.round(picture.height * shrink))];
    const small = scaled(picture, {x: 0, y: 0, width: picture.width, height: picture.height}, width, height);
    const before = scaled(canvasOf(small), {x: 0, y: 0, width, height}, SCALE * width, SCALE * height);
    const plane = luma(small);
    const side = network.shape[3] ?? 0;
    const made = await byTiles(plane, width, height, {side, scale: SCALE, margin: MARGIN}, (part) => network.run(part), told);
    return {before, after: withLuma(before, made)};
  },
};

/** A network that was taught one picture's style (Johnson et al., arXiv 1603.08155), for squares of one size. */
const candy: Effect = {
  path: 'models/fns_candy/model.onnx',
  async redraw(picture, network, told) {
    const [, , height = 0, width = 0] = network.shape;
    const step = Math.min(picture.width / width, picture.height / height);
    const [w, h] = [width * step, height * step];
    const before = scaled(picture, {x: (picture.width - w) / 2, y: (picture.height - h) / 2, width: w, height: h}, width, height);
    const after = fromBgr(await network.run(toBgr(before)), width, height);
    await told(1);
    return {before, after};
  },
};

export const EFFECTS: Readonly<Record<string, Effect>> = {enlarge, candy};
