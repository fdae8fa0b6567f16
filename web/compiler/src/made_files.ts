import type {ModelExtras} from '../../runtime/src/session/model.ts';
import type {Load} from './verify.ts';

/** Files of a package as the compiler made them here, which may be compiled otherwise: load() need not hash what nobody carried. */
export class MadeFiles extends Map<string, Uint8Array> {
  readonly #extras: ((load: Load) => ModelExtras) | undefined;
  /** @internal For load(). */
  made = true;
  constructor(files: Iterable<readonly [string, Uint8Array]>, extras?: (load: Load) => ModelExtras) {
    super(files);
    this.#extras = extras;
  }
  override set(name: string, bytes: Uint8Array): this {
    this.made = false;
    return super.set(name, bytes);
  }
  /** @internal For load(). */
  extrasWith(load: Load): ModelExtras | undefined {
    return this.#extras?.(load);
  }
}
