// node serve.mjs FOLDER: a static server with the two headers that threads of WebAssembly need.
import {createReadStream, statSync} from 'node:fs';
import {createServer} from 'node:http';
import {extname, join, normalize} from 'node:path';

const [folder = 'public', port = '8080'] = process.argv.slice(2);
const types = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json', '.wasm': 'application/wasm', '.png': 'image/png'};

createServer((request, response) => {
  let file = join(folder, normalize(decodeURIComponent(new URL(request.url, 'http://localhost').pathname)));
  if (statSync(file, {throwIfNoEntry: false})?.isDirectory()) file = join(file, 'index.html');
  if (!statSync(file, {throwIfNoEntry: false})) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, {
    'Content-Type': types[extname(file)] ?? 'application/octet-stream',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Embedder-Policy': 'require-corp',
  });
  createReadStream(file).pipe(response);
}).listen(Number(port), () => console.log(`http://localhost:${port}/`));
