// What a suite counts and says; tools/check/test.mjs reads its last line.

export class Tally {
  passed = 0;
  failed = 0;

  /** Counts one check. `problems` is what is wrong: a text, texts, or nothing. */
  record(name, problems) {
    const texts = problems ? [problems].flat() : [];
    if (texts.length > 0) console.log(`FAIL  ${name}: ${texts.join('; ')}`);
    if (texts.length > 0) this.failed++;
    else this.passed++;
  }

  /** Ends the suite: exit code 1 where something failed. */
  end() {
    console.log(`${this.passed} passed, ${this.failed} failed`);
    process.exit(this.failed === 0 ? 0 : 1);
  }
}
