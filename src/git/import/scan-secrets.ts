import { collectHidden, type HiddenPlaces } from '../../core/text/hidden-places.ts';
import { HiddenScan, type HiddenBudget, type HiddenLine } from '../../core/text/hidden-scan.ts';
import { defined } from '../../lib/guards.ts';
import { isSearched, NOT_SEARCHED, openLeakScan, type Leak, type LeakBudget } from '../../lib/secrets/leak-scan.ts';
import type { Masker } from '../../lib/secrets/masker.ts';
import type { Match } from '../../lib/secrets/search.ts';
import { ABSENT, type RawChange } from '../objects/trees.ts';
import { gitStream } from '../process/git.ts';
import { policyViolation } from './import-limits.ts';

/** A path with added text that looks like a secret. */
export interface Suspect {
  path: string;
  /** Distinct names of the kinds of secrets, for display. */
  names: string[];
}

/** Findings in added content that are shown to a person. */
export interface Additions {
  suspects: Suspect[];
  /** Hidden characters in text files. */
  hidden: HiddenPlaces | undefined;
}

export interface ChangeScan extends ScanRequest {
  /** Contains both the old and the new contents. */
  gitDir: string;
  changes: RawChange[];
  masker: Pick<Masker, 'scan'>;
  /** Whether the user allows what a rule finds in a file. */
  isAllowed: (rule: string, path: string) => boolean;
  /** Called with the path that contains a known secret; the error that follows does not name it. */
  onSecret?: ((path: string) => Promise<void>) | undefined;
}

/**
 * Scans everything that changes add: names, links and contents. Text that a file already contained does not count.
 * Returns what looks like a secret, and hidden characters. Throws POLICY_VIOLATION for a known secret.
 */
export async function scanChanges(search: ChangeScan): Promise<Additions> {
  const { changes, masker } = search;
  const present = changes.filter(({ newMode }) => newMode !== ABSENT);
  for (const { path } of present) if (scanText(masker, path).some(isKnown)) await rejectSecret(search, path);
  const found = await scan(
    search,
    present.map(({ newId }) => newId),
  );
  const suspects = await findSuspects(search, present, found);
  return { suspects, hidden: await findHidden(search, present, found) };
}

interface Seen {
  secrets: Match[];
  leaks: Leak[];
  hidden: HiddenLine[];
}

type SeenBlobs = Map<string, Seen>;

async function findSuspects(search: ChangeScan, present: RawChange[], found: SeenBlobs): Promise<Suspect[]> {
  const touched = present.filter(({ newId }) => {
    const { secrets = [], leaks = [] } = found.get(newId) ?? {};
    return secrets.length + leaks.length > 0;
  });
  const old = await scan(
    search,
    touched.filter(hasOld).map(({ oldId }) => oldId),
  );
  const suspects: Suspect[] = [];
  for (const { path, newId, oldId } of touched) {
    const known = new Set(old.get(oldId)?.secrets.map(({ id }) => id));
    const added = (found.get(newId)?.secrets ?? []).filter(({ id }) => !known.has(id));
    if (added.some(isKnown)) await rejectSecret(search, path);
    const before = new Set(old.get(oldId)?.leaks.map(toLeakId));
    const leaks = (found.get(newId)?.leaks ?? []).filter(
      (leak) => !before.has(toLeakId(leak)) && (leak.rule === NOT_SEARCHED || isSearched(leak.rule, path)),
    );
    const names = namesOf(added, leaks, (rule) => search.isAllowed(rule, path));
    if (names.length > 0) suspects.push({ path, names });
  }
  return suspects;
}

function toLeakId({ rule, secret }: Leak): string {
  return `${rule}: ${secret}`;
}

/** Each kind once, with the rule that `secrets.allow` names. A rule that finds the same text as a shape adds nothing. */
function namesOf(added: readonly Match[], leaks: readonly Leak[], isAllowed: (rule: string) => boolean): string[] {
  const more = leaks.filter(({ secret }) => secret === '' || !added.some(({ id }) => id.includes(secret)));
  return [
    ...new Set([
      ...added
        .filter(({ rule }) => rule === undefined || !isAllowed(rule))
        .map(({ name, rule }) => (rule === undefined ? name : `${name} (${rule})`)),
      ...more
        .filter(({ rule }) => !isAllowed(rule))
        .map(({ rule }) =>
          rule === NOT_SEARCHED ? 'more text that may have secrets than halo searches' : `a possible secret (${rule})`,
        ),
    ]),
  ];
}

