import { isIP } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import type { Right } from '../../core/access/access.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { isRecord } from '../../lib/guards.ts';
import { describeNonPublic } from '../../lib/ip-range.ts';
import { CONFIG_KEYS, openMemberOf } from '../keys.ts';
import { mergeSettings, type ConfigLayer } from '../config-layer.ts';
import { readOptions, type LoadedLayers, type RequestRights } from '../load/file-layers.ts';
import type { Setting } from '../settings.ts';
import { HOST_FILE, OPENS_NETWORK, type Direction, type KeyTrust } from './key-trust.ts';

type Assignment = Pick<Setting, 'key' | 'value'>;

/** The trust rule of a key or of a member of an open table; the strictest one for unknown keys. */
export function trustOf(key: string): KeyTrust {
  return CONFIG_KEYS.get(openMemberOf(key)?.table ?? key)?.trust ?? HOST_FILE;
}

/** True if the file of a repository may not set a key. */
export function isForbiddenInRepository(key: string): boolean {
  return ['owner', 'host-file'].includes(trustOf(key).rule);
}

/** True if a setting allows connections to an address that is not public. */
export function allowsPrivateAddress({ key, value }: Assignment): boolean {
  const trust = trustOf(key);
  if (trust.rule !== 'right' || trust.publicHosts !== true || !Array.isArray(value)) return false;
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
interface TrustedLayers {
  /** All, in order; later ones take precedence. */
  layers: ConfigLayer[];
  /** All but the `-c` options. */
  standing: ConfigLayer[];
  /** The base of config.toml of HALO_HOME. */
  base: ConfigLayer | undefined;
  /** Settings of the repository that do not count, because the request lacks the right that they need. */
  ignored: Setting[];
  /** Who asked for the options. */
  asker: Asker;
}

/** What the sender of the settings may do. */
interface Asker {
  /** Absent: the user who runs halo. */
  rights: RequestRights | undefined;
  /** The keys that the server lets requests set freely. */
  free: readonly string[];
}

function lacks(asker: Asker, right: Right, key: string): boolean {
  return asker.rights !== undefined && !asker.rights.includes(right) && !isFree(asker, key);
}

function isFree({ free }: Asker, key: string): boolean {
  return free.includes(key) || free.includes(openMemberOf(key)?.table ?? key);
}

/** Drops what the repository may not loosen. */
export function applyTrust({ standing: given, options, hasHome, request }: LoadedLayers): TrustedLayers {
  const listed = hasHome ? given[0]?.settings.find(({ key }) => key === 'server.options') : undefined;
  const asker: Asker = { rights: request, free: (listed?.value ?? []) as readonly string[] };
  const { layers: standing, ignored } = dropUngranted(dropLooserSettings(given, asker), asker);
  const base = hasHome ? standing[0] : undefined;
  return { layers: [...standing, options], standing, base, ignored, asker };
}

const REQUEST_HINT =
  'Run the command on the server, with HALO_URL unset, or add these keys to [server] options in config.toml there.';

/** Lists the settings that their source may not set; `merged`: the settings in effect, and what is wrong with their provider. */
export function findTrustProblems(
  { layers, base, asker }: TrustedLayers,
  merged: { problems: readonly string[] },
): { problems: string[]; hint?: string } {
  const foreign = [
    ...merged.problems,
    ...findForeignSettings(layers),
    ...findForeignImages(layers),
    ...findMisplacedSettings(layers, base),
  ];
  const looser = findLooserRequests(layers, asker);
  if (foreign.length === 0) return { problems: looser, hint: REQUEST_HINT };
  return { problems: [...foreign, ...looser] };
}

/** Drops the settings of the repository that are less strict than those of the trusted layers before them. */
function dropLooserSettings(layers: readonly ConfigLayer[], asker: Asker): ConfigLayer[] {
  const required = new Map(
    [...CONFIG_KEYS.values()].flatMap(({ name: key, default: value, trust }) =>
      trust.rule === 'tighten' &&
      (trust.defaultCounts || (typeof trust.order !== 'string' && lacks(asker, 'land', key)))
        ? [[key, strictnessOf({ key, value })] as const]
        : [],
    ),
  );
  return layers.map((layer) => {
    const { settings, trusted } = layer;
    if (trusted) settings.forEach((setting) => required.set(setting.key, strictnessOf(setting)));
    const isStrict = (setting: Setting) => strictnessOf(setting) >= (required.get(setting.key) ?? -Infinity);
    return { ...layer, settings: trusted ? settings : settings.filter(isStrict) };
  });
}

/** Drops the settings of the repository whose effect needs a right that the asker lacks. */
function dropUngranted(layers: readonly ConfigLayer[], asker: Asker): { layers: ConfigLayer[]; ignored: Setting[] } {
  const kept: ConfigLayer[] = [];
  const ignored: Setting[] = [];
  for (const layer of layers) {
    const isIgnored = (setting: Setting) => {
      // The request decides that it counts.
      if (layer.chosen === true && findChosenFault(setting, { before: kept, asker }) !== undefined) return true;
      const trust = trustOf(setting.key);
      if (layer.trusted || trust.rule !== 'right' || trust.repository) return false;
      return lacks(asker, trust.right, setting.key) && !isWithin(trust.direction, setting, kept);
    };
    ignored.push(...layer.settings.filter(isIgnored));
    kept.push({ ...layer, settings: layer.settings.filter((setting) => !isIgnored(setting)) });
  }
  return { layers: kept, ignored };
}

/** Lists the settings of a repository that only the user who runs halo may set. */
function findForeignSettings(layers: readonly ConfigLayer[]): string[] {
  return layers
    .flatMap(({ settings, trusted, requested }) => (trusted || requested === true ? [] : settings))
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
  return trust.rule === 'owner' ? trust.action : undefined;
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
    .flatMap(({ settings, trusted, requested }) => (trusted || requested === true ? [] : settings))
    .filter((setting) => setting === effective.get(setting.key))
    .flatMap((setting) => {
      const chosen = imageOf(setting);
      if (chosen === undefined || isImageAllowed(chosen, layers)) return [];
      const { key, origin } = setting;
      const name = JSON.stringify(chosen.image);
      const list = chosen.list.replace('sandbox.', '');
      // What the owner has written need not be known to everyone who chooses images.
      const isOwn = mergeSettings(layers.filter((layer) => layer.trusted)).has(chosen.list);
      const all = [...allowedBy(chosen.list, layers), chosen.image].map((each) => JSON.stringify(each)).join(', ');
      const advice = isOwn ? `add it to ${list}` : `write ${list} = [${all}]`;
      const option = key === 'image' ? `, or pass -c image=${chosen.image}` : '';
      return [
        `${origin}: ${key}: the file of a repository may not choose the image ${name} of this machine; if it holds nothing that an agent may not read, ${advice} below [sandbox] in config.toml of HALO_HOME${option}`,
      ];
    });
}

/** An image that a setting chooses, and the list of the owner that allows it. */
interface ChosenImage {
  image: string;
  list: 'sandbox.images' | 'sandbox.service_images';
}

function imageOf({ key, value }: Assignment): ChosenImage | undefined {
  const trust = trustOf(key);
  if (trust.rule === 'image') return { image: String(value), list: 'sandbox.images' };
  if (trust.rule !== 'right' || trust.images !== true || !isRecord(value)) return undefined;
  return typeof value['image'] === 'string' ? { image: value['image'], list: 'sandbox.service_images' } : undefined;
}

/** The images of a list of the owner. */
function allowedBy(list: ChosenImage['list'], layers: readonly ConfigLayer[]): readonly string[] {
  const trusted = layers.filter((layer) => layer.trusted);
  return (mergeSettings(trusted).get(list)?.value ?? CONFIG_KEYS.get(list)?.default) as readonly string[];
}

/**
 * True for halo's image, an image that a trusted layer uses, and those of the list (`*` at the end matches any text). In
 * `postgres:*`, the text is a tag: `postgres:5000/other` is an image of a registry.
 */
function isImageAllowed({ image, list }: ChosenImage, layers: readonly ConfigLayer[]): boolean {
  const trusted = layers.filter((layer) => layer.trusted);
  const used = trusted.flatMap(({ settings }) => settings).flatMap((setting) => imageOf(setting) ?? []);
  const ofList = used.flatMap((each) => (each.list === list ? [each.image] : []));
  return [CONFIG_KEYS.get('image')?.default, ...ofList, ...allowedBy(list, layers)].some((each) => {
    const name = String(each);
    if (!name.endsWith('*')) return image === name;
    const isTag = /^[^/]*:\*$/.test(name);
    return image.startsWith(name.slice(0, -1)) && !(isTag && image.includes('/'));
  });
}

/** Lists what a request chose, by options or by a profile, beyond what it may set. */
function findLooserRequests(layers: readonly ConfigLayer[], asker: Asker): string[] {
  if (asker.rights === undefined) return [];
  return layers.flatMap(({ settings, trusted, requested }, index) => {
    if (requested !== true) return [];
    const before = layers.slice(0, index);
    return settings.flatMap((setting) => {
      const { key, origin } = setting;
      if (!trusted && isLocal(setting)) return [`${origin}: ${key}: a request may not set it`];
      const find = trusted ? findProfileFault : findOptionFault;
      const fault = isFree(asker, key) ? undefined : find(setting, { before, asker });
      const condition = `unless [server] options in the server’s config.toml names "${key}"`;
      return fault === undefined ? [] : [`${origin}: ${key}: ${fault}, ${condition}`];
    });
  });
}

interface Asked {
  before: readonly ConfigLayer[];
  asker: Asker;
}

/** What an option of a request may not do. */
function findOptionFault(setting: Setting, { before, asker }: Asked): string | undefined {
  const { key, value } = setting;
  const trust = trustOf(key);
  const chosen = imageOf(setting);
  if (chosen !== undefined && !isImageAllowed(chosen, before))
    return `a request may not choose the image "${chosen.image}" of the server`;
  if (trust.rule === 'join' && (value as string[]).some((entry) => entry.startsWith('!')))
    return 'a request may only add to the list, and not exclude';
  if (lacks(asker, 'land', key) && isReviewer(key, before)) return needsRight('land');
  return findLooseness(setting, before) ?? findMissingRight(setting, { before, asker });
}

/** Whether a key says which program reviews changes. */
function isReviewer(key: string, layers: readonly ConfigLayer[]): boolean {
  const agent = mergeSettings(layers).get('review.agent')?.value;
  if (typeof agent !== 'string') return false;
  return key === `agents.acp.${agent}` || (agent === 'command' && key.startsWith('agents.command.'));
}

/**
 * What a profile of config.toml may not change for a request without the right to land. All other values in it are a
 * choice that the owner offers.
 */
function findProfileFault(setting: Setting, { before, asker }: Asked): string | undefined {
  const trust = trustOf(setting.key);
  if (!lacks(asker, 'land', setting.key)) return undefined;
  if (trust.rule === 'owner' && !isWithin('same', setting, before)) return needsRight('land');
  if (trust.rule === 'tighten' && typeof trust.order !== 'string') return findLooseness(setting, before);
  return findMissingRight(setting, { before, asker });
}

/** What a profile of a repository may not change for a request without the right to land, compared with its file. */
function findChosenFault(setting: Setting, asked: Asked): string | undefined {
  const trust = trustOf(setting.key);
  if (!lacks(asked.asker, 'land', setting.key)) return undefined;
  if (trust.rule === 'tighten' && typeof trust.order !== 'string') return findLooseness(setting, asked.before);
  return findMissingRight(setting, asked);
}

function findMissingRight(setting: Setting, { before, asker }: Asked): string | undefined {
  const trust = trustOf(setting.key);
  if (trust.rule !== 'right' || !lacks(asker, trust.right, setting.key)) return undefined;
  return isWithin(trust.direction, setting, before) ? undefined : needsRight(trust.right, trust.direction);
}

function needsRight(right: Right, direction: Direction = 'same'): string {
  const most: Record<string, string> = {
    same: '',
    fewer: ', except for fewer entries',
    append: ', except for more entries after those in effect',
    unproven: ', except for a repository without gates',
  };
  const except =
    typeof direction === 'string'
      ? most[direction]
      : `, except for ${direction.map((word) => JSON.stringify(word)).join(', ')}`;
  return `a request needs the right to ${right} for it${except ?? ''}`;
}

/** Whether a setting is what is in effect, or goes in a direction that needs no right. */
function isWithin(direction: Direction, { key, value }: Assignment, layers: readonly ConfigLayer[]): boolean {
  const effective = mergeSettings(layers);
  const before = effective.get(key)?.value ?? CONFIG_KEYS.get(key)?.default;
  if (isDeepStrictEqual(value, before)) return true;
  const list = value as unknown[];
  switch (direction) {
    case 'same':
      return false;
    case 'fewer':
      return list.every((entry) => (before as unknown[]).includes(entry));
    case 'append':
      return before === undefined
        ? list.length > 0
        : (before as unknown[]).every((entry, index) => list[index] === entry);
    case 'unproven':
      return ((effective.get('gates')?.value ?? []) as unknown[]).length === 0;
    default:
      return direction.includes(String(value));
  }
}

/** What a setting may not be less strict than. */
function findLooseness(setting: Setting, layers: readonly ConfigLayer[]): string | undefined {
  const strictest = findRequiredStrictness(setting.key, layers);
  if (strictest === undefined || strictnessOf(setting) >= strictnessOf(strictest)) return undefined;
  return `a request may not be looser than ${JSON.stringify(strictest.value) ?? String(strictest.value)}`;
}

/** The strictest value of a key with a `tighten` rule. The default counts only if no layer sets the key. */
function findRequiredStrictness(key: string, layers: readonly ConfigLayer[]): Assignment | undefined {
  if (trustOf(key).rule !== 'tighten') return undefined;
  const settings = layers.flatMap((layer) => layer.settings).filter((setting) => setting.key === key);
  if (settings.length === 0) return { key, value: CONFIG_KEYS.get(key)?.default };
  return settings.reduce((one, other) => (strictnessOf(other) > strictnessOf(one) ? other : one));
}

/** Combines the values of several layers, where the key's rule does: the lower budget, joined lists. */
export function combineLayers(setting: Setting, layers: readonly ConfigLayer[]): Setting {
  const { rule } = trustOf(setting.key);
  if (rule === 'join') return joinLists(setting, layers);
  if (rule !== 'budget') return setting;
  const [own, foreign] = [true, false].map((trusted) =>
    mergeSettings(layers.filter((layer) => layer.trusted === trusted)).get(setting.key),
  );
  if (own === undefined || foreign === undefined) return setting;
  return Number(foreign.value) < Number(own.value) ? foreign : own;
}

/** Later entries win, so those of the owner are last. A later list of the owner replaces that of the repository. */
function joinLists(setting: Setting, layers: readonly ConfigLayer[]): Setting {
  const find = (from: readonly ConfigLayer[]) => mergeSettings(from).get(setting.key);
  const isOwn = ({ trusted, requested }: ConfigLayer) => trusted && requested !== true;
  const last = layers.findLastIndex((layer) => isOwn(layer) && find([layer]) !== undefined);
  const parts = [
    find(layers.filter((layer, index) => !layer.trusted && layer.requested !== true && index > last)),
    find(layers.filter(({ trusted, requested }) => !trusted && requested === true)),
    find(layers.filter(({ trusted, requested }) => trusted && requested === true)),
    find(layers.filter(isOwn)),
  ].flatMap((part) => part ?? []);
  if (parts.length < 2) return parts[0] ?? setting;
  const value = parts.flatMap((part) => part.value as string[]);
  return { ...setting, value, origin: parts.map(({ origin }) => origin).join(', ') };
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
