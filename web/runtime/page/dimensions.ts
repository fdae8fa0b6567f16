/** A number box for each named dimension, shared by all inputs that have it. */
import type {Model, PortInfo} from '../src/index.ts';
import {make} from './dom.ts';
import {imageAxes} from '../src/image/preprocess.ts';

const isName = (extent: number | string): extent is string => typeof extent === 'string';

export class Dimensions {
  readonly #boxes = new Map<string, HTMLInputElement>();

  constructor(model: Model, place: HTMLElement) {
    const names = new Set(model.inputs.flatMap(({shape}) => shape.filter(isName)));
    for (const name of names) {
      const spatial = model.inputs.some((port) => isSpatial(port, name));
      const box = make('input', {type: 'number', min: '0', step: '1', value: spatial ? '256' : '1'});
      place.append(make('label', {className: 'row'}, make('code', {}, name), box));
      this.#boxes.set(name, box);
    }
    if (names.size > 0) place.prepend(make('h3', {}, 'Dimensions'));
  }

  /** The shape with every name replaced. Throws an Error where a box holds no dimension. */
  resolve(shape: readonly (number | string)[]): number[] {
    return shape.map((extent) => {
      if (!isName(extent)) return extent;
      const value = Number(this.#boxes.get(extent)?.value || NaN);
      if (!Number.isInteger(value) || value < 0) throw new Error(`dimension ${extent} is no whole number`);
      return value;
    });
  }

  /** Takes over the dimensions of a tensor that was given, so that what is filled in fits it. */
  learn({shape}: PortInfo, given: readonly (number | undefined)[]): void {
    shape.forEach((extent, axis) => {
      const box = isName(extent) ? this.#boxes.get(extent) : undefined;
      const value = String(given[axis] ?? box?.value);
      if (!box || box.value === value) return;
      box.value = value;
      box.dispatchEvent(new Event('change', {bubbles: true}));
    });
  }

  onChange(act: () => void): void {
    this.#boxes.forEach((box) => box.addEventListener('change', act));
  }
}

function isSpatial(port: PortInfo, name: string): boolean {
  const axes = port.shape.length === 4 ? imageAxes(port.shape, port.dtype) : undefined;
  return axes !== undefined && port.shape.indexOf(name, axes.rowAxis) >= axes.rowAxis && port.shape[0] !== name;
}