/** Lines that any of the changed files contained before are not new, even in another file. */
async function findHidden(
  search: ChangeScan,
  present: RawChange[],
  found: SeenBlobs,
): Promise<HiddenPlaces | undefined> {
  const touched = present.filter(({ newId }) => (found.get(newId)?.hidden ?? []).length > 0);
  if (touched.length === 0) return undefined;
  const ids = search.changes.filter(hasOld).map(({ oldId }) => oldId);
  const budget = { characters: MAX_HIDDEN };
  const old = await scanBlobs(search, [...new Set(ids)], () => new HiddenScan(budget));
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

/** The message does not say which secret or where: otherwise an agent could find it out by trying a dictionary. */
async function rejectSecret({ onSecret }: ChangeScan, path: string): Promise<never> {
  await onSecret?.(path);
  throw policyViolation(undefined, 'it contains a secret of the machine that halo runs on');
}

function isKnown({ kind }: Match): boolean {
  return kind === 'known';
}

function scanText(masker: ChangeScan['masker'], text: string): Match[] {
  const scanning = masker.scan();
  scanning.push(Buffer.from(text));
  return scanning.end();
}

function scan(search: ChangeScan, ids: string[]): Promise<SeenBlobs> {
  const budget = { characters: MAX_HIDDEN, bytes: MAX_RULE_BYTES };
  return scanBlobs(search, [...new Set(ids)], () => openAll(search.masker, budget));
}

/** Hidden characters beyond this number are not counted. */
const MAX_HIDDEN = 1_000_000;

/** A commit of 10 MB of sources needs about 6 MB; RE2 reads about 2.5 MB a second. */
const MAX_RULE_BYTES = 16 * 1024 * 1024;

function openAll(masker: ChangeScan['masker'], budget: HiddenBudget & LeakBudget): BlobScan<Seen> {
  const secrets = masker.scan();
  const leaks = openLeakScan(budget);
  const hidden = new HiddenScan(budget);
  return {
    push(chunk) {
      secrets.push(chunk);
      leaks.push(chunk);
      hidden.push(chunk);
    },
    end: () => ({ secrets: secrets.end(), leaks: leaks.end(), hidden: hidden.end() }),
  };
}

/** Scans one blob that arrives in chunks. */
interface BlobScan<T> {
  push(chunk: Buffer): void;
  end(): T;
}

interface ScanRequest {
  gitDir: string;
  timeoutMs: number;
  signal: AbortSignal | undefined;
}

/**
 * Scans blobs and returns the results by id. Uses one git process, and streams the contents instead of keeping them.
 * Throws POLICY_VIOLATION when a blob is missing.
 */
async function scanBlobs<T>(
  { gitDir, timeoutMs, signal }: ScanRequest,
  ids: string[],
  open: () => BlobScan<T>,
): Promise<Map<string, T>> {
  const found = new Map<string, T>();
  if (ids.length === 0) return found;
  const input = `${ids.join('\n')}\n`;
  const options = { gitDir, input, timeoutMs, ...defined({ signal }) };
  const objects = await gitStream(['cat-file', '--batch'], options);
  objects.done.catch(() => undefined);
  let head = '';
  /** Remaining bytes of the contents; undefined while a header is read. */
  let left: number | undefined;
  let scan = open();
  for await (const chunk of objects.stdout) {
    let rest = chunk as Buffer;
    while (rest.length > 0) {
      if (left === undefined) {
        const end = rest.indexOf(0x0a);
        head += rest.toString('latin1', 0, end < 0 ? rest.length : end);
        rest = end < 0 ? rest.subarray(rest.length) : rest.subarray(end + 1);
        if (end < 0) continue;
        left = Number(head.split(' ')[2]);
        if (Number.isNaN(left)) throw policyViolation(undefined, 'its contents are missing');
        continue;
      }
      const contents = rest.subarray(0, left);
      if (contents.length > 0) scan.push(contents);
      left -= contents.length;
      rest = rest.subarray(contents.length);
      if (left > 0 || rest.length === 0) continue;
      // Skip the newline after the contents.
      rest = rest.subarray(1);
      found.set(head.split(' ')[0] ?? '', scan.end());
      [head, left, scan] = ['', undefined, open()];
    }
  }
  await objects.done;
  return found;
}
