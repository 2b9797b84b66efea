import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { stripCredentials } from '../../core/text/address-credentials.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { writeAtomic, readIfExists } from '../../lib/fs.ts';
import { withLock } from '../../lib/lock.ts';
import { tryParseJson } from '../../lib/parse-json.ts';
import type { BatchRequest, Submitted } from '../operations/schemas.ts';
import type { SubmitContext } from './submit-context.ts';

/** The runs that were created for a key, and the fingerprint of the request. */
interface Kept {
  asked: string;
  submitted: Submitted[];
}
const KeptShape = z.object({ asked: z.string(), submitted: z.array(z.looseObject({ runId: z.string() })) });

/** Maximum wait for another submit with the same key, which may inspect many repositories. */
const LOCK_WAIT_MS = 10 * 60_000;

/**
 * Submits once per key, also for concurrent and repeated requests. The runs are recorded under the key before they are
 * created: a process that is killed in between leaves a key without runs, which counts as unused. Throws USAGE if the
 * key was used for another request.
 */
export async function submitOnce(
  { host, store }: Pick<SubmitContext, 'host' | 'store'>,
  { key, request }: { key: string; request: BatchRequest },
  make: (announce: (submitted: Submitted[]) => Promise<void>) => Promise<Submitted[]>,
): Promise<Submitted[]> {
  const folder = join(host.home, 'keys');
  const file = join(folder, `${createHash('sha256').update(key).digest('hex')}.json`);
  const asked = fingerprint(request);
  const submit = async () => {
    await store.publishRuns();
    const kept = await readKept(file);
    if (kept !== undefined && (await areCreated(store, kept))) {
      if (kept.asked === asked) return kept.submitted;
      throw new HaloError('USAGE', `The key ${JSON.stringify(key.slice(0, 80))} belongs to another submit.`, {
        hint: `Choose another key for other runs; this one created ${kept.submitted.map(({ runId }) => runId).join(', ')}.`,
      });
    }
    return make((submitted) => writeAtomic(file, JSON.stringify({ asked, submitted } satisfies Kept), true));
  };
  return withLock(`${file}.lock`, submit, { waitMs: LOCK_WAIT_MS, makeFolder: true });
}

/** Equal for requests for the same runs. */
function fingerprint({ members, ...options }: BatchRequest): string {
  const asked = members.map(({ prd, ...member }) => {
    const repo = stripCredentials(member.repo);
    return { ...member, repo, prd: createHash('sha256').update(prd.bytes).digest('hex') };
  });
  // Who asks, and from where, does not matter. Options have another order in requests over the network.
  const inOrder = Object.entries(options)
    .filter(([name, value]) => value !== undefined && !['key', 'user', 'remote', 'rights'].includes(name))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([asked, inOrder]))
    .digest('hex');
}

async function readKept(file: string): Promise<Kept | undefined> {
  const text = await readIfExists(file);
  if (text === undefined) return undefined;
  const kept = tryParseJson(text);
  if (KeptShape.safeParse(kept).success) return kept as Kept;
  // If it counted as unused, the same runs could be created twice.
  throw new HaloError('DISK_FAILED', `The record of this key cannot be read: ${file} is damaged.`, {
    hint: 'Look for its runs with `halo ls`; if there are none, remove the file and submit again.',
  });
}

async function areCreated(store: SubmitContext['store'], { submitted }: Kept): Promise<boolean> {
  const made = await store.runIds();
  return submitted.every(({ runId }) => made.includes(runId));
}
