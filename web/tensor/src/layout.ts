/** Operations that move elements: other shapes, parts, joined parts, elements at indices. */
import {shapeText} from '../../runtime/src/values/types.ts';
import {checkPlaces} from './places.ts';
import {Reductions} from './reductions.ts';
import {constant, integers, recordNode, type Recorded} from './recording.ts';
import {uploaded} from './core.ts';
import {axisOf, broadcastShapes, computeStrides, inferShape, type Shape, wrong} from './shape.ts';

/**
 * One axis of index(): a place; [start, end, step] (null: as far as it goes); a tensor of places, or of bool one of as many axes that is
 * known now; ':' a whole axis; '...' all axes that are not named; null a new one.
 */
export type Index<T> = number | readonly [start: number | null, end?: number | null, step?: number] | T | ':' | '...' | null;

export interface Distinct<T> {
  readonly values: T;
  /** Which of the values each element is. */
  readonly inverse: T;
  /** How often each value is there. */
  readonly counts: T;
}

/** How what lies outside is made up. */
export type PadMode = 'constant' | 'reflect' | 'edge' | 'replicate' | 'wrap' | 'circular';

const END = 2 ** 31 - 1;

/** The places of each axis where a mask holds, which is known now. */
function whereTrue<T extends Layout>(mask: T, extents: Shape): T[] {
  const data = mask.value.stored?.host;
  if (!data) throw wrong('index: a mask that is computed is not known yet; use maskedSelect() or where()');
  if (mask.shape.some((extent, axis) => extent !== extents[axis])) throw wrong(`index: a mask of shape ${shapeText(mask.shape)} for axes of ${shapeText(extents.slice(0, mask.ndim))}`);
  const places = Array.from(data, Number).flatMap((each, at) => (each ? [at] : []));
  const strides = computeStrides(mask.shape);
  return mask.shape.map((extent, axis) => {
    const found = Int32Array.from(places, (place) => Math.floor(place / (strides[axis] ?? 1)) % extent);
    return mask.make(uploaded('i32', [found.length], found, mask.device));
  });
}

function scatter<T extends Layout>(x: T, axis: number, places: T, source: T, reduction: string): T {
  const at = axisOf(axis, x.ndim, 'scatter');
  checkPlaces('scatter', places, x.shape[at] ?? 1, at);
  return x.apply('ScatterElements', [x, asPlaces(places), source.cast(x.dtype)], {axis: at, reduction});
}

const triangle = <T extends Layout>(x: T, diagonal: number, upper: number): T => x.apply('Trilu', [x, constant('i64', [], [diagonal])], {upper});

export class Layout extends Reductions {
  /** The same elements in another shape; one extent may be -1. */
  reshape(...shape: readonly (number | Shape)[]): this {
    const made = inferShape(shape.flat(), this.size, 'reshape');
    return this.apply('Reshape', [this, integers(made)], {allowzero: 1});
  }

  view(...shape: readonly (number | Shape)[]): this { return this.reshape(...shape); }

  /** Axes in another order. */
  permute(...order: readonly (number | Shape)[]): this {
    const axes = order.flat().map((axis) => axisOf(axis, this.ndim, 'permute'));
    if (new Set(axes).size !== this.ndim) throw wrong(`permute: [${axes.join(', ')}] is no order of ${this.ndim} axes`);
    return this.apply('Transpose', [this], {perm: axes});
  }

  /** Two axes exchanged; a list: axes in another order; nothing: in the opposite order. */
  transpose(first?: number | Shape, second?: number): this {
    if (typeof first === 'object') return this.permute(first);
    const order = this.shape.map((_, axis) => axis);
    if (first === undefined) return this.permute(order.reverse());
    const [a, b] = [axisOf(first, this.ndim, 'transpose'), axisOf(second ?? -1, this.ndim, 'transpose')];
    [order[a], order[b]] = [b, a];
    return this.permute(order);
  }

  /** The transposed matrix. */
  get T(): this { return this.transpose(); }
  /** Transposed matrices. */
  get mT(): this { return this.transpose(-2, -1); }
  get mH(): this { return this.mT; }
  get H(): this { return this.mT; }

