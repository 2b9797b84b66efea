import { isIP } from 'node:net';
import { HaloError } from '../../core/failure/errors.ts';
import { describeNonPublic } from '../../lib/ip-range.ts';
import { CONFIG_KEYS, openMemberOf } from '../keys.ts';
import { mergeSettings, type ConfigLayer } from '../config-layer.ts';
import { readOptions, type LoadedLayers } from '../load/file-layers.ts';
import type { Setting } from '../settings.ts';
import { ANYONE, OPENS_NETWORK, type KeyTrust } from './key-trust.ts';

type Assignment = Pick<Setting, 'key' | 'value'>;

/** The trust rule of a key or of a member of an open table. */
export function trustOf(key: string): KeyTrust {
  return CONFIG_KEYS.get(openMemberOf(key)?.table ?? key)?.trust ?? ANYONE;
}

/** True if the file of a repository may not set a key. */
export function isForbiddenInRepository(key: string): boolean {
  return ['owner', 'host-file'].includes(trustOf(key).rule);
}

/** True if a setting allows connections to an address that is not public. */
export function allowsPrivateAddress({ key, value }: Assignment): boolean {
  if (trustOf(key).rule !== 'public-hosts' || !Array.isArray(value)) return false;
  return value.some((entry) => {
    const host = String(entry)
      .replace(/:\d+$/, '')
      .replace(/^\[|\]$/g, '');
    return isIP(host) !== 0 && describeNonPublic(host) !== undefined;
  });
}

/** Higher is stricter; 0 for keys without a `tighten` rule. */
function strictnessOf({ key, value }: Assignment): number {
  const trust = trustOf(key);
  if (trust.rule !== 'tighten') return 0;
  if (typeof trust.order !== 'string') return trust.order.findIndex((each) => each === value);
  const amount = Number(CONFIG_KEYS.get(key)?.schema.parse(value));
  return trust.order === 'higher' ? amount : -amount;
}

/** The layers that count, and those to which rules apply. */
export interface TrustedLayers {
  /** All, in order; later ones take precedence. */
  layers: ConfigLayer[];
  /** All but the `-c` options. */
  standing: ConfigLayer[];
  /** The base of config.toml of HALO_HOME. */
  base: ConfigLayer | undefined;
  /** The options of a request from another machine. */
  requested: readonly Setting[];
}

/** Drops what the repository may not loosen. */
export function applyTrust({ standing: given, options, hasHome, isRemote }: LoadedLayers): TrustedLayers {
  const standing = dropLooserSettings(given);
  const base = hasHome ? standing[0] : undefined;
  return { layers: [...standing, options], standing, base, requested: isRemote ? options.settings : [] };
}

const REQUEST_HINT = 'Run the command on the server, with HALO_URL unset, or add these keys to [server] options there.';

/** Lists the settings that their source may not set; `merged`: the settings in effect, and what is wrong with their provider. */
export function findTrustProblems(
  { layers, standing, base, requested }: TrustedLayers,
  merged: { settings: readonly Setting[]; problems: readonly string[] },
): { problems: string[]; hint?: string } {
  const foreign = [
    ...merged.problems,
    ...findForeignSettings(layers),
    ...findForeignImages(layers),
    ...findMisplacedSettings(layers, base),
  ];
  const free = merged.settings.find(({ key }) => key === 'server.options')?.value as readonly string[];
  const looser = findLooserRequests(requested, { layers: standing, free });
  if (foreign.length === 0) return { problems: looser, hint: REQUEST_HINT };
  return { problems: [...foreign, ...looser] };
}

/** Drops the settings of untrusted layers that are less strict than those of the trusted layers before them. */
function dropLooserSettings(layers: readonly ConfigLayer[]): ConfigLayer[] {
  const required = new Map(
    [...CONFIG_KEYS.values()].flatMap(({ name: key, default: value, trust }) =>
      trust.rule === 'tighten' && trust.defaultCounts ? [[key, strictnessOf({ key, value })] as const] : [],
    ),
  );
  return layers.map(({ settings, trusted }) => {
    if (trusted) settings.forEach((setting) => required.set(setting.key, strictnessOf(setting)));
    const isStrict = (setting: Setting) => strictnessOf(setting) >= (required.get(setting.key) ?? -Infinity);
    return { settings: trusted ? settings : settings.filter(isStrict), trusted };
  });
}

/** Lists the settings of a repository that only the user who runs halo may set. */
function findForeignSettings(layers: readonly ConfigLayer[]): string[] {
  return layers
    .flatMap(({ settings, trusted }) => (trusted ? [] : settings))
    .flatMap((setting) => {
      const action = foreignAction(setting);
      if (action === undefined) return [];
      const hint = 'set it in config.toml of HALO_HOME, as a variable or with -c';
      return [`${setting.origin}: ${setting.key}: the file of a repository may not ${action}; ${hint}`];
    });
}

function foreignAction(setting: Setting): string | undefined {
  if (allowsPrivateAddress(setting)) return OPENS_NETWORK;
  const trust = trustOf(setting.key);
  if (trust.rule !== 'owner' || trust.except?.some((value) => value === setting.value)) return undefined;
  return trust.action;
}

