import { pino } from 'pino';
import type { JournalEntry } from '../../core/journal/events.ts';
import type { ControlResult } from '../../core/run/control-result.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { RunState } from '../../core/run/state.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { applyDefaults } from '../../config/apply-defaults.ts';
import { isSameUser } from '../../core/access/recorded-user.ts';
import { requireSamePlaces } from '../../git/repository/repository-places.ts';
import { isUrl } from '../../git/repository/repo-url.ts';
import { countNewerCommits } from '../../git/repository/unmerged-runs.ts';
import type { ControlRequest } from '../../worker/control/control-run.ts';
import { findChangedPrd } from '../../worker/control/replan-run.ts';
import type { RunKeeper } from '../../worker/worker-context.ts';
import type { NewSettings } from './schemas.ts';
import type { OperationContext } from './operation.ts';
import { rightsOfCaller } from './submit.ts';
import { isAbsolute } from 'node:path';
import { amendConfig, parseAmendedKeys, findKeysNeedingApproval } from '../../config/amend.ts';
import type { Host } from '../../config/config.ts';
import { assertRemoteOptions } from '../../config/trust/trust.ts';
import { mirrorPath } from '../../git/mirror/mirror.ts';
import type { JournalStore } from '../../store/journal-store.ts';
import { readConfig, readConfigAt } from '../repository/repo-config.ts';
import { defined } from '../../lib/guards.ts';

/** What the control functions of a worker need in this process. */
export function openKeeper({ host, store }: OperationContext): RunKeeper {
  return { home: host.home, store, log: pino({ level: 'silent' }) };
}

/** The result, with warnings of what its run does not see: a changed PRD, and newer commits on the branch it started from. */
export async function withWarnings({ store }: OperationContext, result: ControlResult): Promise<ControlResult> {
  const state = await store.readState(result.runId);
  const warnings = [...(await findChangedPrd({ store }, state)), ...(await findNewerCommits(state))];
  return warnings.length === 0 ? result : { ...result, warnings };
}

async function findNewerCommits({ runId, repo: { source, branch, base, places } }: RunState): Promise<string[]> {
  if (branch === undefined || isUrl(source)) return [];
  const isSame = await requireSamePlaces(source, places).then(
    () => true,
    () => false,
  );
  if (!isSame) return [];
  const newer = await countNewerCommits(source, { runId, branch, base });
  if (newer === 0) return [];
  const has = `has ${newer} newer ${newer === 1 ? 'commit' : 'commits'}, which it does not see`;
  return [
    `The run stays on ${base.slice(0, 7)}; ${safeLine(branch)} ${has}. Start a new run to use ${newer === 1 ? 'it' : 'them'}.`,
  ];
}

/** The request to control a run, with its changed settings. Throws RUN_NOT_FOUND, CONFIG_INVALID, USAGE. */
export async function openRequest(
  context: OperationContext,
  prefix: string,
  settings: NewSettings = {},
): Promise<ControlRequest & { also: JournalEntry[] }> {
  const { host, store, by, openQueue } = context;
  const runId = await store.find(prefix);
  const request = context.remote ? { request: rightsOfCaller(context) } : {};
  const also = await reconfigure({ host, store, by, runId }, { ...settings, ...request });
  return { runId, by, openQueue, also };
}

/** Throws LAND_REFUSED if `[approval] by = "others"` and the user has submitted the run, or changed its plan or settings. */
export async function assertMayApprove({ store, by }: OperationContext, runId: string): Promise<void> {
  const [{ user, replannedBy, reconfigured }, { config }] = await Promise.all([
    store.readState(runId),
    store.readRecord(runId),
  ]);
  if (applyDefaults(config).approval.by === 'anyone') return;
  const deeds: [string, (string | undefined)[]][] = [
    ['submitted run', [user]],
    ['changed the plan of run', replannedBy ?? []],
    ['changed settings of run', (reconfigured ?? []).map((change) => change.by)],
  ];
  const own = deeds.find(([, authors]) => authors.some((author) => isSameUser(author, by)));
  if (own === undefined) return;
  throw new HaloError(
    'LAND_REFUSED',
    `${by} has ${own[0]} ${runId}, and may not approve it (approval.by = "others").`,
    {
      hint: 'Ask another user with the right to approve.',
    },
  );
}

interface Reconfiguring {
  host: Host;
  store: JournalStore;
  runId: string;
  by: string;
}

/**
 * The journal entries for changed settings of a run, which follow the rules of a submit; none if there are no settings.
 * Throws CONFIG_INVALID, and USAGE if a setting needs a confirmation.
 */
async function reconfigure(
  { host, store, runId, by }: Reconfiguring,
  { set = [], yes = false, request }: NewSettings,
): Promise<JournalEntry[]> {
  if (set.length === 0) return [];
  if (request !== undefined) assertRemoteOptions(set);
  const keys = parseAmendedKeys(set);
  const proving = findKeysNeedingApproval(keys);
  if (proving.length > 0 && !yes)
    throw new HaloError('USAGE', `${proving.join(' and ')} decide what proves the stories of run ${runId}.`, {
      hint: 'Confirm the change with --yes.',
    });
  const [{ repo }, record] = await Promise.all([store.readState(runId), store.readRecord(runId)]);
  const isHere = isAbsolute(repo.source);
  const resolved = await readConfig({
    host,
    folder: isHere ? repo.source : host.home,
    profile: undefined,
    set,
    request,
    file: isHere ? undefined : await readConfigAt(mirrorPath(host.home, repo.mirror), repo.base, repo.source),
  });
  const change = amendConfig(applyDefaults(record.config), keys, resolved);
  const attempts = change.retry?.attempts;
  return [{ type: 'run.reconfigured', by, set, change: { ...change }, ...defined({ attempts }) }];
}
