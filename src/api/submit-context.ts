import type { Config, Host } from '../config/config.ts';
import type { Env } from '../config/environment/host.ts';
import type { Masker } from '../lib/secrets/masker.ts';
import type { StoryQueue } from '../queue/queue.ts';
import type { Store } from '../store/store.ts';

/** What submitting takes besides the request. */
export interface SubmitContext {
  host: Host;
  env: Env;
  store: Store;
  /** Learns what is secret in the addresses of repositories. */
  masker: Masker;
  args: readonly string[];
  /** Who submits, unless the request says so. */
  user: string;
  preflight: ((config: Config) => Promise<void>) | undefined;
  openQueue(): Promise<StoryQueue>;
  /** The worker that shall have these runs for itself, if any; asked only when they are about to be made. */
  ownerId(): Promise<string | undefined>;
}
