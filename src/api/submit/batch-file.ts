import { basename, dirname, resolve } from 'node:path';
import { parse as parseToml } from 'smol-toml';
import * as z from 'zod';
import { orderBatch } from '../../core/run/batch.ts';
import { findHiddenCharacter } from '../../core/text/look-alike.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { isPriority, parsePriority } from '../../core/run/priority.ts';
import { explainChoice } from '../../core/text/did-you-mean.ts';
import { isUrl } from '../../git/repository/repo-url.ts';
import { readRegularText } from '../../lib/fs.ts';
import { readPrdSource } from '../../prd/prd-source.ts';
import { discoverPrd } from '../repository/discover-prd.ts';
import type { BatchEntry } from '../operations/schemas.ts';

const NAME = z
  .string()
  .regex(/^[^\s,]{1,100}$/, 'must be a name without blanks and commas')
  .refine((name) => findHiddenCharacter(name) === undefined, 'must be a name without hidden characters');
const PATH = z.string().min(1);
const PRIORITY = z.union([
  z.number().refine(isPriority, 'must be a whole number from -1000 to 1000'),
  z.enum(['high', 'normal', 'low']).transform(parsePriority),
]);

const MAX_BATCH_BYTES = 1024 * 1024;

/** The batch file of halo. */
const BATCH = z.strictObject({
  /** The PRD of repositories without one of their own. */
  prd: PATH.optional(),
  repositories: z
    .array(
      z.strictObject({
        name: NAME,
        /** Folder or URL. */
        path: PATH,
        prd: PATH.optional(),
        deps: z.array(NAME).default([]),
        priority: PRIORITY.optional(),
      }),
    )
    .min(1, 'must name a repository'),
});
type Batch = z.output<typeof BATCH>;

/** The file `.hank/.repos.json` of hank: an array of repositories. */
const HANK = BATCH.shape.repositories;

/**
 * Reads a batch file of halo (TOML or JSON) or of hank, and the PRD of each repository. Relative paths start at the folder
 * of the file; for `.hank/.repos.json`, at the folder above `.hank`. Throws USAGE for an invalid file, unknown dependencies
 * and cycles, PRD_UNREADABLE for a missing PRD.
 */
export async function readBatch(path: string): Promise<BatchEntry[]> {
  const { prd, repositories } = parseBatchFile(path, await readBatchText(path));
  // Problems of the batch itself are reported before problems of its files.
  orderBatch(repositories.map(({ name, deps, priority = 0 }) => ({ name, deps, priority })));
  const folder = basename(dirname(path)) === '.hank' ? dirname(dirname(path)) : dirname(path);
  const read = sharedReader();
  return Promise.all(
    repositories.map(async ({ name, path: source, prd: own, deps, priority }): Promise<BatchEntry> => {
      const repo = isUrl(source) ? source : resolve(folder, source);
      const named = own ?? prd;
      const file =
        named === undefined
          ? await discoverPrd({ name, repo, hint: 'Name it in the batch file: prd = "…".' })
          : resolve(folder, named);
      return { name, repo, prd: await read(file), deps, priority };
    }),
  );
}

/** The text of a batch file from any source; `path` is for messages. Throws USAGE. */
export function parseBatchFile(path: string, text: string): Batch {
  const data = parseText(path, text);
  return Array.isArray(data) ? { repositories: parseWith(path, HANK, data) } : parseWith(path, BATCH, data);
}

async function readBatchText(path: string): Promise<string> {
  return readRegularText(path, MAX_BATCH_BYTES).catch((cause: NodeJS.ErrnoException) => {
    throw new HaloError('USAGE', `The batch file ${path} cannot be read (${cause.code ?? cause.message}).`, {
      hint: 'Pass an existing file, e.g. --batch batch.toml.',
      cause,
    });
  });
}

function parseText(path: string, text: string): unknown {
  try {
    return /^\s*[[{]\s*(["{\]}]|$)/.test(text) || path.endsWith('.json') ? JSON.parse(text) : parseToml(text);
  } catch (cause) {
    const [what] = (cause as Error).message.split('\n');
    throw new HaloError('USAGE', `The batch file ${path} is neither TOML nor JSON: ${what ?? ''}.`, {
      hint: 'Fix it; docs/fleet.md describes batch files.',
      cause,
    });
  }
}

function parseWith<T>(path: string, schema: z.ZodType<T>, data: unknown): T {
  const parsed = schema.safeParse(data, { error: explainChoice });
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'file'}: ${issue.message}`);
  throw new HaloError('USAGE', `The batch file ${path} is not valid: ${problems.join('; ')}.`, {
    hint: 'Fix it; docs/fleet.md describes batch files.',
  });
}

/** Reads each file once, so that repositories with the same PRD share it. */
function sharedReader(): (path: string) => Promise<BatchEntry['prd']> {
  const files = new Map<string, Promise<BatchEntry['prd']>>();
  const read = (path: string) =>
    readPrdSource(path).catch((cause: NodeJS.ErrnoException) => {
      if (cause instanceof HaloError) throw cause;
      throw new HaloError('PRD_UNREADABLE', `The PRD ${path} cannot be read (${cause.code ?? cause.message}).`, {
        hint: 'Fix its path in the batch file.',
        cause,
      });
    });
  return (path) => {
    const file = files.get(path) ?? read(path);
    files.set(path, file);
    return file;
  };
}