  /** Without axes of extent 1: the given ones, or all. */
  squeeze(axes?: number | Shape): this {
    const given = axes === undefined ? undefined : [axes].flat().map((axis) => axisOf(axis, this.ndim, 'squeeze'));
    const gone = this.shape.flatMap((extent, axis) => (extent === 1 && (given?.includes(axis) ?? true) ? [axis] : []));
    return this.reshape(this.shape.filter((_, axis) => !gone.includes(axis)));
  }

  /** With an axis of extent 1 more, at this place. */
  unsqueeze(axis: number): this {
    const shape = [...this.shape];
    shape.splice(axisOf(axis, this.ndim + 1, 'unsqueeze'), 0, 1);
    return this.reshape(shape);
  }

  /** With axes `start` to `end` as one. */
  flatten(start = 0, end = -1): this {
    if (this.ndim === 0) return this.reshape(1);
    const [from, to] = [axisOf(start, this.ndim, 'flatten'), axisOf(end, this.ndim, 'flatten')];
    const joined = this.shape.slice(from, to + 1).reduce((all, extent) => all * extent, 1);
    return this.reshape([...this.shape.slice(0, from), joined, ...this.shape.slice(to + 1)]);
  }

  /** Broadcast to a shape; -1 keeps an extent. */
  expand(...shape: readonly (number | Shape)[]): this {
    const wanted = shape.flat();
    const whole = wanted.map((extent, axis) => (extent === -1 ? (this.shape[axis - wanted.length + this.ndim] ?? 1) : extent));
    if (broadcastShapes(this.shape, whole, 'expand').join() !== whole.join()) {
      throw wrong(`expand: shape ${shapeText(this.shape)} does not broadcast to ${shapeText(whole)}`);
    }
    return this.apply('Expand', [this, integers(whole)]);
  }

  /** This so many times along each axis. */
  repeat(...times: readonly (number | Shape)[]): this {
    const counts = times.flat();
    if (counts.length < this.ndim) throw wrong(`repeat: ${counts.length} numbers for ${this.ndim} axes`);
    const fitted = this.reshape([...new Array<number>(counts.length - this.ndim).fill(1), ...this.shape]);
    return fitted.apply('Tile', [fitted, integers(counts)]);
  }

  tile(...times: readonly (number | Shape)[]): this {
    const counts = times.flat();
    return this.repeat([...new Array<number>(Math.max(this.ndim - counts.length, 0)).fill(1), ...counts]);
  }

  /** This and the others, one after the other along an axis. */
  concat(others: this | readonly this[], axis = 0): this {
    const parts = [this, ...[others].flat()] as this[];
    const dtype = parts.reduce<this['dtype']>((type, part) => part.common(part.cast(type)), this.dtype);
    return this.apply('Concat', parts.map((part) => part.cast(dtype)), {axis: axisOf(axis, this.ndim, 'concat')});
  }

  /** Parts of a size along an axis, or of the given sizes. */
  split(sizes: number | Shape, axis = 0): this[] {
    const at = axisOf(axis, this.ndim, 'split');
    const extent = this.shape[at] ?? 1;
    const list = typeof sizes === 'number'
      ? Array.from({length: Math.ceil(extent / sizes)}, (_, part) => Math.min(sizes, extent - part * sizes))
      : [...sizes];
    return this.applyAll('Split', [this, integers(list)], {axis: at}, list.length);
  }

  /** So many parts along an axis, the last ones perhaps smaller. */
  chunk(parts: number, axis = 0): this[] {
    const at = axisOf(axis, this.ndim, 'chunk');
    const size = Math.max(Math.ceil((this.shape[at] ?? 1) / parts), 1);
    if (parts < 2 || Math.ceil((this.shape[at] ?? 1) / size) !== parts) return this.split(size, at);
    return this.applyAll('Split', [this], {axis: at, num_outputs: parts}, parts);
  }

