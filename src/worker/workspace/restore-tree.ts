import { readFile } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import { z } from 'zod';
import { isDiskFullMessage, HaloError } from '../../core/failure/errors.ts';
import type { Restored } from '../../core/review/restored-paths.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { tryParseJson } from '../../lib/parse-json.ts';
import { shellQuote } from '../../lib/text.ts';
import { DOCKER_DIR } from '../../sandbox/docker/image/image-recipe.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { SandboxContext } from '../attempt/open-attempt.ts';
import { repositoryScript, type Checkout } from './checkout-script.ts';
import { openCommitSource } from './commit-source.ts';
import { startHelper } from './helper-sandbox.ts';
import { WORKSPACE } from './sandbox-paths.ts';

const PROGRAM = 'restore-tree.mjs';
/** The program and its imports. */
const PROGRAM_FILES = [PROGRAM, 'restore-files.mjs'];
const REPOSITORY = '/tmp/tree';

const MAX_SECONDS = 600;

/** A sandbox that restores a workspace to exactly its commit. */
export interface Restorer {
  /** Returns what had changed; undefined if nothing had. */
  restore(): Promise<Restored | undefined>;
  /** Removes the sandbox. */
  remove(): Promise<void>;
}

/**
 * Starts a sandbox of halo's image for a workspace, with a repository that no command of the workspace can reach. Its
 * program undoes what commands changed; call it while no command runs. Throws POLICY_VIOLATION if the content of the
 * workspace prevents that, DISK_FAILED or DOCKER_FAILED if the machine is too full or too slow.
 */
export function openRestorer(context: SandboxContext, volume: string, checkout: Checkout): Restorer {
  const starting = startRestorer(context, volume, checkout);
  starting.catch(() => {}); // observed by the restorer; this avoids an unhandled rejection
  const reports = context.config.tests.reports.map((path) => normalize(path));
  const words = [WORKSPACE, `${REPOSITORY}/.git`, checkout.commit, ...reports].map(shellQuote).join(' ');
  const failed = JSON.stringify({ fault: `it took more than ${MAX_SECONDS} seconds or too much memory` });
  const script = `timeout ${MAX_SECONDS} node /tmp/${PROGRAM} ${words} || echo ${shellQuote(failed)}`;
  return {
    restore: async () => {
      const sandbox = await starting;
      // `prepare` takes no signal.
      const stop = () => void sandbox.remove().catch(() => {});
      context.signal.addEventListener('abort', stop, { once: true });
      try {
        return parseRestored(await sandbox.prepare(script));
      } finally {
        context.signal.removeEventListener('abort', stop);
      }
    },
    remove: async () => (await starting).remove(),
  };
}

async function startRestorer(context: SandboxContext, volume: string, checkout: Checkout): Promise<Sandbox> {
  const [sandbox, ...programs] = await Promise.all([
    startHelper(context, { phase: 'restore', volume, readOnly: false, repositories: true, workdir: '/tmp' }),
    ...PROGRAM_FILES.map((name) => readFile(join(DOCKER_DIR, name), 'utf8')),
  ]);
  const source = await openCommitSource(context, checkout);
  const script = [
    ...programs.map((text, index) => `printf %s ${shellQuote(text)} > /tmp/${PROGRAM_FILES[index]}`),
    repositoryScript(REPOSITORY, checkout.commit, source),
  ];
  await sandbox.prepare(script.join('\n'), source.stdin);
  return sandbox;
}

const Answer = z.union([
  z.object({ error: z.string() }),
  z.object({ fault: z.string() }),
  z.object({ changed: z.array(z.string()), removed: z.array(z.string()), more: z.number() }),
]);

/** Parses the last line of the program's output. Throws like a `Restorer`. */
export function parseRestored(text: string): Restored | undefined {
  const { data } = Answer.safeParse(tryParseJson(text.trim().split('\n').at(-1) ?? ''));
  const answer = data ?? { fault: 'it printed no answer' };
  if ('fault' in answer) {
    const why = safeLine(answer.fault);
    const code = isDiskFullMessage(why) ? 'DISK_FAILED' : 'DOCKER_FAILED';
    throw new HaloError(code, `The workspace could not be restored to its commit before a gate: ${why}.`, {
      hint: 'Check whether the engine’s disk is full or its machine is overloaded. [limits] memory applies to this step, too.',
    });
  }
  if ('error' in answer) {
    const why = safeLine(answer.error);
    throw new HaloError('POLICY_VIOLATION', `The workspace cannot be restored to its commit before a gate: ${why}.`, {
      hint: 'Read the logs of setup and the earlier gates, which left it in this state.',
    });
  }
  const { changed, removed, more } = answer;
  return changed.length + removed.length + more === 0 ? undefined : answer;
}
