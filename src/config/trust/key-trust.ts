/**
 * Who may set a key, and to which values. There are three kinds of sources: the person who runs halo (config.toml of
 * HALO_HOME, variables, `-c`), the file of a repository, which others write, and requests from another machine.
 * trust.ts applies these rules.
 */
export type KeyTrust =
  /** Every source. */
  | { rule: 'anyone' }
  /** Not requests: the key names files of this machine. */
  | { rule: 'local' }
  /** Only the person who runs halo. `action` completes "the file of a repository may not …"; values in `except` are free. */
  | { rule: 'owner'; action: string; except?: readonly string[] }
  /** Only config.toml of HALO_HOME, outside of profiles. */
  | { rule: 'host-file' }
  /** Where a provider key comes from and goes to: as `owner`, but a repository may repeat the effective value. */
  | { rule: 'provider-key' }
  /**
   * A repository or a request may only make it stricter. `order`: the values from least to most strict, or which amounts
   * are stricter. `defaultCounts`: a repository may not be less strict than the default either. `local`: not by requests.
   */
  | { rule: 'tighten'; order: readonly string[] | 'lower' | 'higher'; defaultCounts?: true; local?: true }
  /** The lower of the owner's and the repository's amount; not by requests. */
  | { rule: 'budget' }
  /** Images of this machine: only those that the owner uses or lists in `sandbox.images`. */
  | { rule: 'image' }
  /** Hosts: addresses that are not public only by the owner. */
  | { rule: 'public-hosts' }
  /** The lists of the owner and of the repository are joined. */
  | { rule: 'join' };

export const ANYONE: KeyTrust = { rule: 'anyone' };
export const LOCAL: KeyTrust = { rule: 'local' };
export const HOST_FILE: KeyTrust = { rule: 'host-file' };
export const PROVIDER_KEY: KeyTrust = { rule: 'provider-key' };
export const BUDGET: KeyTrust = { rule: 'budget' };

/** `action` completes "the file of a repository may not …". */
export function owner(action: string, except: readonly string[] = []): KeyTrust {
  return { rule: 'owner', action, except };
}

/** The values from least to most strict, or which amounts are stricter. */
export function tighten(order: readonly string[] | 'lower' | 'higher'): KeyTrust {
  return { rule: 'tighten', order };
}

export const OPENS_NETWORK = 'open a way to this network';
