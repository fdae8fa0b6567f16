/** The classes of the page: their names, and what was collected of each. */
import {byId, make, valueOf} from '../page/page.ts';

const MOST_CLASSES = 6;
const MOST_PICTURES = 200;

export interface Class {
  readonly name: string;
  readonly examples: Float32Array[];
  /** Pictures that are still to be taken. */
  wanted: number;
}

interface Shown extends Class {
  readonly count: HTMLElement;
  readonly press: HTMLButtonElement;
}

export class Classes {
  readonly #all: Shown[] = [];
  readonly #list = byId('classes', HTMLElement);
  readonly #changed: () => void;

  /** Calls `changed` when something was collected. */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  get names(): string[] {
    return this.#all.map(({name}) => name);
  }

  get examples(): Float32Array[][] {
    return this.#all.map(({examples}) => examples);
  }

  /** Whether there is enough to learn from: four pictures of each class. */
  get enough(): boolean {
    return this.#all.length > 1 && this.#all.every(({examples}) => examples.length >= 4);
  }

  /** What is being collected. */
  get current(): Class | undefined {
    return this.#all.find(({wanted}) => wanted > 0);
  }

  /** False: there are enough. */
  add(): boolean {
    const place = this.#all.length + 1;
    const name = make('input', {type: 'text', value: `class ${place}`, ariaLabel: `Name of class ${place}`});
    const press = make('button', {type: 'button', className: 'small', disabled: true}, 'Collect');
    const count = make('span', {className: 'number'}, '0 pictures');
    const one: Shown = {
      get name() {
        return name.value.trim() || `class ${place}`;
      },
      examples: [],
      wanted: 0,
      count,
      press,
    };
    press.addEventListener('click', () => (one.wanted = Math.max(1, valueOf('at-once'))));
    this.#all.push(one);
    this.#list.append(make('li', {}, name, press, count));
    return this.#all.length < MOST_CLASSES;
  }

  collect(to: Class, features: Float32Array): void {
    to.wanted -= 1;
    to.examples.push(features);
    if (to.examples.length > MOST_PICTURES) to.examples.shift();
    const {count} = to as Shown;
    count.textContent = `${to.examples.length} pictures`;
    this.#changed();
  }

  /** Whether pictures can be taken. */
  enable(possible: boolean): void {
    for (const one of this.#all) {
      one.press.disabled = !possible;
      if (!possible) one.wanted = 0;
    }
  }
}
