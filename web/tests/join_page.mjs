#!/usr/bin/env node
// A browser as a device of an RPC server, for as long as standard input is open or until SIGTERM:
//
//   node web/tests/join_page.mjs URL [chromium|firefox] [PROGRAM] [FLAGS]
import {bundled} from './bundled.mjs';

const [url, name = 'chromium', executable, flags] = process.argv.slice(2);
try {
  if (!url) throw new Error('usage: join_page.mjs URL [BROWSER] [PROGRAM] [FLAGS]');
  const {program} = await bundled(undefined, 'src/browser.ts');
  const browser = await program.startBrowser({
    name,
    ...(executable ? {executable} : {}),
    args: flags?.split(' ').filter(Boolean) ?? [],
  });
  const page = await browser.newPage();
  await page.goto(url);
  const asked = new Promise((resolve) => {
    process.stdin.on('end', resolve).resume();
    for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, resolve);
  });
  const reason = await Promise.race([asked, page.dead]);
  if (reason !== undefined && typeof reason === 'string' && !reason.startsWith('SIG')) console.error(`join_page: ${reason}`);
  await Promise.race([browser.close(), new Promise((resolve) => setTimeout(resolve, 500))]);
  process.exit(0);
} catch (problem) {
  process.stderr.write(`join_page: ${problem instanceof Error ? problem.message : problem}\n`);
  process.exit(1);
}
