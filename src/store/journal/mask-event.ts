import type { JournalEntry } from '../../core/journal/events.ts';
import type { Masker } from '../../lib/secrets/masker.ts';

/** Keys whose values the fold depends on: names given by halo, the PRD or git. They are not masked. */
const UNMASKED_KEYS: ReadonlySet<string> = new Set(
  'type runId repo prdPath owner hash specHash dialect id storyKey dependsOn story phase base commit onto merged from to branch image log sha256 held at'.split(
    ' ',
  ),
);

/** Masks the secrets in a journal entry. */
export function maskEntry<E extends JournalEntry>(masker: Masker, entry: E): E {
  return masker.value(entry, UNMASKED_KEYS);
}
