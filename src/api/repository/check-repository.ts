import { posix } from 'node:path';
import { pino } from 'pino';
import type { Config, Host } from '../../config/config.ts';
import { hasOwnAdapter } from '../../core/agent.ts';
import type { GuessedSettings } from '../../config/output/guess/guess.ts';
import { processEnv } from '../../config/environment/host.ts';
import { parseCommands } from '../../core/command-needs.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { printableShellWord } from '../../core/text/safe-text.ts';
import { inspectRepo, listChanges } from '../../git/repository/inspect-repo.ts';
import { checkBase, type CheckedCommand, type CheckEvent } from '../../worker/proof/check-base.ts';
import { createIdleContext } from '../../worker/create-worker-context.ts';
import { findNeeds } from '../../config/output/guess/project-needs.ts';
import { readProgramVersions } from '../../sandbox/probe-agent.ts';
import { guessMore, readRootFiles, readWorkflows, warnOfImage } from './project-files.ts';
import { assertGates } from '../submit/resolve-submission.ts';
import { assertMachineReady } from '../submit/preflight.ts';
import { findConfigFile, readConfig } from './repo-config.ts';
import { warnOfContents, warnOfNetwork } from '../submit/warnings.ts';

export interface CheckQuery {
  /** Any folder of a checkout, absolute. */
  folder: string;
  profile: string | undefined;
  /** `key=value` */
  set: string[];
  signal: AbortSignal;
  /** Receives what is checked before anything runs, and then each event. */
  tell: (event: CheckBegun | CheckEvent) => Promise<void>;
}

export interface CheckBegun {
  type: 'begun';
  /** Top of the checkout. */
  repo: string;
  branch: string | undefined;
  commit: string;
  image: string;
  /** Problems of the commit or its settings, one sentence each. */
  warnings: string[];
}

export type { CheckedCommand, CheckEvent };

/**
 * Runs setup and gates on the checked-out commit as for a story, but without a PRD, an agent, a key or a run. Throws
 * NOT_A_GIT_REPO, NO_COMMITS, DIRTY_WORKTREE, CONFIG_INVALID, NO_GATES, IMAGE_MISSING, RUN_ABORTED.
 */
export async function checkRepository(host: Host, query: CheckQuery): Promise<CheckedCommand[]> {
  const { folder, profile, set, signal, tell } = query;
  const facts = await inspectRepo(folder);
  const { root, gitDir, branch, head } = facts;
  const { config, origins } = await readConfig({ host, folder: root, profile, set });
  const file = await findConfigFile(facts);
  assertGates(config, root, file?.path);
  await assertScriptTracked(config, root);
  const cleaning = new Set<Promise<void>>();
  const worker = createIdleContext({ host, log: pino({ level: 'silent' }), cleaning });
  // Requirements of the agent are not checked.
  const agentless = {
    ...config,
    agent: 'command' as const,
    otherAgents: {},
    route: [],
    fallback: [],
    review: { ...config.review, reviewers: [] },
    agentCommand: 'true',
    model: { ...config.model, api: undefined },
  };
  try {
    await assertMachineReady(worker.engine, processEnv(), agentless);
    const needs = findNeeds(await readRootFiles(root), await readWorkflows(root));
    const warnings = [
      ...warnOfNetwork(config),
      ...(file?.notes ?? []),
      ...warnOfGuessed(await guessMore(root), Object.keys(origins)),
      ...(await warnOfImage(config, needs, (image, programs) => readProgramVersions(worker.engine, image, programs))),
      ...(await warnOfContents({ gitDir, commit: head })),
    ];
    await tell({ type: 'begun', repo: root, branch, commit: head, image: config.image, warnings });
    return await checkBase(worker, { gitDir, commit: head, config: agentless, signal, onEvent: tell });
  } finally {
    await Promise.allSettled(cleaning);
  }
}

/** Names what `halo init` would propose, if the configuration, with these keys, has nothing of the kind. */
function warnOfGuessed({ settings }: GuessedSettings, keys: readonly string[]): string[] {
  return settings.flatMap(({ name, why, isHint }) => {
    const [top = ''] = name.split('.');
    const isSet = keys.some((key) => key.startsWith(`${top}.`));
    return isHint === true || isSet ? [] : [`${why}, and no ${top} are configured (docs/${top}.md).`];
  });
}

/** Throws DIRTY_WORKTREE if git does not track a file that the command line of the agent names: a run would lack it. */
async function assertScriptTracked({ agent, agentCommand = '' }: Config, root: string): Promise<void> {
  if (hasOwnAdapter(agent) && agent !== 'command') return;
  const { untracked } = await listChanges(root);
  const words = parseCommands(agentCommand)
    .flat()
    .map((word) => posix.normalize(word));
  // An untracked folder ends with a slash.
  const isUntracked = (word: string) =>
    untracked.some((path) => word === path || (path.endsWith('/') && word.startsWith(path)));
  const script = words.find(isUntracked);
  if (script === undefined) return;
  const setting = `agents.${agent}.${agent === 'command' ? 'run' : 'acp'}`;
  throw new HaloError('DIRTY_WORKTREE', `${script}, which ${setting} names, is not in the commit.`, {
    hint: `Add it with \`git add ${printableShellWord(script)}\`, and commit it.`,
  });
}
