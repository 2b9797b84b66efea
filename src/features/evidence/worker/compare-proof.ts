import type { Config } from '../../../config/config.ts';
import { blockingOf, describeReview, reviewerName } from '../../../core/review/agent-review.ts';
import type { Proof } from '../../../core/review/proof.ts';

/** A fact of a proof, compared with what was found now. */
export interface FactCheck {
  what: string;
  recorded: string;
  found: string;
  /** null: informational. */
  ok: boolean | null;
}

export function compareFact(what: string, recorded: string, found: string): FactCheck {
  return { what, recorded, found, ok: recorded === found };
}

/** The settings that a proof is compared with. */
export interface ReferenceSettings {
  /** Their source for messages, such as `halo.toml`. */
  origin: string;
  config: Config;
  /** The id of their image; undefined if this machine does not have it. */
  imageId: string | undefined;
  /** Why the repository's file is ignored. */
  fault?: string;
}

/** Compares the recorded settings that affect the gates with the reference. Returns a row for each difference. */
export function compareSettings(proof: Proof, { origin, config, imageId, fault }: ReferenceSettings): FactCheck[] {
  const { network } = config;
  const pairs: Pair[] = [
    ['image', proof.image.name, config.image],
    ['image id', proof.image.id, imageId],
    ['hosts', list(proof.allow), list(network.allow)],
    ['registries', list(proof.registries), list(network.registries)],
    ['reports', list(proof.reports ?? []), list(config.tests.reports)],
    ...(proof.tests === undefined ? [] : [['tests command', proof.tests.command, config.tests.command] as Pair]),
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

/** A change that had to be reviewed has landed after a review without blocking findings, or after a person approved it. */
export function compareReview(
  { review, approved }: Pick<Proof, 'review' | 'approved'>,
  { origin, config }: { origin: string; config: Pick<Config, 'review'> },
): FactCheck[] {
  if (review === undefined) {
    const isMissing = config.review.when === 'always' && approved !== true;
    return isMissing
      ? [{ what: 'review', recorded: 'none', found: `${origin}: review.when = "always"`, ok: false }]
      : [];
  }
  const recorded = `${reviewerName(review)}: ${describeReview(review)}`;
  const objects = review.failed !== undefined || blockingOf(review).length > 0;
  if (!objects) return [{ what: 'review', recorded, found: 'nothing blocks', ok: true }];
  return [
    {
      what: 'review',
      recorded,
      found: approved === true ? 'approved by a person' : 'no approval',
      ok: approved === true,
    },
  ];
}

/** A setting: recorded and expected value. */
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
