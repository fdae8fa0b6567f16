/** The element with this id; its absence is a mistake in index.html. */
export function element<T extends HTMLElement>(id: string, type: new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`index.html has no ${type.name} "${id}"`);
  return found;
}

interface Row {
  readonly item: HTMLLIElement;
  readonly bar: HTMLElement;
  readonly share: HTMLElement;
}

function makeRow(digit: number): Row {
  const item = document.createElement('li');
  const name = document.createElement('span');
  name.textContent = String(digit);
  const track = document.createElement('div');
  track.className = 'track';
  track.setAttribute('aria-hidden', 'true');
  const bar = document.createElement('div');
  bar.className = 'bar';
  track.append(bar);
  const share = document.createElement('span');
  share.className = 'share';
  item.append(name, track, share);
  return {item, bar, share};
}

/** The best digit in large type, and a bar for each of the ten. */
export class Answer {
  readonly #digit = element('digit', HTMLOutputElement);
  readonly #sure = element('sure', HTMLSpanElement);
  readonly #spoken = element('spoken', HTMLParagraphElement);
  readonly #rows = Array.from({length: 10}, (_, digit) => makeRow(digit));
  #speech: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    element('bars', HTMLOListElement).append(...this.#rows.map((row) => row.item));
    this.clear();
  }

  clear(): void {
    this.#fill(() => 0, undefined);
    this.#digit.textContent = '–';
    this.#sure.textContent = '';
    this.#say('');
  }

  /** @param probabilities ten numbers from 0 to 1 */
  show(probabilities: ArrayLike<number>): void {
    let best = 0;
    for (let digit = 1; digit < 10; ++digit) {
      if ((probabilities[digit] ?? 0) > (probabilities[best] ?? 0)) best = digit;
    }
    this.#fill((digit) => probabilities[digit] ?? 0, best);
    const share = probabilities[best] ?? 0;
    const sure = share > 0.85 ? 'surely' : share > 0.5 ? 'probably' : 'perhaps';
    this.#digit.textContent = String(best);
    this.#sure.textContent = sure;
    this.#say(`${sure} a ${best}, ${Math.round(100 * share)} percent`);
  }

  #fill(shareOf: (digit: number) => number, best: number | undefined): void {
    this.#rows.forEach(({item, bar, share}, digit) => {
      const value = shareOf(digit);
      item.className = digit === best ? 'best' : '';
      bar.style.transform = `scaleX(${value.toFixed(4)})`;
      share.textContent = `${(100 * value).toFixed(1)} %`;
    });
  }

  /** Screen readers hear the answer once the pen rests, not at every move. */
  #say(text: string): void {
    clearTimeout(this.#speech);
    this.#speech = setTimeout(() => {
      this.#spoken.textContent = text;
    }, 700);
  }
}
