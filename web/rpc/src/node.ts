#!/usr/bin/env node
/** The device of a Node.js process: gossamer-join rpc://HOST:PORT?token=TOKEN [--name NAME] */
import {randomUUID} from 'node:crypto';
import {hostname} from 'node:os';
import {parseArgs} from 'node:util';
import {join} from './join.ts';
import {findTargets} from './targets.ts';

async function main(): Promise<void> {
  const {values, positionals} = parseArgs({options: {name: {type: 'string'}}, allowPositionals: true});
  const [address] = positionals;
  const text = address?.replace(/^rpc:/, 'ws:') ?? '';
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url) throw new Error('usage: gossamer-join rpc://HOST:PORT?token=TOKEN [--name NAME]');
  const socket = globalThis.WebSocket ?? (await import('ws')).WebSocket;
  const {targets} = await findTargets();
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort());
  await join({
    url: `ws://${url.host}/rpc`,
    token: url.searchParams.get('token') ?? process.env['GOSSAMER_RPC_TOKEN'] ?? '',
    name: values.name ?? hostname(),
    session: randomUUID(),
    targets,
    about: `Node.js ${process.version}`,
    WebSocket: socket,
    onStatus: (name, reason) => console.error(name === undefined ? `waiting: ${reason}` : `joined as ${name}`),
    signal: stop.signal,
  });
  process.exit(0);
}

main().catch((problem: unknown) => {
  console.error(`gossamer-join: ${problem instanceof Error ? problem.message : String(problem)}`);
  process.exit(1);
});
