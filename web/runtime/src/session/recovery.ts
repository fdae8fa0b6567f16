/** What a model runs on, and what becomes of it when a device is lost. */
import type {Device, Fallback} from '../devices/device.ts';
import type {Home} from '../devices/home.ts';
import {Lifetime} from '../devices/lifetime.ts';
import type {Manifest} from '../package/manifest.ts';
import type {Session} from './session.ts';
import {about, type DeviceKind, disposed, GossamerError, messageOf} from '../values/types.ts';

/** A package loaded on its devices. */
export interface ModelParts {
  readonly manifest: Manifest;
  /** The target, and the side where there is one. */
  readonly devices: readonly Device[];
  /** What tensors of the model lie on. */
  readonly home: Home;
  readonly session: Session;
  readonly fallbacks: readonly Fallback[];
  readonly loadMs: number;
}

/** A device that went away under a model. */
export interface Loss {
  readonly device: DeviceKind;
  readonly reason: string;
  /** When, as Date.now() gives it. */
  readonly at: number;
  /** What the model runs on since; undefined until it is loaded again, or where it is not. */
  readonly instead: DeviceKind | undefined;
}

/**
 * Loads the package again, on the device that was lost or one after it; `tries` is how many losses and failures
 * came before without a run between them.
 */
export type Reload = (from: DeviceKind, reason: string, tries: number) => Promise<ModelParts>;

type Mutable<T> = {-readonly [Key in keyof T]: T[Key]};

/** So many losses and failures without a run between them end a model. */
export const TRIES = 6;
/** Before the second try; each later one waits twice as long. */
const BACKOFF_MS = 200;
/** Losses that report() lists, the latest. */
const KEPT = 100;

export class Recovery {
  readonly #reload: Reload | undefined;
  readonly #onLost: ((loss: Loss) => void) | undefined;
  readonly #stop: AbortController;
  readonly #life = new Lifetime();
  readonly losses: Loss[] = [];
  #parts: ModelParts;
  #next: Promise<ModelParts> | undefined;
  #unwatch: (() => void)[] = [];
  #tries = 0;

  /** `stop` ends a reload that is under way. */
  constructor(
    parts: ModelParts,
    stop: AbortController,
    reload: Reload | undefined,
    onLost: ((loss: Loss) => void) | undefined,
  ) {
    this.#parts = parts;
    this.#stop = stop;
    this.#reload = reload;
    this.#onLost = onLost;
    this.#use(parts);
  }

  /** What runs, or ran last. */
  get parts(): ModelParts {
    return this.#parts;
  }

  /** Whether runs survive losses. */
  get recovers(): boolean {
    return this.#reload !== undefined;
  }

  /** What to run on; a promise while it is loaded again, which rejects when that is given up. */
  get next(): ModelParts | Promise<ModelParts> {
    return this.#next ?? this.#parts;
  }

  /** A run came to its end. */
  ran(): void {
    this.#tries = 0;
  }

  /** Whether a run that failed on `parts` is to be done again. */
  retries(parts: ModelParts, problem: unknown): boolean {
    if (!this.#reload || !(problem instanceof GossamerError)) return false;
    // 'disposed' says that the session went with its device, unless the model itself did.
    const gone = parts !== this.#parts || this.#next;
    if (problem.code !== 'lost' && (problem.code !== 'disposed' || !gone)) return false;
    this.#lose(parts, parts.manifest.target, problem);
    return true;
  }

  #use(parts: ModelParts): void {
    this.#parts = parts;
    this.#next = undefined;
    this.#unwatch = parts.devices.map(({kind, life}) =>
      life.watch((problem) => this.#lose(parts, kind, problem)),
    );
  }

  #lose(parts: ModelParts, device: DeviceKind, {message: reason}: GossamerError): void {
    if (parts !== this.#parts || this.#unwatch.length === 0) return;
    this.#stopWatching();
    const loss: Loss = {device, reason, at: Date.now(), instead: undefined};
    this.losses.splice(0, this.losses.length + 1 - KEPT);
    this.losses.push(loss);
    if (this.#reload) {
      this.#next = this.#life.guard(this.#recover(loss, this.#reload));
      this.#next.catch(() => undefined);
    }
    queueMicrotask(() => this.#onLost?.(loss));
  }

  async #recover(loss: Mutable<Loss>, reload: Reload): Promise<ModelParts> {
    const {session, manifest} = this.#parts;
    session.dispose();
    const {signal} = this.#stop;
    let problem: unknown;
    while (this.#tries < TRIES && !signal.aborted) {
      const tries = this.#tries++;
      try {
        if (tries > 0) {
          await new Promise((resolve) => setTimeout(resolve, BACKOFF_MS * 2 ** (tries - 1)));
        }
        const parts = await reload(manifest.target, loss.reason, tries);
        loss.instead = parts.manifest.target;
        if (signal.aborted) parts.session.dispose();
        else this.#use(parts);
        return parts;
      } catch (failure) {
        problem = failure;
      }
    }
    throw about(`${loss.reason}; given up after ${TRIES} tries`, new GossamerError('lost', messageOf(problem)));
  }

  #stopWatching(): void {
    this.#unwatch.splice(0).forEach((stop) => stop());
  }

  dispose(): void {
    this.#stopWatching();
    this.#life.end(disposed());
    this.#stop.abort();
    this.#parts.session.dispose();
  }
}
