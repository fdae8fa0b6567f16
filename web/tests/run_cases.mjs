#!/usr/bin/env node
// Runs packages in a browser for `gossamer test`: JSON lines in, JSON lines out (README.md).
import {bundled} from './bundled.mjs';

try {
  const {script, program} = await bundled('src/case_page.ts', 'src/harness.ts');
  await program.main(process.argv.slice(2), script);
  process.exit(0);
} catch (problem) {
  process.stderr.write(`run_cases: ${problem instanceof Error ? problem.message : problem}\n`);
  process.exit(1);
}
