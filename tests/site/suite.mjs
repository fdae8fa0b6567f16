// The site: every link leads somewhere, its code runs, and its pages can be used on a phone, by keyboard and with a screen reader.
//
//   node tests/site/suite.mjs [--all] [--no-build]
//
// --all: accessibility of all pages in both colour schemes, not only of those that the site has of its own and some of each other kind.
import {execFileSync, spawn, spawnSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:http';
import {createRequire} from 'node:module';
import os from 'node:os';
import path from 'node:path';
import {parseArgs} from 'node:util';
import {gzipSync} from 'node:zlib';
import {message, block, integer, node as nodeOf, value} from '../cli/models.mjs';
import {writeTinyModel} from '../llm/tiny_model.mjs';
import {Tally} from '../tally.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const site = path.join(root, 'site');
const {values: options} = parseArgs({options: {all: {type: 'boolean'}, build: {type: 'boolean', default: true}}, allowNegative: true});
const out = path.join(root, 'build/site');
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-site-'));
process.on('exit', () => rmSync(work, {recursive: true, force: true}));
const tally = new Tally();

/** Installs what the lock file pins, once. */
function install() {
  const stamp = path.join(site, 'node_modules/.gossamer-installed');
  const hash = createHash('sha256').update(readFileSync(path.join(site, 'package-lock.json'))).digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return;
  execFileSync('npm', ['ci', '--ignore-scripts'], {cwd: site, stdio: ['ignore', 'ignore', 'inherit']});
  writeFileSync(stamp, hash);
}

if (options.build) {
  install();
  const {status, stdout, stderr} = spawnSync(process.execPath, [path.join(site, 'build.mjs'), '--out', out], {encoding: 'utf8', timeout: 600_000, maxBuffer: 1 << 26});
  tally.record('the site is built', status === 0 ? [] : (stdout + stderr).slice(-3000));
  if (status !== 0) tally.end();
}

const files = readdirSync(out, {recursive: true, withFileTypes: true}).filter((entry) => entry.isFile()).map((entry) => path.relative(out, path.join(entry.parentPath, entry.name)));
const texts = new Map();
const textOf = (file) => texts.get(file) ?? texts.set(file, readFileSync(path.join(out, file), 'utf8')).get(file);
/** Pages of VitePress; examples are pages of their own kind. */
const pages = files.filter((file) => file.endsWith('.html') && !/^(examples|live|snippets)\//.test(file)).sort();
/** The examples; most of them look for models that are not there. */
const examples = files.filter((file) => /^examples\/[^/]+\.html$/.test(file)).sort();
const idsOf = (file) => new Set(Array.from(textOf(file).matchAll(/\sid="([^"]*)"/g), ([, id]) => id));

function links() {
  const has = new Set(files);
  const places = new Map(files.filter((file) => file.endsWith('.html')).map((file) => [file, idsOf(file)]));
  const broken = new Map();
  let count = 0;
  for (const file of files.filter((each) => each.endsWith('.html') && !/^(live|snippets)\//.test(each))) {
    // Code is text.
    const html = textOf(file).replace(/<(pre|code|script)[^>]*>[\s\S]*?<\/\1>/g, '');
    for (const [, name, raw] of html.matchAll(/<(?:a|link|img|script|source|iframe)\b[^>]*?\s(href|src)="([^"]*)"/g)) {
      const link = raw.replaceAll('&amp;', '&');
      if (/^(https?:|data:|mailto:)/.test(link)) continue;
      count += 1;
      const {pathname, hash} = new URL(link, `http://site/${file}`);
      let to = decodeURIComponent(pathname.slice(1));
      if (to === '' || to.endsWith('/')) to += 'index.html';
      if (!has.has(to) && has.has(`${to}.html`)) to += '.html';
      const anchor = decodeURIComponent(hash.slice(1));
      if (!has.has(to)) broken.set(`${file}: ${name} ${link}`, 'is missing');
      else if (anchor && to.endsWith('.html') && pages.includes(to) && !places.get(to).has(anchor)) broken.set(`${file}: ${link}`, 'has no such place');
    }
  }
  tally.record(`${count} links of ${files.filter((file) => file.endsWith('.html')).length} pages`, count > 1000 ? Array.from(broken, ([link, why]) => `${link} ${why}`).slice(0, 30) : 'links are not found');
}

/** Messages that the page about troubles quotes exist. */
function troubles() {
  const page = readFileSync(path.join(site, 'pages/troubleshooting.md'), 'utf8');
  const quoted = page.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| code')).flatMap((line) => Array.from(line.split(' | ')[0].matchAll(/`([^`]+)`/g), ([, text]) => text));
  const sources = execFileSync('git', ['ls-files', 'src', 'tools/gossamer', 'runtime', 'web/*/src/*'], {cwd: root, encoding: 'utf8'}).split('\n').filter((file) => /\.(cc|h|ts)$/.test(file))
    .map((file) => readFileSync(path.join(root, file), 'utf8').replace(/"\s*\n\s*"/g, '').replaceAll("\\'", "'")).join('\n');
  tally.record(`${quoted.length} messages of troubleshooting`, quoted.length > 20 ? quoted.filter((text) => !sources.includes(text)).map((text) => `no source says "${text}"`) : 'messages are not found');
}

/** y = SquaredSwish(x) of com.example, of which the tutorial's code is. */
function swish() {
  const graph = message(block(1, Buffer.concat([nodeOf('SquaredSwish', ['x'], ['y']), block(7, 'com.example')])), block(2, 'swish'), block(11, value('x', 'f32', [3])), block(12, value('y', 'f32', [3])));
  return message(integer(1, 8), block(7, graph), block(8, integer(2, 17)), block(8, message(block(1, 'com.example'), integer(2, 1))));
}

/** Code that pages show: what is ours runs, what is others' can be parsed. */
function snippets() {
  const folder = path.join(work, 'snippets');
  cpSync(path.join(site, 'snippets'), folder, {recursive: true});
  symlinkSync(path.join(root, 'web/node_modules'), path.join(folder, 'node_modules'));
  const digits = path.join(root, 'examples/digits/model.onnx');
  cpSync(digits, path.join(folder, 'model.onnx'));
  writeFileSync(path.join(folder, 'swish.onnx'), swish());
  // The folder of a package and that of a language model are both called "model".
  mkdirSync(path.join(folder, 'text'));
  mkdirSync(path.join(folder, 'text/model'));
  writeTinyModel(path.join(folder, 'text/model'));
  symlinkSync(path.join(root, 'web/node_modules'), path.join(folder, 'text/node_modules'));
  execFileSync(process.execPath, [path.join(root, 'web/cli/dist/gossamer.js'), 'compile', digits, '--target', 'wasm', '--output', path.join(folder, 'model')], {stdio: 'ignore'});
  const says = {
    'ort.after.mjs': /\[ 1, 10 \] Float32Array\(10\)/, 'ort.own.mjs': /\[ 1, 10 \] Float32Array\(10\)/, 'operator.mjs': /Float32Array\(3\) \[\s+0\.73/,
    'train.mjs': /400 0\.0\d+\n\d+ bytes of ONNX/, 'tfjs.train.after.mjs': /\[ 0\.\d+ \]/, 'transformers.after.mjs': /\S/,
  };
  const env = {...process.env, XDG_CACHE_HOME: path.join(work, 'cache')};
  for (const [name, expected] of Object.entries(says)) {
    const inText = name.startsWith('transformers');
    if (inText) cpSync(path.join(folder, name), path.join(folder, 'text', name));
    const {status, stdout, stderr} = spawnSync(process.execPath, [name], {cwd: inText ? path.join(folder, 'text') : folder, encoding: 'utf8', timeout: 120_000, env});
    tally.record(`code: ${name}`, status === 0 && expected.test(stdout) ? [] : `${stdout}${stderr}`.slice(-600));
  }
  for (const name of readdirSync(folder).filter((each) => /\.m?js$/.test(each) && !says[each])) {
    const {status, stderr} = spawnSync(process.execPath, ['--input-type=module', '--check'], {input: readFileSync(path.join(folder, name)), encoding: 'utf8'});
    tally.record(`code: ${name} can be parsed`, status === 0 ? [] : stderr.slice(-400));
  }
  const shown = new Set(readdirSync(path.join(site, 'pages'), {recursive: true}).filter((file) => file.endsWith('.md')).flatMap((file) => Array.from(readFileSync(path.join(site, 'pages', file), 'utf8').matchAll(/@\/snippets\/(\S+)/g), ([, name]) => name)));
  tally.record('all code is shown', readdirSync(path.join(site, 'snippets')).filter((name) => !shown.has(name)).map((name) => `${name} is on no page`));
}

const types = {'.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.css': 'text/css', '.json': 'application/json', '.wasm': 'application/wasm', '.svg': 'image/svg+xml', '.png': 'image/png'};
/** Any static server: no rewriting, no headers. */
function serve() {
  const server = createServer((request, response) => {
    let file = path.join(out, decodeURIComponent(new URL(request.url, 'http://site').pathname));
    if (statSync(file, {throwIfNoEntry: false})?.isDirectory()) file = path.join(file, 'index.html');
    if (!existsSync(file) && existsSync(`${file}.html`)) file += '.html';
    if (!existsSync(file)) return response.writeHead(404).end();
    const compressed = /\.(html|js|css|json|svg)$/.test(file) && /gzip/.test(request.headers['accept-encoding'] ?? '');
    const bytes = readFileSync(file);
    response.writeHead(200, {'Content-Type': types[path.extname(file)] ?? 'application/octet-stream', ...(compressed && {'Content-Encoding': 'gzip'})});
    return response.end(compressed ? gzipSync(bytes) : bytes);
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve({server, address: `http://127.0.0.1:${server.address().port}/`})));
}

const {chromium} = createRequire(path.join(root, 'web/package.json'))('playwright-core');
const axe = readFileSync(path.join(site, 'node_modules/axe-core/axe.min.js'), 'utf8');
const executablePath = process.env.GOSSAMER_CHROMIUM ?? ['/usr/bin/chromium', '/usr/bin/google-chrome'].find((file) => existsSync(file));

const freePort = () => new Promise((resolve) => {
  const server = createServer().listen(0, '127.0.0.1', () => {
    const {port} = server.address();
    server.close(() => resolve(port));
  });
});

/** The lines of the quick start, as they stand: Node.js and this site are all that there is. */
async function quickStart(browser, address) {
  const folder = path.join(work, 'start');
  mkdirSync(folder);
  const blocks = Array.from(readFileSync(path.join(site, 'pages/start.md'), 'utf8').matchAll(/```sh\n([\s\S]*?)```/g), ([, text]) => text.replaceAll('https://gossamer.example/', address));
  const run = (script, cwd) => new Promise((resolve) => {
    const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {cwd, env: {...process.env, npm_config_registry: `${address}registry/`, npm_config_cache: path.join(work, 'npm')}});
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text));
    child.on('close', (status) => resolve({status, said}));
  });
  const app = path.join(folder, 'my-app');
  for (const [at, text] of blocks.entries()) {
    const script = text.split('\n').filter((line) => !line.startsWith('node serve.mjs')).join('\n');
    const {status, said} = await run(script, at === 0 ? folder : app);
    const wrong = status !== 0 ? said.slice(-500) : script.includes('gossamer run') && !/probabilities: f32\[1, 10\](?: \S+){3} (1|0\.99)/.test(said) ? said : [];
    tally.record(`quick start: ${script.trim().split('\n').at(-1)?.slice(0, 60)}`, wrong);
    if (status !== 0) return;
  }
  const port = await freePort();
  const child = spawn(process.execPath, ['serve.mjs', 'public', String(port)], {cwd: app, stdio: 'pipe'});
  try {
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const page = await browser.newPage();
    await page.goto(`http://localhost:${port}/`);
    await page.waitForFunction(() => /on/.test(document.getElementById('digit')?.textContent ?? ''), undefined, {timeout: 60_000});
    const answer = await page.textContent('#digit');
    tally.record('quick start: a page of your own', /^1, on (webgpu|webgl|wasm)$/.test(answer) ? [] : answer);
    await page.goto(`http://localhost:${port}/digits/`);
    await page.getByRole('button', {name: 'Run', exact: true}).waitFor();
    tally.record('quick start: the generated page', (await page.title()).includes('digits') ? [] : await page.title());
    await page.close();
  } finally {
    child.kill();
  }
}

/** Pages of the site's own, and some of each other kind. */
const isChosen = (page) => options.all || !/^(decisions|specs|results|api)\//.test(page) || /(index|runtime|gossamer-hpp|python|package|nvidia-h200|few-launches\S*)\.html$/.test(page);

async function inBrowser(browser, address) {
  const wide = [];
  const violations = new Map();
  const trouble = [];
  for (const colorScheme of ['light', 'dark']) {
    const context = await browser.newContext({viewport: {width: 390, height: 844}, colorScheme, reducedMotion: 'reduce'});
    const page = await context.newPage();
    page.on('pageerror', (problem) => trouble.push(`${page.url()}: ${problem.message}`));
    page.on('response', (response) => {
      if (response.status() >= 400 && !page.url().includes('/examples/')) trouble.push(`${response.url()}: ${response.status()}`);
    });
    const shown = colorScheme === 'light' ? pages : pages.filter((each) => options.all || /^(index|start|gallery|support|benchmarks|troubleshooting|migrate\/tvm|guides\/command-line|api\/runtime|decisions\/index)\.html$/.test(each));
    for (const file of [...shown, ...examples]) {
      await page.goto(address + file, {waitUntil: 'load'});
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      if (width > 390) wide.push(`${file}: ${width} px`);
      if (!isChosen(file)) continue;
      await page.evaluate(axe);
      const found = await page.evaluate(() => globalThis.axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'], resultTypes: ['violations']}));
      for (const {id, nodes} of found.violations) for (const one of nodes) violations.set(`${colorScheme} ${file}: ${id} at ${one.target.join(' ')}: ${one.failureSummary?.split('\n')[1]?.trim() ?? ''}`, true);
    }
    await context.close();
  }
  tally.record(`${pages.length} pages and ${examples.length} examples at 390 px`, wide);
  tally.record('accessibility by axe', [...violations.keys()].slice(0, 20));
  tally.record('no page has an error', [...new Set(trouble)].slice(0, 10));
}

/** Desktop: the first page's size, its model, the search and the keyboard. */
async function firstPage(browser, address) {
  const page = await browser.newPage({viewport: {width: 1280, height: 800}});
  let bytes = 0;
  const pending = [];
  page.on('response', (response) => pending.push(response.finished().then(() => response.request().sizes()).then(({responseBodySize}) => (bytes += responseBodySize), () => undefined)));
  await page.goto(address, {waitUntil: 'load'});
  await page.waitForTimeout(300);
  await Promise.all(pending);
  tally.record('the first page takes at most 100 KB', bytes > 10_000 && bytes <= 100_000 ? [] : `${bytes} bytes`);
  await page.keyboard.press('Tab');
  const focused = await page.evaluate(() => document.activeElement?.textContent?.trim());
  tally.record('the first key leads to the content', focused === 'Skip to content' ? [] : focused);
  await page.getByRole('button', {name: 'A drawing'}).click();
  await page.waitForFunction(() => /\d, \d+ percent/.test(document.querySelector('.draw-digit [role=status]')?.textContent ?? ''), undefined, {timeout: 60_000});
  tally.record('the model of the first page runs', /ms on (webgpu|webgl|wasm)/.test(await page.textContent('.draw-digit .meta')) ? [] : await page.textContent('.draw-digit .meta'));
  await page.keyboard.press('Control+k');
  await page.keyboard.type('GGUF', {delay: 20});
  await page.waitForSelector('.VPLocalSearchBox .result', {timeout: 30_000});
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.pathname !== '/', {timeout: 10_000});
  tally.record('the search leads to a page', []);
  await page.close();
}

links();
troubles();
snippets();
const {server, address} = await serve();
const browser = await chromium.launch({executablePath, args: ['--no-sandbox', '--enable-unsafe-webgpu', '--disable-background-networking']});
try {
  await quickStart(browser, address);
  await inBrowser(browser, address);
  await firstPage(browser, address);
} catch (problem) {
  tally.record('the suite', String(problem.stack ?? problem));
} finally {
  await browser.close();
  server.close();
}
tally.end();
