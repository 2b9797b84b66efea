import type { Config } from '../../config/config.ts';
import type { Proof } from '../../core/review/proof.ts';
import type { Check } from '../check.ts';

/** What a record's settings are held against. */
export interface Reference {
  /** Where they stand, for people, such as `halo.toml`. */
  origin: string;
  config: Config;
  /** Content address of the image that they name; undefined when this machine has none. */
  imageId: string | undefined;
  /** Why the file of the repository does not count. */
  fault?: string;
}

/**
 * The settings that the verdict of a record's gates depends on, against those that its run should have had: a row for
 * each that differs.
 */
export function compareSettings(proof: Proof, { origin, config, imageId, fault }: Reference): Check[] {
  const { network } = config;
  const pairs: Pair[] = [
    ['image', proof.image.name, config.image],
    ['image id', proof.image.id, imageId],
    ['hosts', list(proof.allow), list(network.allow)],
    ['registries', list(proof.registries ?? []), list(network.registries)],
    // An older halo did not write them down.
    ...(proof.reports === undefined ? [] : [['reports', list(proof.reports), list(config.tests.reports)] as Pair]),
    ...pairUp('setup', numbered(proof.setup), numbered(config.setup)),
    ...pairUp('gate', numbered(proof.gates.map(({ command }) => command)), numbered(config.gates ?? [])),
    ...pairUp('env', Object.entries(proof.env), Object.entries(config.env)),
  ];
  const broken = fault === undefined ? [] : [{ what: 'settings', recorded: '', found: fault, ok: false }];
  const different = pairs
    .filter(([, recorded, wanted]) => recorded !== wanted)
    .map(([what, recorded = 'none', wanted = 'none']) => ({
      ...{ what, recorded, ok: false },
      found: `${origin}: ${wanted}`,
    }));
  return [...broken, ...different];
}

/** A setting, as it was recorded and as it should have been. */
type Pair = [what: string, recorded: string | undefined, wanted: string | undefined];

function pairUp(what: string, recorded: [string, string][], wanted: [string, string][]): Pair[] {
  const [then, now] = [new Map(recorded), new Map(wanted)];
  const names = new Set([...then.keys(), ...now.keys()]);
  return [...names].map((name) => [`${what} ${name}`, then.get(name), now.get(name)]);
}

function numbered(commands: readonly string[]): [string, string][] {
  return commands.map((command, at) => [`${at + 1}`, command]);
}

function list(names: readonly string[]): string | undefined {
  return names.length === 0 ? undefined : [...new Set(names)].sort().join(', ');
}
