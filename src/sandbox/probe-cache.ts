import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { ignore, keyedQueue, memoizeAsync } from '../lib/async.ts';
import { createFolders, writeAtomic } from '../lib/fs.ts';
import { HALO_IMAGE } from './docker/image/halo-image.ts';
import { seccompProfile } from './docker/seccomp.ts';
import type { SandboxEngine } from './sandbox.ts';

/** A check of what the container engine can do. */
export interface Probe<T> {
  /** Unique; contains everything that decides the result except the engine, halo’s image and its seccomp profile. */
  name: string;
  schema: z.ZodType<T>;
  run: () => Promise<T>;
  /** Whether to cache a result; default: always. */
  isCached?: (result: T) => boolean;
}

const FILE = 'sandbox-proof.json';
const MAX_ENGINES = 10;
const MAX_PROBES = 50;
const MAX_RESULT_BYTES = 16 * 1024;

/** Results by engine and name of the probe. */
const Results = z.record(z.string(), z.record(z.string(), z.unknown()));
type Results = z.output<typeof Results>;

/**
 * Caches results of probes in a HALO_HOME as long as engine, kernel, runtimes, halo’s image and its seccomp profile stay the
 * same. Without its file, all probes run again.
 */
export class ProbeCache {
  private readonly file: string;
  private readonly queue = keyedQueue();
  private readonly engineKey: (_: undefined) => Promise<string>;

  constructor(engine: Pick<SandboxEngine, 'info' | 'imageId'>, home: string) {
    this.file = probeCachePath(home);
    this.engineKey = memoizeAsync(() => describeEngine(engine));
  }

  /** The cached result, or that of a run. Throws DOCKER_UNAVAILABLE, and what the probe throws. */
  async get<T>({ name, schema, run, isCached = () => true }: Probe<T>): Promise<T> {
    const key = await this.engineKey(undefined);
    const known = schema.safeParse((await readResults(this.file))[key]?.[name]);
    if (known.success) return known.data;
    const result = await run();
    // A result that cannot be written is found again by the next process.
    if (isCached(result)) await this.queue('', () => this.save(key, name, result)).catch(ignore);
    return result;
  }

  private async save(key: string, name: string, result: unknown): Promise<void> {
    if (JSON.stringify(result).length > MAX_RESULT_BYTES) return;
    const { [key]: known = {}, ...others } = await readResults(this.file);
    const results = Object.entries({ ...known, [name]: result }).slice(-MAX_PROBES);
    const engines = Object.entries(others).slice(1 - MAX_ENGINES);
    await createFolders(join(this.file, '..'), 0o700);
    await writeAtomic(this.file, JSON.stringify(Object.fromEntries([...engines, [key, Object.fromEntries(results)]])));
  }
}

/** The file with the results of a HALO_HOME. */
export function probeCachePath(home: string): string {
  return join(home, FILE);
}

/** A hash of everything about the engine that may change the result of a probe. */
async function describeEngine(engine: Pick<SandboxEngine, 'info' | 'imageId'>): Promise<string> {
  const [facts, image, seccomp] = await Promise.all([engine.info(), engine.imageId(HALO_IMAGE), seccompProfile()]);
  const { id, version, apiVersion, kernel, runc, cgroupVersion, storageDriver, runtimes, security } = facts;
  const parts = [id, version, apiVersion, kernel, runc, cgroupVersion, storageDriver, runtimes, security, image];
  return shortHash(JSON.stringify([...parts, seccomp]));
}

/** A short hash, for names of probes. */
export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** An unreadable file counts as empty, and is overwritten. */
async function readResults(file: string): Promise<Results> {
  try {
    return Results.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    return {};
  }
}
