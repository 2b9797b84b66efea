import type { JournalEvent } from '../core/journal/events.ts';
import { openMasker, type Masker } from '../lib/secrets/masker.ts';
import { openArtifactStore, type ArtifactStore } from './artifact-store.ts';
import { openJournalStore, type JournalStore } from './journal-store.ts';
import { openRunCatalog, type RunCatalog, type RunWriter } from './run-catalog.ts';

/** The run directories of one HALO_HOME. Take only the part that you use. */
export type Store = JournalStore & ArtifactStore & RunCatalog;

interface StoreOptions {
  /** Formats the lines of agent.log for an event. Elapsed time counts from `startedAt`, ISO 8601. */
  transcribe: (event: JournalEvent, startedAt: string, how: { runId: string }) => string[];
  now?: () => Date;
  /** Masks everything that is written. The default masker knows no secrets, only patterns of secrets. */
  masker?: Masker;
  /** See `openRawOutput`. */
  storeBytes?: number;
}

/** Opens the store below `home`, an absolute path. Nothing is written before the first run. */
export function openStore(home: string, options: StoreOptions): Store {
  const { transcribe, masker = openMasker(), now = () => new Date(), storeBytes } = options;
  const log: RunWriter['log'] = (runId) => (event, startedAt) =>
    transcribe(event, startedAt, { runId })
      .map((line) => `${masker.text(line)}\n`)
      .join('');
  const writer = { masker, now, log };
  return {
    ...openRunCatalog(home, writer),
    ...openJournalStore(home, writer),
    ...openArtifactStore(home, masker, { storeBytes }),
  };
}
