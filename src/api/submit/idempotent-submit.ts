import { createHash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { withoutCredentialsIn } from '../../core/address-credentials.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { writeAtomic } from '../../lib/atomic-write.ts';
import { withLock } from '../../lib/lock.ts';
import { parseJson } from '../../lib/parse-json.ts';
import type { BatchRequest, Submitted } from '../operations.ts';
import type { SubmitContext } from '../submit-context.ts';

/** What a key stands for: the runs, and what was asked for. */
interface Kept {
  asked: string;
  submitted: Submitted[];
}
const KeptShape = z.object({ asked: z.string(), submitted: z.array(z.looseObject({ runId: z.string() })) });

/** A submit may look at many repositories before the next one with its key has its turn. */
const PATIENCE_MS = 10 * 60_000;

/**
 * Submits once for a key, however many ask at the same time or again. The runs are written down under the key before
 * they are made: whoever dies in between leaves a key without runs, which counts as unused.
 * Throws USAGE when the key was used for something else.
 */
export async function submitOnce(
  { host, store }: Pick<SubmitContext, 'host' | 'store'>,
  { key, request }: { key: string; request: BatchRequest },
  make: (announce: (submitted: Submitted[]) => Promise<void>) => Promise<Submitted[]>,
): Promise<Submitted[]> {
  const folder = join(host.home, 'keys');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, `${createHash('sha256').update(key).digest('hex')}.json`);
  const asked = fingerprint(request);
  const submit = async () => {
    await store.placeRuns();
    const kept = await readKept(file);
    if (kept !== undefined && (await areMade(store, kept))) {
      if (kept.asked === asked) return kept.submitted;
      throw new HaloError('USAGE', `The key ${JSON.stringify(key.slice(0, 80))} was used for another submit.`, {
        hint: `It made ${kept.submitted.map(({ runId }) => runId).join(', ')}; choose another key for other runs.`,
      });
    }
    return make((submitted) => writeAtomic(file, JSON.stringify({ asked, submitted } satisfies Kept), true));
  };
  return withLock(`${file}.lock`, submit, { waitMs: PATIENCE_MS });
}

/** The same for requests that ask for the same runs. */
function fingerprint({ members, ...options }: BatchRequest): string {
  const asked = members.map(({ prd, ...member }) => {
    const repo = withoutCredentialsIn(member.repo);
    return { ...member, repo, prd: createHash('sha256').update(prd.bytes).digest('hex') };
  });
  // Whoever asks, and under which name.
  const alike = { ...options, key: undefined, user: undefined };
  return createHash('sha256')
    .update(JSON.stringify([asked, alike]))
    .digest('hex');
}

async function readKept(file: string): Promise<Kept | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const kept = parseJson(text);
  if (KeptShape.safeParse(kept).success) return kept as Kept;
  // Counting as unused, it could make the same runs twice.
  throw new HaloError('DISK_FAILED', `What was submitted with this key cannot be read: ${file} is damaged.`, {
    hint: 'Look for its runs with `halo ls`; if there are none, remove the file and submit again.',
  });
}

async function areMade(store: SubmitContext['store'], { submitted }: Kept): Promise<boolean> {
  const made = await store.runIds();
  return submitted.every(({ runId }) => made.includes(runId));
}
