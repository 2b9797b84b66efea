import { pino } from 'pino';
import type { Host } from '../../config/config.ts';
import { processEnv } from '../../config/environment/host.ts';
import { findRepoConfig } from '../../config/load/config-file.ts';
import { inspectRepo } from '../../git/repository/inspect-repo.ts';
import { checkBase, type CheckedCommand, type CheckEvent } from '../../worker/check-base.ts';
import { openIdle } from '../../worker/create-worker-context.ts';
import { requireGates } from '../submit/plan-run.ts';
import { checkMachine } from '../preflight.ts';
import { readConfig } from './repo-config.ts';
import { warnOfContents, warnOfNetwork } from '../submit/base-warnings.ts';

export interface CheckQuery {
  /** Any folder of a checkout, absolute. */
  folder: string;
  profile: string | undefined;
  /** `key=value` */
  set: string[];
  signal: AbortSignal;
  /** Told what is checked, before anything runs, and then what happens. */
  tell: (event: CheckBegun | CheckEvent) => Promise<void>;
}

export interface CheckBegun {
  type: 'begun';
  /** Top of the checkout. */
  repo: string;
  branch: string | undefined;
  commit: string;
  image: string;
  /** What of the commit or its settings stands in the way, a sentence each. */
  warnings: string[];
}

export type { CheckedCommand, CheckEvent };

/**
 * Runs setup and gates on the commit that is checked out, as those of a story are run, but without a PRD, an agent, a
 * key or a run. Throws NOT_A_GIT_REPO, NO_COMMITS, CONFIG_INVALID, NO_GATES, IMAGE_MISSING, RUN_ABORTED.
 */
export async function checkRepository(host: Host, query: CheckQuery): Promise<CheckedCommand[]> {
  const { folder, profile, set, signal, tell } = query;
  const { root, gitDir, branch, head } = await inspectRepo(folder);
  const { config } = await readConfig({ host, folder: root, profile, set });
  requireGates(config, root, (await findRepoConfig(root))?.path);
  const cleaning = new Set<Promise<void>>();
  const worker = openIdle({ host, log: pino({ level: 'silent' }), cleaning });
  // Whatever the agent needs is not looked for.
  const agentless = {
    ...config,
    agent: 'command' as const,
    agentCommand: 'true',
    model: { ...config.model, api: undefined },
  };
  try {
    await checkMachine(worker.engine, processEnv(), agentless);
    const warnings = [...warnOfNetwork(config), ...(await warnOfContents({ gitDir, commit: head }))];
    await tell({ type: 'begun', repo: root, branch, commit: head, image: config.image, warnings });
    return await checkBase(worker, { gitDir, commit: head, config: agentless, signal, tell });
  } finally {
    await Promise.allSettled(cleaning);
  }
}
