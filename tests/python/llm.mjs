// gossamer.llm and @gossamer/llm read the same folder and say the same; gossamer chat answers.
import {spawnSync} from 'node:child_process';
import {existsSync, mkdtempSync, rmSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import {writeTinyModel} from '../llm/tiny_model.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const gossamer = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');
const bundle = path.join(root, 'web/llm/dist/llm.js');
const MESSAGES = [{role: 'system', content: 'Short.'}, {role: 'user', content: ' hello wörld 🦎\n'}];
const TOKENS = 40;

const SCRIPT = `
import json, sys
import gossamer
folder, messages, tokens = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
llm = gossamer.llm.load(folder, threads=1)
# Penalties vary a text of likeliest tokens.
pieces = list(llm.chat(messages, temperature=0, presence_penalty=2, frequency_penalty=1, max_tokens=tokens))
print(json.dumps([llm.prompt_of(messages), "".join(pieces), llm.encode(messages[1]["content"])]))
`;

export async function llm(tally, python) {
  if (!existsSync(bundle)) return tally.skip('gossamer.llm says what @gossamer/llm says', 'web/llm is not built (make web)');
  const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-llm-'));
  try {
    writeTinyModel(work);
    const {stdout, stderr} = spawnSync(python, ['-P', '-c', SCRIPT, work, JSON.stringify(MESSAGES), `${TOKENS}`], {cwd: work, encoding: 'utf8', timeout: 120_000});
    if (!stdout) return tally.record('gossamer.llm', stderr.slice(-400));
    const {load} = await import(pathToFileURL(bundle).href);
    const model = await load(work, {target: 'wasm', threads: 1, cache: false});
    const {choices: [choice]} = await model.chat.completions.create({messages: MESSAGES, temperature: 0, presence_penalty: 2, frequency_penalty: 1, max_tokens: TOKENS});
    const wanted = JSON.stringify([await model.promptOf({messages: MESSAGES}), choice.message.content, await model.encode(MESSAGES[1].content)]);
    model.dispose();
    const has = JSON.stringify(JSON.parse(stdout));
    tally.record('gossamer.llm says what @gossamer/llm says', has === wanted ? undefined : `${has}\n${wanted}`);
    const program = spawnSync(gossamer, ['chat', work, '--prompt', 'hello', '--temperature', '0', '--max-tokens', '8', '--threads', '1', '--stats'],
      {encoding: 'utf8', timeout: 120_000, env: {...process.env, PATH: `${path.dirname(python)}:${process.env.PATH}`}});
    tally.record('gossamer chat answers', program.status === 0 && program.stdout.length > 1 && /8 tokens, .* tokens\/s/.test(program.stderr) ? undefined : `${program.status}: ${program.stdout}${program.stderr}`);
  } finally {
    rmSync(work, {recursive: true});
  }
}
