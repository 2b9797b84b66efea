import type { JournalEntry } from '../../core/journal/events.ts';
import type { Masker } from '../../lib/secrets/masker.ts';

/** What the fold goes by stays as it is: names that halo or the PRD gave, and what git calls things. */
const NAMES: ReadonlySet<string> = new Set(
  'type runId repo prdPath owner hash specHash dialect id storyKey dependsOn story phase base commit onto merged from to branch image log sha256 held at'.split(
    ' ',
  ),
);

/** An entry as the journal may keep it. */
export function maskEntry<E extends JournalEntry>(masker: Masker, entry: E): E {
  return masker.value(entry, NAMES);
}
