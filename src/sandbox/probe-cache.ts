import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { ignore, keyedQueue, memoizeAsync } from '../lib/async.ts';
import { createFolders, writeAtomic } from '../lib/fs.ts';
import { haloVersion } from '../lib/version.ts';
import { HALO_IMAGE } from './docker/image/image-recipe.ts';
import { seccompProfile } from './docker/container-spec.ts';
import type { SandboxEngine } from './sandbox.ts';

/** A check of what the container engine can do. */
interface Probe<T> {
  /** Unique; contains everything that decides the result except the engine and halo. */
  name: string;
  schema: z.ZodType<T>;
  run: () => Promise<T>;
  /** Which results are cached; default: all. */
  isCached?: (result: T) => boolean;
  /** How long they are cached, in ms; default: as long as engine and halo stay the same. */
  maxAgeMs?: number;
}

const FILE = 'sandbox-proof.json';
const MAX_ENGINES = 10;
const MAX_PROBES = 50;
const MAX_RESULT_BYTES = 16 * 1024;

/** Results by engine and name of the probe; `at`: ms since 1970. */
const Results = z.record(z.string(), z.record(z.string(), z.object({ at: z.number(), result: z.unknown() })));
type Results = z.output<typeof Results>;

/**
 * Caches results of probes in a HALO_HOME as long as the engine, its runtimes, the kernel, halo and its image stay the same.
 * Without its file, all probes run again.
 */
export class ProbeCache {
  private readonly engine: Pick<SandboxEngine, 'info' | 'imageId'>;
  private readonly file: string;
  private readonly queue = keyedQueue();
  /** Asked once: what is found is kept in memory, too. */
  private readonly describe: () => Promise<string | undefined>;

  constructor(engine: Pick<SandboxEngine, 'info' | 'imageId'>, home: string) {
    this.engine = engine;
    this.file = probeCachePath(home);
    const described = memoizeAsync(() => describeEngine(engine));
    this.describe = () => described(undefined);
  }

  /** The cached result, or that of a run. Throws DOCKER_UNAVAILABLE, and what the probe throws. */
  async get<T>(probe: Probe<T>): Promise<T> {
    const { name, schema, run, isCached = () => true, maxAgeMs = Infinity } = probe;
    const key = await this.describe();
    const entry = key === undefined ? undefined : (await readResults(this.file))[key]?.[name];
    const known = schema.safeParse(entry?.result);
    if (known.success && Math.abs(Date.now() - (entry?.at ?? 0)) < maxAgeMs) return known.data;
    const result = await run();
    // The engine may have changed meanwhile. A result that cannot be written is found again by the next process.
    if (key !== undefined && isCached(result) && key === (await describeEngine(this.engine)))
      await this.queue('', () => this.save(key, name, result)).catch(ignore);
    return result;
  }

  private async save(key: string, name: string, result: unknown): Promise<void> {
    if (JSON.stringify(result).length > MAX_RESULT_BYTES) return;
    const { [key]: known = {}, ...others } = await readResults(this.file);
    const results = Object.entries({ ...known, [name]: { at: Date.now(), result } }).slice(-MAX_PROBES);
    const engines = Object.entries(others).slice(1 - MAX_ENGINES);
    await createFolders(dirname(this.file), 0o700);
    await writeAtomic(this.file, JSON.stringify(Object.fromEntries([...engines, [key, Object.fromEntries(results)]])));
  }
}

/** The file with the results of a HALO_HOME. */
export function probeCachePath(home: string): string {
  return join(home, FILE);
}

/** A hash of everything about halo and the engine that may change the result of a probe; undefined without halo's image. */
async function describeEngine(engine: Pick<SandboxEngine, 'info' | 'imageId'>): Promise<string | undefined> {
  const [facts, image, seccomp] = await Promise.all([engine.info(), engine.imageId(HALO_IMAGE), seccompProfile()]);
  if (image === undefined) return undefined;
  const stable = { ...facts, warnings: undefined };
  return shortHash(JSON.stringify([haloVersion(), image, seccomp, stable]));
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