  /** Every step-th element from start up to end along axes (default: the first ones). */
  slice(starts: Shape, ends: Shape, axes: Shape = starts.map((_, axis) => axis), steps: Shape = starts.map(() => 1)): this {
    const list = axes.map((axis) => axisOf(axis, this.ndim, 'slice'));
    return this.apply('Slice', [this, integers(starts), integers(ends), integers(list), integers(steps)]);
  }

  narrow(axis: number, start: number, length: number): this {
    const extent = this.shape[axisOf(axis, this.ndim, 'narrow')] ?? 1;
    if (start < 0 || length < 0 || start + length > extent) throw wrong(`narrow: ${start} to ${start + length} of ${extent}`);
    return this.slice([start], [start + length], [axis]);
  }

  /** One place of an axis, which goes. */
  select(axis: number, place: number): this {
    const at = axisOf(axis, this.ndim, 'select');
    const extent = this.shape[at] ?? 1;
    const from = place < 0 ? place + extent : place;
    if (!Number.isInteger(from) || from < 0 || from >= extent) throw wrong(`select: place ${place} of ${extent} on axis ${at}`);
    const rest = this.shape.filter((_, other) => other !== at);
    return this.slice([from], [from + 1], [at]).reshape(rest);
  }

  /** Parts by places, ranges, tensors of places and new axes, one an axis: t.index(0, [1, null, 2], '...', null). */
  index(...where: readonly Index<this>[]): this {
    const named = where.reduce<number>((sum, each) => sum + (each === null || each === '...' ? 0 : each instanceof Layout && each.dtype === 'bool' ? each.ndim : 1), 0);
    if (named > this.ndim) throw wrong(`index: ${named} axes of a tensor of ${this.ndim}`);
    const starts: number[] = [], ends: number[] = [], axes: number[] = [], steps: number[] = [], shape: number[] = [];
    const picks: [axis: number, places: this][] = [];
    let axis = 0;
    for (const each of where) {
      if (each === null) shape.push(1);
      else if (each === ':') shape.push(this.shape[axis++] ?? 1);
      else if (each === '...') for (const end = axis + this.ndim - named; axis < end; ) shape.push(this.shape[axis++] ?? 1);
      else if (each instanceof Layout) {
        for (const places of each.dtype === 'bool' ? whereTrue(each, this.shape.slice(axis)) : [each]) {
          picks.push([shape.length, places]);
          shape.push(this.shape[axis++] ?? 1);
        }
      } else {
        const extent = this.shape[axis] ?? 1;
        const whole = typeof each === 'number';
        const [start, end, step = 1] = whole ? [each, each === -1 ? null : each + 1] : each;
        if (whole && !(each >= -extent && each < extent)) throw wrong(`index: place ${each} of ${extent} on axis ${axis}`);
        starts.push(start ?? (step < 0 ? END : 0));
        ends.push(end ?? (step < 0 ? -END : END));
        steps.push(step);
        axes.push(axis++);
        const at = (place: number): number => Math.min(Math.max(place < 0 ? place + extent : place, step < 0 ? -1 : 0), step < 0 ? extent - 1 : extent);
        const last = end === null || end === undefined ? (step < 0 ? -1 : extent) : at(end);
        if (!whole) shape.push(Math.max(0, Math.ceil((last - at(start ?? (step < 0 ? extent - 1 : 0))) / step)));
      }
    }
    shape.push(...this.shape.slice(axis));
    const cut = axes.length > 0 ? this.slice(starts, ends, axes, steps) : this;
    const made = cut.reshape(shape);
    for (const [at, places] of picks) checkPlaces('index', places, made.shape[at] ?? 1, at, true);
    const [first, second] = picks;
    if (first && !second) return made.apply('Gather', [made, asPlaces(first[1])], {axis: first[0]});
    return first ? Layout.#found(made, picks) : made;
  }