/** Lists the settings that are only allowed in the base of config.toml; `base` is its layer. */
function findMisplacedSettings(layers: readonly ConfigLayer[], base: ConfigLayer | undefined): string[] {
  return layers
    .flatMap((layer) => (layer === base ? [] : layer.settings))
    .filter(({ key }) => trustOf(key).rule === 'host-file')
    .map(({ key, origin }) => `${origin}: ${key}: only config.toml of HALO_HOME may set it, outside of profiles`);
}

/** Reports the image that a repository chooses, if it is in effect and not allowed. */
function findForeignImages(layers: readonly ConfigLayer[]): string[] {
  const effective = mergeSettings(layers);
  return layers
    .flatMap(({ settings, trusted }) => (trusted ? [] : settings))
    .filter((setting) => trustOf(setting.key).rule === 'image' && setting === effective.get(setting.key))
    .filter(({ value }) => !isImageAllowed(String(value), layers))
    .map(({ value, origin }) => {
      const name = JSON.stringify(value);
      return `${origin}: image: the file of a repository may not choose the image ${name} of this machine; if it holds nothing that an agent may not read, write images = [${name}] below [sandbox] in config.toml of HALO_HOME, or pass -c image=${String(value)}`;
    });
}

/** True for halo's image, an image that a trusted layer uses, and those of `sandbox.images` (`*` at the end matches any text). */
function isImageAllowed(image: string, layers: readonly ConfigLayer[]): boolean {
  const trusted = layers.filter((layer) => layer.trusted);
  const used = trusted.flatMap(({ settings }) => settings).filter(({ key }) => key === 'image');
  const listed = (mergeSettings(trusted).get('sandbox.images')?.value ?? []) as readonly string[];
  return [CONFIG_KEYS.get('image')?.default, ...used.map(({ value }) => value), ...listed].some((each) => {
    const name = String(each);
    return name.endsWith('*') ? image.startsWith(name.slice(0, -1)) : image === name;
  });
}

/**
 * Lists the options of a request that are less strict than all other layers and the defaults, or choose an image that is
 * not allowed. `free`: the keys that the server lets requests set.
 */
function findLooserRequests(
  requested: readonly Setting[],
  { layers, free }: { layers: readonly ConfigLayer[]; free: readonly string[] },
): string[] {
  const required = findRequiredStrictness(layers);
  return requested
    .filter(({ key }) => !free.includes(key))
    .flatMap((setting) => {
      const { key, value, origin } = setting;
      const condition = `unless [server] options in the server’s config.toml names "${key}"`;
      if (trustOf(key).rule === 'image' && !isImageAllowed(String(value), layers))
        return [`${origin}: image: a request may not choose the image "${String(value)}" of the server, ${condition}`];
      const strictest = required.get(key);
      if (strictest === undefined || strictnessOf(setting) >= strictnessOf(strictest)) return [];
      const shown = JSON.stringify(strictest.value) ?? String(strictest.value);
      return [`${origin}: ${key}: a request may not be looser than ${shown}, ${condition}`];
    });
}

/** The strictest value of each key with a `tighten` rule. For amounts, the default counts only if no layer sets the key. */
function findRequiredStrictness(layers: readonly ConfigLayer[]): Map<string, Assignment> {
  const strictest = new Map<string, Assignment>();
  const settings = layers.flatMap((layer) => layer.settings).filter(({ key }) => trustOf(key).rule === 'tighten');
  const defaults = [...CONFIG_KEYS.values()]
    .filter(({ name, trust }) => trust.rule === 'tighten' && !settings.some(({ key }) => key === name))
    .map(({ name, default: value }) => ({ key: name, value }));
  for (const each of [...defaults, ...settings]) {
    const before = strictest.get(each.key);
    if (before === undefined || strictnessOf(each) > strictnessOf(before)) strictest.set(each.key, each);
  }
  return strictest;
}

/** Combines the values of the owner and of the repository, where the key's rule does: the lower budget, joined lists. */
export function combineLayers(setting: Setting, layers: readonly ConfigLayer[]): Setting {
  const { rule } = trustOf(setting.key);
  if (rule !== 'budget' && rule !== 'join') return setting;
  const [own, foreign] = [true, false].map((trusted) =>
    mergeSettings(layers.filter((layer) => layer.trusted === trusted)).get(setting.key),
  );
  if (own === undefined || foreign === undefined) return setting;
  if (rule === 'budget') return Number(foreign.value) < Number(own.value) ? foreign : own;
  if (setting !== foreign) return setting;
  const value = [...(foreign.value as string[]), ...(own.value as string[])];
  return { ...setting, value, origin: `${foreign.origin}, ${own.origin}` };
}

/**
 * Throws CONFIG_INVALID if `-c` options of a request set keys that are only settable on this machine: provider keys,
 * secrets, signing, local files and addresses, spending. Other problems of the options are reported when they are
 * resolved.
 */
export function assertRemoteOptions(options: string[]): void {
  const settings = readOptions(options, '/', []);
  const keys = new Set(settings.filter(isLocal).map(({ key }) => key));
  if (keys.size === 0) return;
  throw new HaloError('CONFIG_INVALID', `${[...keys].join(', ')} cannot be set from another machine.`, {
    hint: 'Set it in config.toml of HALO_HOME, or as a variable, where the server and its workers run.',
  });
}

function isLocal(setting: Setting): boolean {
  const trust = trustOf(setting.key);
  if (trust.rule === 'tighten') return trust.local === true;
  return ['local', 'owner', 'provider-key', 'budget'].includes(trust.rule) || allowsPrivateAddress(setting);
}
