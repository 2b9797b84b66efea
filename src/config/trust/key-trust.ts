/**
 * Who may set a key, and to which values. There are three kinds of sources: the user who runs halo (config.toml of
 * HALO_HOME, variables, `-c`), the file of a repository, which other people can change, and requests from another
 * machine. trust.ts applies these rules.
 */
export type KeyTrust =
  /** Every source. */
  | { rule: 'anyone' }
  /** No requests: the key names files of this machine. */
  | { rule: 'local' }
  /**
   * Only the user who runs halo. `action` completes "the file of a repository may not …"; values in `except` are
   * allowed.
   */
  | { rule: 'owner'; action: string; except?: readonly string[] }
  /** Only config.toml of HALO_HOME, outside of profiles. */
  | { rule: 'host-file' }
  /** The source of a provider key and its destination: as `owner`, but a repository may repeat the effective value. */
  | { rule: 'provider-key' }
  /**
   * A repository or a request may only make it stricter. `order`: the values from least to most strict, or which
   * amounts are stricter. `defaultCounts`: a repository may not be less strict than the default either. `local`: not
   * settable by requests.
   */
  | { rule: 'tighten'; order: readonly string[] | 'lower' | 'higher'; defaultCounts?: true; local?: true }
  /** The lower of the amounts of the owner and the repository; not settable by requests. */
  | { rule: 'budget' }
  /** Images of this machine: only those that the owner uses or lists in `sandbox.images`. */
  | { rule: 'image' }
  /** Hosts: only the owner may allow addresses that are not public. */
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

/** `order`: the values from least to most strict, or which amounts are stricter. */
export function tighten(order: readonly string[] | 'lower' | 'higher'): KeyTrust {
  return { rule: 'tighten', order };
}

export const OPENS_NETWORK = 'allow access to this network';
