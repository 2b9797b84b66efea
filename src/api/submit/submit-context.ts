import type { Config, Host } from '../../config/config.ts';
import type { User } from '../../core/access/access.ts';
import type { Env } from '../../config/environment/host.ts';
import type { Masker } from '../../lib/secrets/masker.ts';
import type { StoryQueue } from '../../queue/queue.ts';
import type { UserTurns } from '../access/user-turns.ts';
import type { Store } from '../../store/store.ts';

/** What a submit needs in addition to the request. */
export interface SubmitContext {
  host: Host;
  env: Env;
  store: Store;
  /** Learns the secrets in the addresses of repositories. */
  masker: Masker;
  args: readonly string[];
  /** The user who submits, unless the request names another. */
  user: string;
  /** Throws ACCESS_DENIED if the user may not use a repository, by its path or address; absent: all. */
  assertMayUse?: ((source: string) => void) | undefined;
  /** Of a request over the network: whose turn it is to have a PRD read. Absent: of a user of this machine. */
  remote?: boolean;
  caller?: User | undefined;
  prdTurns?: UserTurns;
  preflight: ((config: Config) => Promise<void>) | undefined;
  openQueue: () => Promise<StoryQueue>;
  /** The worker of this process that owns submitted runs, if any; called only before runs are created. */
  ownerId: () => Promise<string | undefined>;
}
