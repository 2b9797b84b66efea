import { join } from 'node:path';
import { Readable } from 'node:stream';
import { streamHistory } from '../../git/mirror/send-commit.ts';
import { readViewRefs } from '../../git/mirror/workspace-refs.ts';
import { readIfExists } from '../../lib/fs.ts';
import { streamOf } from '../../lib/streams.ts';
import type { SandboxContext } from '../attempt/open-attempt.ts';
import type { Checkout, CommitObjects } from './checkout-script.ts';
import { VIEW } from './sandbox-paths.ts';

/** The objects of a commit, and the stdin from which a sandbox reads them. */
export interface CommitSource extends CommitObjects {
  stdin: Readable | undefined;
}

/**
 * How a sandbox of the attempt gets a commit: from mounted repositories, or from a stream of what no mounted one has. The
 * commit must be exposed. The stream fails with GIT_FAILED.
 */
export async function openCommitSource(
  { resources, signal }: Pick<SandboxContext, 'resources' | 'signal'>,
  { commit, sources }: Pick<Checkout, 'commit' | 'sources'>,
): Promise<CommitSource> {
  const { transport, viewDir, candidateDir } = resources;
  if (transport === 'mount') return { mounted: sources, stdin: undefined };
  const [refs, shallow = '', { known }] = await Promise.all([
    readViewRefs(viewDir),
    readIfExists(join(viewDir, 'shallow')),
    resources.repositories(),
  ]);
  const mounted = known.length > 0 ? [VIEW] : [];
  const wanted = [commit, ...refs.tags].filter((id) => !known.includes(id));
  const reads = { shallow: Buffer.byteLength(shallow), refs: Buffer.byteLength(refs.text), pack: wanted.length > 0 };
  const pack = reads.pack ? await streamHistory({ gitDir: candidateDir, wanted, known, signal }) : Readable.from([]);
  return { mounted, reads, stdin: streamOf([shallow, refs.text], pack) };
}
