import type { Env } from '../config/environment/host.ts';
import type { ConfigFile } from '../config/load/config-file.ts';
import type { GuessedSettings } from '../config/output/guess/guess.ts';
import type { PendingReports } from '../core/issues/issue-source.ts';
import type { RunState } from '../core/run/state.ts';
import type { TakingWorker } from '../queue/scheduler/scheduler.ts';

type ReadReports = (from: { home: string; env: Env }, state: RunState) => Promise<PendingReports | undefined>;

/** What forges do not show yet of a run; undefined if nothing waits. */
export const PENDING_REPORTS: readonly ReadReports[] = [
  async (from, state) => (await import('../features/issues/worker/issue-reporter.ts')).findPendingReports(from, state),
];

/** Reads a file of the repository by its path in it; undefined: there is none. Throws CONFIG_INVALID if it cannot be read. */
export type ReadPart = (path: string, maxBytes: number) => Promise<string | undefined>;

/** Replaces settings that name another file of the repository by what it says. Each throws CONFIG_INVALID. */
export const CONFIG_PARTS: readonly ((file: ConfigFile, read: ReadPart) => Promise<ConfigFile>)[] = [
  async (file, read) => (await import('../features/services/api/compose-services.ts')).takeComposeServices(file, read),
];

/** What `halo init` proposes for a repository in addition to setup and gates; `workflows`: their texts, by path. */
type GuessMore = (root: string, workflows: ReadonlyMap<string, string>) => Promise<GuessedSettings>;
export const GUESSES: readonly GuessMore[] = [
  async (root, workflows) =>
    (await import('../features/services/api/guess-repository.ts')).guessServicesOf(root, workflows),
];

/** Gauges of `/metrics`. What throws is left out. */
type ReadGauges = (home: string) => Promise<{ name: string; help: string; values: { labels: Record<string, string>; value: number }[] }[]>; // prettier-ignore
export const GAUGES: readonly ReadGauges[] = [
  async (home) => (await import('../features/engines/api/certificate-ends.ts')).readCertificateGauges(home),
];

/** What a server watches until the signal aborts; none rejects. `takingWorkers` throws REDIS_UNAVAILABLE. */
type Watch = (server: { home: string; takingWorkers: () => Promise<TakingWorker[]> }, signal: AbortSignal) => Promise<void>; // prettier-ignore
export const SERVER_WATCHES: readonly Watch[] = [
  async (server, signal) => (await import('../features/engines/api/watch-outages.ts')).watchOutages(server, signal),
];
