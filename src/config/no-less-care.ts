import { CONFIG_KEYS } from './keys.ts';
import { mergeSettings, type Layer } from './resolve-model.ts';
import type { Setting } from './settings.ts';

/** Words from the least to the most care. */
const WORDS: Record<string, readonly unknown[]> = {
  'approval.mode': ['never', 'run', 'story'],
  'tests.removed': ['report', 'block'],
  'land.push': ['base', 'branch'],
  'land.unchanged': ['pass', 'fail'],
  'land.hidden_characters': ['report', 'block', 'refuse'],
  // With a stream, a sandbox gets the files of one commit and nothing else of the mirror.
  'workspace.transport': ['mount', 'auto', 'stream'],
  // Without a baseline nobody knows which tests are gone.
  'tests.baseline': ['never', 'auto', 'always'],
};

/** Of these the default counts as what the person who runs halo wants, for it protects their machine or their verdicts. */
const BY_DEFAULT = ['tests.baseline', 'limits.free_disk', 'land.push'];

/**
 * The file of a repository, which others write, may ask for more care than the person who runs halo does, and for
 * smaller sandboxes, never for less care or larger ones: what it says beyond that is left out.
 */
export function withoutLessCare(layers: readonly Layer[]): Layer[] {
  const least = new Map(BY_DEFAULT.map((key) => [key, careOf({ key, value: CONFIG_KEYS.get(key)?.default })]));
  return layers.map(({ settings, trusted }) => {
    if (trusted) settings.forEach((setting) => least.set(setting.key, careOf(setting)));
    const enough = (setting: Setting) => careOf(setting) >= (least.get(setting.key) ?? -Infinity);
    return { settings: trusted ? settings : settings.filter(enough), trusted };
  });
}

interface Needed {
  care: number;
  value: unknown;
}

/** The most care that any source asks for, the defaults included, of the keys that have more and less of it. */
export function leastCare(layers: readonly Layer[]): Map<string, Needed> {
  const least = new Map<string, Needed>();
  const ask = ({ key, value }: Pick<Setting, 'key' | 'value'>) => {
    const care = careOf({ key, value });
    if (care > (least.get(key)?.care ?? -Infinity)) least.set(key, { care, value });
  };
  const keys = [...CONFIG_KEYS.values()].filter(({ name }) => name in WORDS || name.startsWith('limits.'));
  const settings = layers.flatMap((layer) => layer.settings).filter(({ key }) => keys.some(({ name }) => name === key));
  // A limit that somebody here set goes before the default; the least of them counts.
  for (const { name, default: value } of keys) if (!settings.some(({ key }) => key === name)) ask({ key: name, value });
  settings.forEach(ask);
  return least;
}

/** What the person who runs halo protects stays protected, whatever a repository’s own list takes out. */
export function keepOwnProtection(setting: Setting, layers: readonly Layer[]): Setting {
  if (setting.key !== 'land.protect') return setting;
  const [own, foreign] = [true, false].map((trusted) =>
    mergeSettings(layers.filter((layer) => layer.trusted === trusted)).get(setting.key),
  );
  if (own === undefined || setting !== foreign) return setting;
  const value = [...(foreign.value as string[]), ...(own.value as string[])];
  return { ...setting, value, origin: `${foreign.origin}, ${own.origin}` };
}

/** The more, the more careful; the same for all values of other keys. */
export function careOf({ key, value }: Pick<Setting, 'key' | 'value'>): number {
  const words = WORDS[key];
  if (words !== undefined) return words.indexOf(value);
  if (!key.startsWith('limits.')) return 0;
  const amount = Number(CONFIG_KEYS.get(key)?.schema.parse(value));
  return key === 'limits.free_disk' ? amount : -amount;
}