  /** Elements at places of several axes, which broadcast: where the axes are side by side in their place, else first. */
  static #found<T extends Layout>(x: T, picks: readonly (readonly [axis: number, places: T])[]): T {
    const axes = picks.map(([axis]) => axis);
    const shape = picks.map(([, {shape}]) => shape).reduce<readonly number[]>((all, each) => broadcastShapes(all, each, 'index'), []);
    const columns = picks.map(([axis, places]) =>
      places.choose(places.lt(0), places.add(x.shape[axis] ?? 1), places).cast('i64').expand(shape).unsqueeze(-1));
    const front = x.permute(axes, [...x.shape.keys()].filter((axis) => !axes.includes(axis)));
    const found = front.apply('GatherND', [front, (columns[0] as T).concat(columns.slice(1), -1)], {batch_dims: 0});
    const [begin = 0] = axes;
    if (axes.some((axis, at) => axis !== begin + at)) return found;
    const order = [...found.shape.keys()];
    return found.permute([...order.slice(shape.length, shape.length + begin), ...order.slice(0, shape.length), ...order.slice(shape.length + begin)]);
  }

  /**
   * Slices along an axis at places (ONNX's Gather, which TensorJS calls gather). Throws 'input' for places out of range that are known
   * now; those that are computed must be in range.
   */
  indexSelect(axis: number, places: this): this {
    const at = axisOf(axis, this.ndim, 'indexSelect');
    checkPlaces('indexSelect', places, this.shape[at] ?? 1, at);
    return this.apply('Gather', [this, asPlaces(places)], {axis: at});
  }

  /** Where elements are not 0, in order: [how many, axes], i32. */
  async nonzero(): Promise<this> {
    if (this.ndim === 0) return (await this.reshape(1).nonzero()).slice([0], [0], [1]);
    const [places] = (await this.found('NonZero', 1)) as [this];
    return places.transpose().cast('i32');
  }

  /** The elements where the mask holds, in order; both broadcast. Gradients flow back to where they were. */
  async maskedSelect(mask: this): Promise<this> {
    const shape = broadcastShapes(this.shape, mask.shape, 'maskedSelect');
    const places = await mask.cast('bool').expand(shape).reshape(-1).nonzero();
    return this.expand(shape).reshape(-1).indexSelect(0, places.reshape(-1));
  }

  /** Its different elements (along an axis: slices), sorted; `inverse` and `counts` are i32. */
  async unique(axis?: number): Promise<Distinct<this>> {
    const attributes = {sorted: 1, ...(axis === undefined ? {} : {axis: axisOf(axis, this.ndim, 'unique')})};
    const [values, , inverse, counts] = (await this.found('Unique', 4, attributes)) as [this, this, this, this];
    return {values, inverse: (axis === undefined ? inverse.reshape(this.shape) : inverse).cast('i32'), counts: counts.cast('i32')};
  }

  /** Elements along an axis at places, one for each of `places` (PyTorch's gather, ONNX's GatherElements). Throws as indexSelect(). */
  gather(axis: number, places: this): this {
    const at = axisOf(axis, this.ndim, 'gather');
    checkPlaces('gather', places, this.shape[at] ?? 1, at);
    return this.apply('GatherElements', [this, asPlaces(places)], {axis: at});
  }

  /** `source` written at places along an axis. */
  scatter(axis: number, places: this, source: this): this {
    return scatter(this, axis, places, source, 'none');
  }

  /** `source` added at places along an axis. */
  scatterAdd(axis: number, places: this, source: this): this {
    return scatter(this, axis, places, source, 'add');
  }

  /** In the opposite order along axes. */
  flip(axes: number | Shape): this {
    const list = [axes].flat();
    return this.slice(list.map(() => END), list.map(() => -END), list, list.map(() => -1));
  }

  /** Elements moved along an axis; those that leave come in again at the other end. */
  roll(shift: number, axis = 0): this {
    const extent = this.shape[axisOf(axis, this.ndim, 'roll')] ?? 1;
    const cut = extent && ((-shift % extent) + extent) % extent;
    if (cut === 0) return this;
    return this.slice([cut], [END], [axis]).concat(this.slice([0], [cut], [axis]), axis);
  }

  /** More elements at both ends: `pads` has those at the begin of each axis, then those at the end; negative ones cut. */
  pad(pads: Shape, mode: PadMode = 'constant', value = 0): this {
    if (pads.length !== 2 * this.ndim) throw wrong(`pad: ${pads.length} numbers for ${this.ndim} axes, two each are needed`);
    const name = {replicate: 'edge', circular: 'wrap'}[mode as string] ?? mode;
    this.shape.forEach((extent, axis) => {
      const [before = 0, after = 0] = [pads[axis], pads[axis + this.ndim]];
      const most = name === 'reflect' ? extent - 1 : name === 'wrap' ? extent : name === 'edge' && extent === 0 ? 0 : Infinity;
      if (before > most || after > most) throw wrong(`pad: ${before} and ${after} around the ${extent} of axis ${axis}; mode '${mode}' allows at most ${most}`);
      if (extent + before + after < 0) throw wrong(`pad: ${before} and ${after} around the ${extent} of axis ${axis} leave less than nothing`);
    });
    return this.apply('Pad', name === 'constant' ? [this, integers(pads), this.number(value, this.dtype)] : [this, integers(pads)], {mode: name});
  }

  /** pad() in PyTorch's order: [before, after] of the last axis, then of the one before. */
  padLast(pads: Shape, mode?: PadMode, value?: number): this {
    if (pads.length % 2 !== 0 || pads.length > 2 * this.ndim) throw wrong(`pad: ${pads.length} numbers for ${this.ndim} axes; two an axis are expected`);
    const all = new Array<number>(2 * this.ndim).fill(0);
    for (let at = 0; at < pads.length; ++at) all[this.ndim * (at % 2 + 1) - 1 - Math.floor(at / 2)] = pads[at] ?? 0;
    return this.pad(all, mode, value);
  }

  /** The upper triangle of matrices, 0 below. */
  triu(diagonal = 0): this { return triangle(this, diagonal, 1); }
  tril(diagonal = 0): this { return triangle(this, diagonal, 0); }

  /** The elements [i, i + offset] of two axes (PyTorch's: the first two), as the last axis. */
  diagonal(offset = 0, first = 0, second = 1): this {
    const axes = [first, second].map((axis) => axisOf(axis, this.ndim, 'diagonal'));
    const x = this.permute([...this.shape.keys()].filter((axis) => !axes.includes(axis)), axes);
    const [rows = 0, columns = 0] = x.shape.slice(-2);
    const places: number[] = [];
    for (let row = Math.max(-offset, 0); row < rows && row + offset < columns; ++row) places.push(row * columns + row + offset);
    const flat = x.flatten(-2);
    return flat.apply('Gather', [flat, integers(places)], {axis: flat.ndim - 1});
  }

  trace(): this {
    if (this.ndim !== 2) throw wrong(`trace: a tensor of ${this.ndim} axes`);
    return this.diagonal().sum();
  }

  /** 1 where a new axis, the last one unless told, equals the class, 0 elsewhere; i32. */
  oneHot(classes: number, axis = -1): this {
    checkPlaces('oneHot', this, classes, axis);
    // In the types that ONNX Runtime has it in.
    const places = this.cast('i64');
    return places.apply('OneHot', [places, integers([classes]), constant('i64', [2], [0, 1])], {axis}).cast('i32');
  }

  /** This with `values` written from `starts` on. */
  setValues(values: this, starts: Shape): this {
    const ends = this.shape.map((extent, axis) => extent - (starts[axis] ?? 0) - (values.shape[axis] ?? 1));
    if (values.ndim !== this.ndim || starts.length !== this.ndim || [...starts, ...ends].some((each) => each < 0)) {
      throw wrong(`setValues: shape ${shapeText(values.shape)} at [${starts.join(', ')}] of shape ${shapeText(this.shape)}`);
    }
    const pads = [...starts, ...ends];
    const here = recordNode('Pad', [
      recordNode('Expand', [constant('bool', [], [1]), integers(values.shape)])[0] as Recorded, integers(pads), constant('bool', [], [0]),
    ])[0] as Recorded;
    return this.apply('Where', [here, values.cast(this.dtype).pad(pads), this]);
  }
}

const asPlaces = <T extends Layout>(places: T): T => (places.dtype === 'i64' ? places : places.cast('i32'));
