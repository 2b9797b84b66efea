import { openHiddenScan, type HiddenBudget, type HiddenLine } from '../../core/text/hidden-scan.ts';
import { collectHidden, type HiddenPlaces } from '../../core/text/hidden-places.ts';
import type { Masker } from '../../lib/secrets/masker.ts';
import type { Found } from '../../lib/secrets/search.ts';
import { scanBlobs, type BlobScan, type ScanRequest } from './scan-blobs.ts';
import { ABSENT, type RawChange } from '../objects/tree-diff.ts';
import { violation } from '../violation.ts';

/** A path to which a change adds what looks like a secret. */
export interface Suspect {
  path: string;
  /** What it looks like, for people; each once. */
  names: string[];
}

/** What changes add that a person should know. */
export interface Additions {
  suspects: Suspect[];
  /** Hidden characters in text files. */
  hidden: HiddenPlaces | undefined;
}

export interface ChangeSearch extends ScanRequest {
  /** Where both the old and the new contents are. */
  gitDir: string;
  changes: RawChange[];
  masker: Pick<Masker, 'scan'>;
  /** Is told the path that holds a known secret, before the refusal, which does not name it. */
  onSecret?: ((path: string) => Promise<void>) | undefined;
}

/**
 * Looks through everything that changes add: names, links and whole contents. What was in a file before does not count.
 * Throws POLICY_VIOLATION for a secret that is known, and answers with what only looks like one, and with what people
 * do not see.
 */
export async function searchChanges(search: ChangeSearch): Promise<Additions> {
  const { changes, masker } = search;
  const present = changes.filter(({ newMode }) => newMode !== ABSENT);
  for (const { path } of present) if (scanText(masker, path).some(isKnown)) await refuseSecret(search, path);
  const found = await scan(
    search,
    present.map(({ newId }) => newId),
  );
  const suspects = await findSuspects(search, present, found);
  return { suspects, hidden: await findHidden(search, present, found) };
}

interface Seen {
  secrets: Found[];
  hidden: HiddenLine[];
}

type SeenBlobs = Map<string, Seen>;

async function findSuspects(search: ChangeSearch, present: RawChange[], found: SeenBlobs): Promise<Suspect[]> {
  const touched = present.filter(({ newId }) => (found.get(newId)?.secrets ?? []).length > 0);
  const old = await scan(
    search,
    touched.filter(hasOld).map(({ oldId }) => oldId),
  );
  const suspects: Suspect[] = [];
  for (const { path, newId, oldId } of touched) {
    const known = new Set(old.get(oldId)?.secrets.map(({ id }) => id));
    const added = (found.get(newId)?.secrets ?? []).filter(({ id }) => !known.has(id));
    if (added.some(isKnown)) await refuseSecret(search, path);
    if (added.length > 0) suspects.push({ path, names: [...new Set(added.map(({ name }) => name))] });
  }
  return suspects;
}

/** A line that one of the changed files had before is not new, whichever file it is in now. */
async function findHidden(
  search: ChangeSearch,
  present: RawChange[],
  found: SeenBlobs,
): Promise<HiddenPlaces | undefined> {
  const touched = present.filter(({ newId }) => (found.get(newId)?.hidden ?? []).length > 0);
  if (touched.length === 0) return undefined;
  const ids = search.changes.filter(hasOld).map(({ oldId }) => oldId);
  const budget = { characters: MOST_HIDDEN };
  const old = await scanBlobs(search, [...new Set(ids)], () => openHiddenScan(budget));
  const before = new Set([...old.values()].flatMap((lines) => lines.map(({ digest }) => digest)));
  before.delete('');
  const added = collectHidden();
  for (const { path, newId } of touched)
    for (const { line, characters, digest } of found.get(newId)?.hidden ?? [])
      if (!before.has(digest)) added.add(path, line, characters);
  return added.all();
}

function hasOld({ oldMode }: RawChange): boolean {
  return oldMode !== ABSENT && oldMode !== SUBMODULE;
}

const SUBMODULE = '160000';

/** The agent is told no more than that there is one: else it could try a dictionary, and read off which word it is. */
async function refuseSecret({ onSecret }: ChangeSearch, path: string): Promise<never> {
  await onSecret?.(path);
  throw violation(undefined, 'it holds a secret of the machine that halo runs on');
}

function isKnown({ kind }: Found): boolean {
  return kind === 'known';
}

function scanText(masker: ChangeSearch['masker'], text: string): Found[] {
  const scanning = masker.scan();
  scanning.push(Buffer.from(text));
  return scanning.end();
}

function scan(search: ChangeSearch, ids: string[]): Promise<SeenBlobs> {
  const budget: HiddenBudget = { characters: MOST_HIDDEN };
  return scanBlobs(search, [...new Set(ids)], () => openBoth(search.masker, budget));
}

/** More hidden characters of a story are not counted. */
const MOST_HIDDEN = 1_000_000;

function openBoth(masker: ChangeSearch['masker'], budget: HiddenBudget): BlobScan<Seen> {
  const secrets = masker.scan();
  const hidden = openHiddenScan(budget);
  return {
    push(chunk) {
      secrets.push(chunk);
      hidden.push(chunk);
    },
    end: () => ({ secrets: secrets.end(), hidden: hidden.end() }),
  };
}
