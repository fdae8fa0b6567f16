/** Progress on standard error, where that is a terminal. */
export class Progress {
  readonly #isVisible: boolean;
  #isShown = false;

  constructor(isQuiet: boolean) {
    this.#isVisible = !isQuiet && process.stderr.isTTY;
  }

  show(step: string, fraction: number): void {
    if (!this.#isVisible) return;
    this.#isShown = true;
    process.stderr.write(`\r\u001b[K${Math.round(100 * fraction).toString().padStart(3)}% ${step}`);
  }

  end(): void {
    if (this.#isShown) process.stderr.write('\r\u001b[K');
    this.#isShown = false;
  }
}
