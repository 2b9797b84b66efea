import { createServer, request as sendRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import type { Duplex } from 'node:stream';
import { join } from 'node:path';
import Docker from 'dockerode';
import { ApiError, CANNOT_RUN, type CreateRequest } from './api.ts';
import { createControlGroups } from './cgroup.ts';
import { Container, type Machinery } from './containers.ts';
import { filterRows, readFilters } from './filters.ts';
import { Images } from './images.ts';
import { removeFolder } from './remove-folder.ts';
import { Volumes, type NewVolume } from './volumes.ts';

/*
 * An engine that speaks Docker's API, as far as halo uses it, and starts containers in milliseconds (sandbox.c). It is a
 * process of its own: containers outlive the halo that started them, and every process finds them by their labels.
 * Arguments: its folder, the socket of the real engine, whose images it uses, the program of sandbox.c, and the image to
 * open first. Its socket is `docker.sock` in its folder. It ends, with all of its containers, when its stdin ends.
 */
const [dir = '', engineSocket = '', program = '', image = ''] = process.argv.slice(2);
const docker = new Docker({ socketPath: engineSocket });
const images = new Images(docker, join(dir, 'images'));
const volumes = new Volumes(join(dir, 'volumes'));
const machinery: Machinery = { program, dir: join(dir, 'containers'), volumes };
/** The ids of the containers that have exited; an engine remembers its last 256 events. */
const died: string[] = [];
/** Containers that got a signal through the API. */
const signalled = new Set<string>();
const MAX_EVENTS = 256;
const containers = new Map<string, Container>();
/** Those who want to know of each new container. */
const watchers = new Set<(id: string, labels: Record<string, string>) => void>();
const executions = new Map<string, { container: Container; command: string[]; code: number | undefined }>();

type Query = URLSearchParams;
interface Call {
  query: Query;
  body: unknown;
  params: string[];
}
type Reply = { status?: number; body?: unknown };
type Handler = (call: Call) => Promise<Reply> | Reply;

const facts = (async () => {
  const [info, version] = (await Promise.all([docker.info(), docker.version()])) as Record<string, unknown>[];
  return { info: { ...info, ID: `light-${String(info!.ID)}`, DockerRootDir: dir, Driver: 'light' }, version };
})();

const ROUTES: [method: string, path: RegExp, handle: Handler][] = [
  ['GET', /^\/info$/, async () => ({ body: (await facts).info })],
  ['GET', /^\/version$/, async () => ({ body: (await facts).version })],
  ['GET', /^\/images\/(.+)\/json$/, async ({ params }) => ({ body: await images.inspect(params[0]!) })],
  ['POST', /^\/containers\/create$/, createContainer],
  ['GET', /^\/containers\/json$/, ({ query }) => ({ body: listContainers(query) })],
  ['GET', /^\/containers\/([^/]+)\/json$/, ({ params }) => ({ body: describe(find(params[0]!)) })],
  ['POST', /^\/containers\/([^/]+)\/start$/, async ({ params }) => (await find(params[0]!).start(), { status: 204 })],
  ['POST', /^\/containers\/([^/]+)\/kill$/, kill],
  ['POST', /^\/containers\/([^/]+)\/stop$/, kill],
  ['DELETE', /^\/containers\/([^/]+)$/, removeContainer],
  ['POST', /^\/containers\/([^/]+)\/exec$/, createExecution],
  ['GET', /^\/exec\/([^/]+)\/json$/, ({ params }) => ({ body: describeExecution(params[0]!) })],
  ['POST', /^\/volumes\/create$/, ({ body }) => ({ status: 201, body: volumes.create(body as NewVolume) })],
  ['GET', /^\/volumes$/, ({ query }) => ({ body: { Volumes: filterRows(volumes.list(), query), Warnings: null } })],
  ['GET', /^\/volumes\/([^/]+)$/, ({ params }) => ({ body: volumes.get(params[0]!) })],
  ['GET', /^\/networks$/, ({ query }) => ({ body: filterRows([{ Name: 'none', Labels: {} }], query) })],
  ['DELETE', /^\/volumes\/([^/]+)$/, removeVolume],
];

async function createContainer({ query, body }: Call): Promise<Reply> {
  const request = body as CreateRequest;
  const name = query.get('name') ?? '';
  const image = await images.open(request.Image);
  await assertRuntime(request);
  const namesake = [...containers.values()].find((each) => each.name === name);
  if (namesake !== undefined)
    throw new ApiError(409, `Conflict. The container name "/${name}" is already in use by container "${namesake.id}".`);
  const container = new Container(machinery, name, request, image);
  containers.set(container.id, container);
  for (const watch of watchers) watch(container.id, request.Labels ?? {});
  void container.exited.then(() => {
    died.push(container.id);
    died.splice(0, died.length - MAX_EVENTS);
    if (request.HostConfig?.AutoRemove === true)
      discard(container, { force: true, withVolumes: true }).catch(() => undefined);
  });
  return { status: 201, body: { Id: container.id, Warnings: [] } };
}

async function assertRuntime({ HostConfig: { Runtime } = {} }: CreateRequest): Promise<void> {
  const { Runtimes } = (await facts).info as unknown as { Runtimes: Record<string, unknown> };
  if (Runtime !== undefined && Runtime !== '' && !(Runtime in Runtimes))
    throw new ApiError(400, `Unknown runtime specified ${Runtime}`);
}

function find(idOrName: string): Container {
  const found =
    containers.get(idOrName) ??
    [...containers.values()].find(
      ({ id, name }) => name === idOrName || (idOrName.length >= 6 && id.startsWith(idOrName)),
    );
  if (found === undefined) throw new ApiError(404, `No such container: ${idOrName}`);
  return found;
}

async function kill({ params, query }: Call): Promise<Reply> {
  const container = find(params[0]!);
  signalled.add(container.id);
  const signal = query.get('signal') ?? 'SIGKILL';
  container.kill(
    /^\d+$/.test(signal) ? Number(signal) : ((signal.startsWith('SIG') ? signal : `SIG${signal}`) as NodeJS.Signals),
  );
  if (signal === 'SIGKILL') await container.exited;
  return { status: 204 };
}

async function removeContainer({ params, query }: Call): Promise<Reply> {
  await discard(find(params[0]!), { force: isTrue(query.get('force')), withVolumes: isTrue(query.get('v')) });
  return { status: 204 };
}

async function discard(container: Container, how: { force: boolean; withVolumes: boolean }): Promise<void> {
  await container.remove(how);
  containers.delete(container.id);
  signalled.delete(container.id);
}

function isTrue(value: string | null): boolean {
  return ['1', 'true', 'True'].includes(value ?? '');
}

async function removeVolume({ params, query }: Call): Promise<Reply> {
  await volumes.remove(params[0]!, isTrue(query.get('force')));
  return { status: 204 };
}

function createExecution({ params, body }: Call): Reply {
  const container = find(params[0]!);
  if (container.status !== 'running') throw new ApiError(409, `Container ${container.id} is not running`);
  const id = crypto.randomUUID().replaceAll('-', '').repeat(2);
  executions.set(id, { container, command: (body as { Cmd: string[] }).Cmd, code: undefined });
  return { status: 201, body: { Id: id } };
}

function describeExecution(id: string) {
  const execution = executions.get(id);
  if (execution === undefined) throw new ApiError(404, `No such exec instance: ${id}`);
  return { ID: id, Running: execution.code === undefined, ExitCode: execution.code ?? null };
}

function stateOf({ status, exitCode, outOfMemory, pid, startedAt, finishedAt }: Container) {
  return {
    Status: status,
    Running: status === 'running',
    Paused: false,
    OOMKilled: outOfMemory,
    Dead: false,
    Pid: status === 'running' ? pid : 0,
    ExitCode: exitCode,
    StartedAt: startedAt,
    FinishedAt: finishedAt,
  };
}

function describe(container: Container) {
  const { id, name, request, image, created } = container;
  const { HostConfig, ...Config } = request;
  const State = stateOf(container);
  return { Id: id, Name: `/${name}`, Created: created.toISOString(), Image: image.id, State, Config, HostConfig };
}

function listContainers(query: Query) {
  const all = isTrue(query.get('all'));
  const rows = [...containers.values()]
    .filter(({ status }) => all || status === 'running')
    .map((container) => ({
      Id: container.id,
      Names: [`/${container.name}`],
      Image: container.request.Image,
      ImageID: container.image.id,
      Created: Math.floor(container.created.getTime() / 1000),
      State: container.status,
      Status: container.status,
      Labels: container.labels,
      Mounts: container.places,
    }));
  return filterRows(rows, query);
}

/** Responses that do not end with their request. */
async function serveStream(path: string, query: Query, response: ServerResponse): Promise<boolean> {
  const waited = /^\/containers\/([^/]+)\/wait$/.exec(path)?.[1];
  if (waited !== undefined) {
    const container = find(waited);
    response.writeHead(200, { 'Content-Type': 'application/json' }).flushHeaders();
    if (container.status !== 'exited' || query.get('condition') === 'next-exit') await container.exited;
    response.end(JSON.stringify({ StatusCode: container.exitCode }));
    return true;
  }
  if (path !== '/events') return false;
  response.writeHead(200, { 'Content-Type': 'application/json' }).flushHeaders();
  const { container: ids = [], event: kinds = ['die'], label = [] } = readFilters(query);
  const line = (Action: string, id: string) => `${JSON.stringify({ Type: 'container', Action, id })}\n`;
  const write = (id: string) => {
    if (kinds.includes('kill') && signalled.has(id)) response.write(line('kill', id));
    response.write(line('die', id));
  };
  if (kinds.includes('create')) {
    const wanted = new URLSearchParams({ filters: JSON.stringify({ label }) });
    const watch = (id: string, Labels: Record<string, string>) =>
      filterRows([{ Labels }], wanted).length > 0 && response.write(line('create', id));
    watchers.add(watch);
    response.on('close', () => watchers.delete(watch));
  }
  for (const id of kinds.includes('die') ? ids : []) {
    if (died.includes(id)) write(id);
    else void containers.get(id)?.exited.then(() => write(id));
  }
  return true;
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { path, query } = addressOf(request);
  try {
    if (path === '/_ping') return void response.writeHead(200, { 'API-Version': '1.41', OSType: 'linux' }).end('OK');
    if (/^\/(build|commit|images\/[^/]+|images\/[^?]+\/tag)$/.test(path)) return forward(request, response);
    const body = Number(request.headers['content-length'] ?? 0) > 0 ? await json(request) : {};
    if (await serveStream(path, query, response)) return;
    const route = ROUTES.find(([method, pattern]) => method === request.method && pattern.test(path));
    if (route === undefined) throw new ApiError(501, `${request.method} ${path}: only a Docker Engine can do this`);
    const params = route[1].exec(path)!.slice(1).map(decodeURIComponent);
    const { status = 200, body: answer } = await route[2]({ query, body, params });
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(answer === undefined ? undefined : JSON.stringify(answer));
  } catch (error) {
    const status = error instanceof ApiError ? error.status : 500;
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ message: (error as Error).message }));
  }
}

