// What a suite counts and says; tools/check/test.mjs reads its last line.

export class Tally {
  passed = 0;
  failed = 0;
  skipped = 0;

  /** Counts one check. `problems` is what is wrong: a text, texts, or nothing. */
  record(name, problems) {
    const texts = problems ? [problems].flat() : [];
    if (texts.length > 0) console.log(`FAIL  ${name}: ${texts.join('; ')}`);
    if (texts.length > 0) this.failed++;
    else this.passed++;
  }

  /** What could not be run here, and why; it is no pass. */
  skip(name, reason) {
    console.log(`skip  ${name}: ${reason}`);
    this.skipped++;
  }

  /** Ends the suite: exit code 1 where something failed, or where nothing was run or skipped. */
  end() {
    const skipped = this.skipped > 0 ? `, ${this.skipped} skipped` : '';
    console.log(`${this.passed} passed, ${this.failed} failed${skipped}`);
    process.exit(this.failed === 0 && this.passed + this.skipped > 0 ? 0 : 1);
  }
}
