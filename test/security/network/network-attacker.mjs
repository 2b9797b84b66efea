// A setup program that was taken over: it tries each way out that plan.json names, and prints what came of it.
import { lookup } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';

const PORT = 4080;

/** Bytes to the gateway, and all that comes back until it ends or falls silent. */
function send(bytes) {
  return new Promise((resolve) => {
    const socket = connect(PORT, '127.0.0.1');
    let text = '';
    const end = () => {
      socket.destroy();
      resolve(text);
    };
    socket.setTimeout(2_000, end);
    socket.on('connect', () => socket.write(Buffer.from(bytes, 'latin1')));
    socket.on('data', (chunk) => (text += chunk.toString('latin1')));
    socket.on('close', end);
    socket.on('error', end);
  });
}

/** A tunnel in which TLS asks for another server than the one that the tunnel was opened for. */
function front({ target, servername }) {
  return new Promise((resolve) => {
    const socket = connect(PORT, '127.0.0.1');
    socket.on('error', () => resolve('cut'));
    socket.on('connect', () => socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`));
    socket.once('data', () => {
      const tls = connectTls({ socket, servername, rejectUnauthorized: false });
      tls.on('secureConnect', () => resolve('connected'));
      tls.on('error', () => resolve('cut'));
      tls.on('close', () => resolve('cut'));
    });
  });
}

const answers = [];
for (const step of JSON.parse(readFileSync('plan.json', 'utf8'))) {
  if (step.raw !== undefined) answers.push(await send(step.raw));
  else if (step.front !== undefined) answers.push(await front(step.front));
  else answers.push(await lookup(step.lookup).then(String, (error) => error.code));
}
console.log(JSON.stringify(answers));
