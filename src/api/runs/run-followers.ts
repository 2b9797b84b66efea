import { defined } from '../../lib/guards.ts';
import { createHash, randomBytes } from 'node:crypto';
import { mayUseRepository, type User } from '../../core/access/access.ts';
import type { RunFacts } from '../../core/listing/run-facts.ts';
import { omit } from '../../core/run/state.ts';
import { ignore, mapConcurrent } from '../../lib/async.ts';
import type { Store } from '../../store/store.ts';
import type { LimitedRuns, ListedRun } from './limited-runs.ts';

/** Runs of a home, of which `ended` are the newest ended ones. */
interface RunSelection {
  ended: number;
  /** Only runs that this user may see; absent: all. */
  caller?: User | undefined;
}

/** The runs of a selection that have changed since an earlier frame. */
export interface RunFrame {
  runs: ListedRun[];
  /** From where a later frame continues. */
  after: string;
}

interface Entry {
  run: ListedRun;
  /** Changes with everything of the run that a list shows. */
  text: string;
  /** Bytes of the journal that were read. */
  bytes: number;
  /** Increases over all entries with every change. */
  version: number;
}

interface Listing {
  /** Newest first. */
  ended: string[];
  open: { runId: string; started: boolean }[];
  facts: ReadonlyMap<string, RunFacts>;
}

/** One look at all runs, shared by everyone who follows them. */
interface Pass {
  listing: Listing;
  entries: Map<string, Promise<Entry | undefined>>;
  selected: Map<string, Promise<Selected>>;
  frames: Map<string, RunFrame>;
  /** Whether ended runs may have changed. */
  mayHaveChanged: boolean;
}

interface Latest {
  /** When it began; undefined: not yet. */
  at: number | undefined;
  pass: Promise<Pass>;
}

interface Selected {
  entries: Entry[];
  /** Runs that have ended of late and are older than the newest ended ones: who followed them when they were open gets their end. */
  late: Entry[];
  ids: ReadonlySet<string>;
  version: number;
}

type TableStore = Pick<Store, 'runIds' | 'openRuns' | 'runFacts' | 'openRunsChangedAt' | 'journalBytes' | 'readState'>;

/** Followers should wait for as long between two frames. */
export const PASS_MS = 1_000;
/** Some events change an ended run but not the time of the open ones: all journals are looked at in every so many passes. */
const LOOK_AT_ALL = 10;
const MAX_READS = 8;
/** Of the runs that ended last, those whose changes are reported even if they are older than a selection. */
const MAX_LATE = 100;
/** Runs in memory, in addition to the open ones. */
const MAX_ENTRIES = 2_000;

/**
 * The runs of a home as lists show them, for any number of followers: a run is read once for all of them, and again only
 * after its journal has grown. Nothing is read without followers.
 */
export class RunTable {
  readonly #store: TableStore;
  readonly #limited: LimitedRuns;
  /** Frames of another process cannot be continued. */
  readonly #id = randomBytes(6).toString('hex');
  readonly #entries = new Map<string, Entry>();
  #version = 0;
  /** The version when a run was removed or opened again last: an older run may be in a selection since then. */
  #leftAt = 0;
  #changedAt = Number.NaN;
  #passes = 0;
  #listing: Listing = { ended: [], open: [], facts: new Map() };
  /** Runs that were open in an earlier look, in the order in which they ended. */
  readonly #late = new Set<string>();
  #latest: Latest | undefined;

  constructor(store: TableStore, limited: LimitedRuns) {
    this.#store = store;
    this.#limited = limited;
  }

