import type { Right } from '../../core/access/access.ts';

/**
 * Who may set a key, and to which values. There are three kinds of sources: the user who runs halo (config.toml of
 * HALO_HOME, variables, `-c`), the file of a repository, which other people can change, and requests from another
 * machine or from an agent. trust.ts applies these rules. Every key has one: there is no default.
 */
export type KeyTrust =
  /** Every source: it decides what happens inside of a sandbox or of a run, within the limits and budgets of the owner. */
  | { rule: 'anyone' }
  /** No requests: the key names files of this machine, or what counts as a test. */
  | { rule: 'local' }
  /** Only the user who runs halo. `action` completes "… may not". */
  | { rule: 'owner'; action: string }
  /** Only config.toml of HALO_HOME, outside of profiles. */
  | { rule: 'host-file' }
  /** The source of a provider key and its destination: as `owner`, but a repository may repeat the effective value. */
  | { rule: 'provider-key' }
  /**
   * A repository or a request may only make it stricter. `order`: the values from least to most strict, or which
   * amounts are stricter. `defaultCounts`: a repository may not be less strict than the default either; for a request
   * without the right to land, the default of every key with words counts. `local`: not settable by requests.
   */
  | {
      rule: 'tighten';
      order: readonly (string | boolean)[] | 'lower' | 'higher';
      defaultCounts?: true;
      local?: true;
    }
  /** The lower of the amounts of the owner and the repository; not settable by requests. */
  | { rule: 'budget' }
  /** Images of this machine: only those that the owner uses or lists in `sandbox.images`. */
  | { rule: 'image' }
  /**
   * Requests need the right that its effect needs. Without the right, they may only repeat the value in effect, or go in
   * the `direction`. `repository`: what the file of a repository says counts for such a request.
   */
  | { rule: 'right'; right: Right; direction: Direction; repository: boolean; publicHosts?: true; images?: true }
  /**
   * The lists are joined: first of the repository, then of requests, and last of the owner. Entries of requests cannot
   * begin with `!`.
   */
  | { rule: 'join' };

/** Where a request without the right may go. */
export type Direction =
  /** Nowhere. */
  | 'same'
  /** To these values. */
  | readonly string[]
  /** To some of the entries in effect. */
  | 'fewer'
  /** To the entries in effect, followed by others; without any, to at least one. */
  | 'append'
  /** Anywhere, as long as neither owner nor repository have gates that it could weaken. */
  | 'unproven';

export const ANYONE: KeyTrust = { rule: 'anyone' };
export const LOCAL: KeyTrust = { rule: 'local' };
export const HOST_FILE: KeyTrust = { rule: 'host-file' };
export const PROVIDER_KEY: KeyTrust = { rule: 'provider-key' };
export const BUDGET: KeyTrust = { rule: 'budget' };
export const JOIN: KeyTrust = { rule: 'join' };

/** `action` completes "the file of a repository may not …". */
export function owner(action: string): KeyTrust {
  return { rule: 'owner', action };
}

/** `order`: the values from least to most strict, or which amounts are stricter. */
export function tighten(order: readonly (string | boolean)[] | 'lower' | 'higher'): KeyTrust {
  return { rule: 'tighten', order };
}

/** Requests need the right to land; what the file of a repository says counts for all. */
export function landRight(direction: Direction): Extract<KeyTrust, { rule: 'right' }> {
  return { rule: 'right', right: 'land', direction, repository: true };
}

/** The same, but for requests without the right, the file of a repository does not count either. */
export function needsRight(right: Right, direction: Direction = 'same'): KeyTrust {
  return { rule: 'right', right, direction, repository: false };
}

/** As `landRight('unproven')`; the field `image` of each member is one of the owner's `sandbox.service_images`. */
export function serviceRight(): KeyTrust {
  return { ...landRight('unproven'), images: true };
}

export const OPENS_NETWORK = 'allow access to this network';
