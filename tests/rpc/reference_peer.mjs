// A peer that answers every request at once and does nothing with it: what sockets of Node.js can do on this machine.
import {createRequire} from 'node:module';
import path from 'node:path';
import {frame, kinds} from './client.mjs';

const {WebSocketServer} = createRequire(path.resolve(import.meta.dirname, '../../web/package.json'))('ws');

const server = new WebSocketServer({port: 0, host: '127.0.0.1', perMessageDeflate: false, maxPayload: 2 ** 30});
server.on('connection', (socket) =>
  socket.on('message', (data) => socket.send(frame(data.readUInt32LE(0), data.readUInt32LE(4), kinds.answer, {}))));
server.on('listening', () => console.log(`rpc://127.0.0.1:${server.address().port}?token=none`));