  /** Follows a selection from an `after` of an earlier frame; one that cannot be continued counts as none. */
  follower(selection: RunSelection, after: string | undefined): RunFollower {
    const scope = createHash('sha256')
      .update(JSON.stringify([selection.ended, selection.caller?.repositories]))
      .digest('hex')
      .slice(0, 12);
    const prefix = `${this.#id}.${scope}.`;
    const since = after?.startsWith(prefix) === true ? Number(after.slice(prefix.length)) : Number.NaN;
    let known: { since: number; ids?: ReadonlySet<string> } | undefined;
    return {
      next: async () => {
        // The first frame has everything that happened before.
        const pass = await this.#pass(known === undefined ? 0 : PASS_MS / 2);
        const now = await memoize(pass.selected, scope, () => this.#select(pass, selection));
        const { since: from, ids } = known ?? { since: since >= this.#leftAt ? since : -1 };
        const late = from < 0 ? [] : now.late.filter(({ version }) => version > from);
        const selected = now.entries.filter(({ version, run }) => version > from || ids?.has(run.runId) === false);
        const changed = [...selected, ...late];
        known = { since: now.version, ids: now.ids };
        const name = `${scope} ${changed.map(({ version }) => version).join()}`;
        const toFrame = () => ({ runs: changed.map(({ run }) => run), after: `${prefix}${now.version}` });
        // Everyone who gets the same runs gets the same frame, which is written once.
        return memoize(pass.frames, name, toFrame);
      },
    };
  }

  /** A pass that is at most `maxAge` ms old. All who ask while one is in progress share the next one. */
  #pass(maxAge: number): Promise<Pass> {
    const before = this.#latest;
    const age = before?.at === undefined ? 0 : performance.now() - before.at;
    // One that has not begun has no age.
    if (before !== undefined && age <= maxAge) return before.pass;
    const next: Latest = {
      at: undefined,
      pass: Promise.resolve(before?.pass.catch(ignore)).then(() => this.#begin(next)),
    };
    this.#latest = next;
    return next.pass;
  }

  #begin(latest: Latest): Promise<Pass> {
    latest.at = performance.now();
    return this.#look();
  }

  async #look(): Promise<Pass> {
    const store = this.#store;
    const looksAtAll = this.#passes++ % LOOK_AT_ALL === 0;
    // Read before the lists, so that a change during them is seen by the next pass.
    const changedAt = await store.openRunsChangedAt();
    const mayHaveChanged = looksAtAll || changedAt !== this.#changedAt;
    if (mayHaveChanged) await this.#list();
    this.#changedAt = changedAt;
    const pass = {
      ...{ mayHaveChanged, listing: this.#listing },
      ...{ entries: new Map(), selected: new Map(), frames: new Map() },
    };
    const { open } = this.#listing;
    await mapConcurrent(open, MAX_READS, ({ runId, started }) => this.#read(pass, runId, started || mayHaveChanged));
    await this.#markHeld(open.map(({ runId }) => runId));
    return pass;
  }

  async #list(): Promise<void> {
    const store = this.#store;
    const open = await store.openRuns();
    const [ids, facts] = [await store.runIds(), await store.runFacts()];
    const [isOpen, exists] = [new Set(open.map(({ runId }) => runId)), new Set(ids)];
    const ended = ids.filter((runId) => !isOpen.has(runId));
    const isEnded = new Set(ended);
    for (const { runId } of this.#listing.open) if (isEnded.has(runId)) this.#late.add(runId);
    for (const runId of this.#late) if (!isEnded.has(runId) || this.#late.size > MAX_LATE) this.#late.delete(runId);
    if (this.#listing.ended.some((runId) => !isEnded.has(runId))) this.#leftAt = ++this.#version;
    for (const runId of this.#entries.keys()) if (!exists.has(runId)) this.#entries.delete(runId);
    this.#listing = { ended, open: open.filter(({ runId }) => exists.has(runId)), facts };
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > open.length + MAX_ENTRIES && oldest !== undefined) this.#entries.delete(oldest);
  }

  /** Undefined if it cannot be read. `looks`: its journal may have grown. */
  #read(pass: Pass, runId: string, looks: boolean): Promise<Entry | undefined> {
    return memoize(pass.entries, runId, async () => {
      const known = this.#entries.get(runId);
      if (known !== undefined && !looks) return known;
      const bytes = await this.#store.journalBytes(runId);
      if (known?.bytes === bytes) return known;
      const state = await this.#store.readState(runId).catch(() => undefined);
      if (state === undefined) return undefined;
      const run = { ...state, ...defined({ heldBy: known?.run.heldBy, engines: known?.run.engines }) };
      return this.#keep(run, bytes);
    });
  }

  #keep(run: ListedRun, bytes: number): Entry {
    const known = this.#entries.get(run.runId);
    const text = JSON.stringify({ ...run, seq: 0 });
    // An activity of an agent changes nothing but the number of the last event.
    const version = known?.text === text ? known.version : ++this.#version;
    const entry = known?.text === text ? Object.assign(known, { bytes }) : { run, text, bytes, version };
    this.#entries.delete(run.runId);
    this.#entries.set(run.runId, entry);
    return entry;
  }

  /** Limits of the fleet, and engines, change without an event of the run that they delay. */
  async #markHeld(runIds: readonly string[]): Promise<void> {
    const entries = runIds.flatMap((runId) => this.#entries.get(runId) ?? []);
    const marked = await this.#limited.mark(entries.map(({ run }) => omit(omit(run, 'heldBy'), 'engines')));
    marked.forEach((run, index) => {
      const entry = entries[index];
      if (entry === undefined) return;
      const isSame = entry.run.heldBy === run.heldBy && String(entry.run.engines) === String(run.engines);
      if (!isSame) this.#keep(run, entry.bytes);
    });
  }

  async #select(pass: Pass, { ended, caller }: RunSelection): Promise<Selected> {
    const { listing, mayHaveChanged } = pass;
    const read = (runId: string) => this.#read(pass, runId, mayHaveChanged);
    const isVisible = toVisible(caller);
    const chosen: string[] = [];
    const choose = async (runId: string) => {
      const source = listing.facts.get(runId)?.repo ?? (await read(runId))?.run.repo.source;
      if (isVisible(source)) chosen.push(runId);
    };
    for (const runId of listing.ended) {
      if (chosen.length >= ended) break;
      await choose(runId);
    }
    for (const { runId } of listing.open) await choose(runId);
    const selected = new Set(chosen);
    for (const runId of this.#late) if (!selected.has(runId)) await choose(runId);
    await mapConcurrent(chosen, MAX_READS, read);
    const known = chosen.flatMap((runId) => this.#entries.get(runId) ?? []);
    const entries = known.filter(({ run }) => selected.has(run.runId));
    const late = known.filter(({ run }) => !selected.has(run.runId));
    entries.sort((a, b) => (a.run.createdAt < b.run.createdAt ? 1 : -1));
    return { entries, late, ids: selected, version: this.#version };
  }
}

/** Someone who follows a selection of runs. */
interface RunFollower {
  /** The runs that have changed since the frame before, newest first: at first all, or those since the given frame. */
  next(): Promise<RunFrame>;
}

function toVisible(caller: User | undefined): (source: string | undefined) => boolean {
  const known = new Map<string, boolean>();
  return (source) =>
    caller?.repositories === undefined ||
    (source !== undefined && memoize(known, source, () => mayUseRepository(caller, source)));
}

function memoize<K, T>(known: Map<K, T>, key: K, make: () => T): T {
  const before = known.get(key);
  if (before !== undefined) return before;
  const made = make();
  known.set(key, made);
  return made;
}
