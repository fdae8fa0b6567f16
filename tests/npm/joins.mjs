// The program of @gossamer/rpc, by the name that npm gives it: it joins a server, is listed, and is told when it is refused.
import {spawn, spawnSync} from 'node:child_process';
import path from 'node:path';

/** The first match in what a program prints within a minute. */
function said(child, stream, pattern) {
  return new Promise((resolve, reject) => {
    let text = '';
    const late = setTimeout(() => reject(new Error(`no ${pattern} in ${text}`)), 60_000);
    child[stream].setEncoding('utf8').on('data', (data) => {
      text += data;
      const found = pattern.exec(text);
      if (!found) return;
      clearTimeout(late);
      resolve(found[0]);
    });
  });
}

export async function joins(tally, {app, gossamer}) {
  const program = path.join(app, 'node_modules/.bin/gossamer-join');
  const server = spawn(gossamer, ['rpc', '--port', '0'], {stdio: ['ignore', 'pipe', 'ignore']});
  let device;
  try {
    const address = await said(server, 'stdout', /rpc:\/\/\S+\?token=\w+/);
    device = spawn(program, [address, '--name', 'packed'], {stdio: ['ignore', 'ignore', 'pipe']});
    await said(device, 'stderr', /joined as packed/);
    const {stdout} = spawnSync(gossamer, ['rpc', '--list', address], {encoding: 'utf8'});
    tally.record('gossamer-join joins as a device', /packed +wasm +Node\.js/.test(stdout) ? [] : stdout);
    const ended = new Promise((resolve) => device.on('exit', resolve));
    device.kill('SIGTERM');
    tally.record('and leaves when it is told to', (await ended) === 0 ? [] : 'it ends with another code');
    for (const [name, words, wanted] of [
      ['a wrong token', [address.replace(/token=.*/, 'token=no')], /gossamer-join: .*token/],
      ['no address', [], /usage: gossamer-join rpc:/],
    ]) {
      const {status, stderr} = spawnSync(program, words, {encoding: 'utf8', timeout: 60_000});
      tally.record(`gossamer-join with ${name}`, status === 1 && wanted.test(stderr) ? [] : `${status}: ${stderr}`);
    }
  } catch (problem) {
    tally.record('gossamer-join', problem.message);
  } finally {
    device?.kill();
    server.kill();
  }
}
