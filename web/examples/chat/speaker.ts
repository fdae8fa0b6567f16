/** Answers for screen readers: whole sentences, because pieces of words would be read one by one. */

/** How far a growing text has complete sentences or lines. */
export function spokenLength(text: string): number {
  const ends = [...text.matchAll(/[.!?…:](?=\s)|\n/g)];
  const last = ends.at(-1);
  return last ? last.index + last[0].length : 0;
}

export class Speaker {
  readonly #region: HTMLElement;
  #said = 0;

  constructor(region: HTMLElement) {
    this.#region = region;
  }

  begin(): void {
    this.#region.replaceChildren();
    this.#said = 0;
  }

  #say(text: string): void {
    const plain = text.replace(/[*_`#>|]/g, '').trim();
    if (plain === '') return;
    const part = document.createElement('p');
    part.textContent = plain;
    this.#region.append(part);
  }

  /** `text` is the answer so far. */
  update(text: string): void {
    const end = spokenLength(text);
    if (end > this.#said) this.#say(text.slice(this.#said, end));
    this.#said = Math.max(this.#said, end);
  }

  end(text: string): void {
    this.#say(text.slice(this.#said));
    this.#said = text.length;
  }
}
