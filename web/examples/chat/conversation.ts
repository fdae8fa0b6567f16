/** A conversation: turns of the user and of the model, which localStorage keeps. */
import type {Message} from '@gossamer/llm';

export interface Turn {
  readonly role: 'user' | 'assistant';
  readonly content: string;
  /** Why an answer ended early, or how fast it was. */
  readonly note?: string | undefined;
}

const isTurn = (value: unknown): value is Turn => {
  const {role, content} = (value ?? {}) as Partial<Turn>;
  return (role === 'user' || role === 'assistant') && typeof content === 'string';
};

/** What is kept was written by another version of the page, or by hand. */
function readTurns(text: string | null): Turn[] {
  try {
    const kept: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(kept) && kept.every(isTurn) ? kept : [];
  } catch {
    return [];
  }
}

/** As much of localStorage as a conversation uses. */
export interface Store {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
}

const KEY = 'gossamer-chat';

export class Conversation {
  readonly #store: Store;
  #turns: readonly Turn[];

  constructor(store: Store) {
    this.#store = store;
    this.#turns = readTurns(store.getItem(KEY));
  }

  get turns(): readonly Turn[] {
    return this.#turns;
  }

  #change(turns: readonly Turn[]): void {
    this.#turns = turns;
    try {
      this.#store.setItem(KEY, JSON.stringify(turns));
    } catch {
      // No room, or storage is blocked: the conversation ends with the page.
    }
  }

  /** The next turn of the user after the first `skipped`; undefined: there is none. */
  nextQuestion(skipped: number): number | undefined {
    const at = this.#turns.findIndex(({role}, place) => place > skipped && role === 'user');
    return at < 0 ? undefined : at;
  }

  clear(): void {
    this.#change([]);
  }

  ask(content: string): void {
    this.#change([...this.#turns, {role: 'user', content}]);
  }

  /** Replaces a message of the user; what came after it is gone. */
  edit(at: number, content: string): void {
    this.#change([...this.#turns.slice(0, at), {role: 'user', content}]);
  }

  /** Forgets the answer in this place and what came after it. */
  forgetFrom(at: number): void {
    this.#change(this.#turns.slice(0, at));
  }

  answer(content: string, note?: string): void {
    this.#change([...this.#turns, {role: 'assistant', content, note}]);
  }

  /** For chat.completions.create(), without the first `skipped` turns. Answers that failed before their first word are left out. */
  messages(system: string, skipped = 0): Message[] {
    const said = this.#turns.slice(skipped).filter(({role, content}) => role === 'user' || content !== '');
    return [...(system.trim() === '' ? [] : [{role: 'system', content: system} as const]), ...said.map(({role, content}) => ({role, content}))];
  }
}
