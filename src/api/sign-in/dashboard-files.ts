import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PACKAGE_ROOT } from '../../lib/version.ts';

/** The program of the dashboard, which `scripts/build.cjs` builds. It is the same for everyone. */
export const DASHBOARD_FILES = {
  'main.js': 'text/javascript; charset=utf-8',
  'main.css': 'text/css; charset=utf-8',
} as const;

export type DashboardFile = keyof typeof DASHBOARD_FILES;

interface BuiltFile {
  /** Changes with every build of the file. */
  builtAt: number;
  version: string;
  plain: Buffer;
  br: Buffer;
  gzip: Buffer;
}

const built = new Map<DashboardFile, BuiltFile>();

/** The path of a file, which changes with its content, so that browsers keep the file until then. */
export async function dashboardPath(name: DashboardFile): Promise<string> {
  return `/dashboard/${name}?v=${(await readBuilt(name)).version}`;
}

/** Sends a file, compressed if the browser accepts that. */
export async function sendDashboardFile(
  name: DashboardFile,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): Promise<FastifyReply> {
  const file = await readBuilt(name);
  const accepted = String(request.headers['accept-encoding'] ?? '').split(/[\s,]+/);
  const encoding = (['br', 'gzip'] as const).find((each) => accepted.includes(each));
  void reply.type(DASHBOARD_FILES[name]).header('vary', 'accept-encoding');
  if ((request.query as { v?: unknown }).v === file.version)
    void reply.header('cache-control', 'public, max-age=31536000, immutable');
  if (encoding !== undefined) void reply.header('content-encoding', encoding);
  return reply.send(file[encoding ?? 'plain']);
}

/** A checkout can be built again while its server runs. */
async function readBuilt(name: DashboardFile): Promise<BuiltFile> {
  const path = join(PACKAGE_ROOT, 'dist', 'web', name);
  const { mtimeMs: builtAt } = await stat(path);
  const known = built.get(name);
  if (known?.builtAt === builtAt) return known;
  const plain = await readFile(path);
  const [br, zipped] = await Promise.all([promisify(brotliCompress)(plain), promisify(gzip)(plain)]);
  const version = createHash('sha256').update(plain).digest('hex').slice(0, 16);
  const file = { builtAt, version, plain, br, gzip: zipped };
  built.set(name, file);
  return file;
}