/** What makes images is for the machine's engine to do. */
function forward(request: IncomingMessage, response: ServerResponse): void {
  const { method = 'POST', url = '/', headers } = request;
  const forwarded = sendRequest({ socketPath: engineSocket, method, path: url, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(response);
  });
  forwarded.on('error', (error) => response.destroy(error));
  request.pipe(forwarded);
}

function addressOf({ url = '/' }: IncomingMessage): { path: string; query: Query } {
  const { pathname, searchParams } = new URL(url, 'http://engine');
  return { path: pathname.replace(/^\/v1\.\d+(?=\/)/, ''), query: searchParams };
}

/** Streams of containers and executions: the connection belongs to them from then on. */
async function upgrade(request: IncomingMessage, socket: Duplex): Promise<void> {
  const { path } = addressOf(request);
  const open = () =>
    socket.write(
      'HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n',
    );
  socket.on('error', () => socket.destroy());
  try {
    // The body of the request is not part of the stream.
    await readBody(request, socket);
    const attached = /^\/containers\/([^/]+)\/attach$/.exec(path)?.[1];
    if (attached !== undefined) {
      const container = find(attached);
      open();
      return container.attach(socket);
    }
    const execution = executions.get(/^\/exec\/([^/]+)\/start$/.exec(path)?.[1] ?? '');
    if (execution === undefined) throw new ApiError(404, 'No such exec instance');
    open();
    execution.code = await execution.container.execute(execution.command, socket);
  } catch (error) {
    const { status = 500, message } = error as ApiError;
    const body = JSON.stringify({ message });
    socket.end(
      `HTTP/1.1 ${status} Error\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  }
}

/** The parser leaves the body of an upgrade to the socket. */
async function readBody({ headers }: IncomingMessage, socket: Duplex): Promise<void> {
  let left = Number(headers['content-length'] ?? 0);
  while (left > 0) {
    const bytes = socket.read(Math.min(left, socket.readableLength || left)) as Buffer | null;
    if (bytes === null) await new Promise((resolve) => socket.once('readable', resolve));
    else left -= bytes.length;
  }
}

const server = createServer((request, response) => void serve(request, response));
server.keepAliveTimeout = 60_000;
server.on('upgrade', (request, socket, head) => {
  if (head.length > 0) socket.unshift(head);
  void upgrade(request, socket);
});
void begin().catch((error: unknown) => {
  process.stderr.write(`light engine: ${String(error)}\n`);
  process.exit(CANNOT_RUN);
});

/** Listens once everything that a container needs has worked: the machine's engine, its layers, mounts, control groups. */
async function begin(): Promise<void> {
  await Promise.all([facts, images.open(image)]);
  await createControlGroups(`light-${process.pid}`, {}).remove();
  server.listen(join(dir, 'docker.sock'));
}

process.stdin.resume().once('close', () => {
  server.close();
  void Promise.allSettled(
    [...containers.values()].map((container) => container.remove({ force: true, withVolumes: true })),
  ).then(() => {
    volumes.close();
    images.close();
    removeFolder(dir);
    process.exit();
  });
});
