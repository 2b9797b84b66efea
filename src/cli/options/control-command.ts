import type { Command } from 'commander';
import type { Operations } from '../../api/operations.ts';
import type { RunView } from '../../api/operations/runs.ts';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import { HaloError, toHaloError } from '../../core/failure/errors.ts';
import type { ControlResult } from '../../core/run/control-result.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { defined } from '../../lib/guards.ts';
import { capitalize } from '../../lib/text.ts';
import type { Cli, Define } from '../cli.ts';
import { noteMissingWorker } from '../output/run-table.ts';
import { askPerson } from '../run/run-until-signal.ts';
import { filterRuns } from './filter-runs.ts';
import { RUN_ARGUMENT } from './resolve-run.ts';
import { runWords, storyCount } from '../../view/run-words.ts';
import { canContinue, missingWorker } from '../../view/waiting.ts';

type RunControl = (operations: Operations, runId: string, story: string | undefined) => Promise<ControlResult>;

interface ControlCommand<F> {
  description: string;
  help: string;
  /** The message after a change. */
  word: string;
  /** Adds the options of this command. */
  options?: (command: Command) => Command;
  /** Lets `--all` do the same to several runs. */
  all?: All<F>;
  /** Reads these options before anything is done. */
  prepare: (flags: F, cli: Cli) => Promise<RunControl> | RunControl;
}

interface All<F> {
  verb: string;
  /** The runs that `--all` selects, for the help. */
  what?: string;
  /** False if `--yes` is an option of the command. */
  confirms?: false;
  /** Throws USAGE if `--all` needs another option. */
  select: (flags: F & AllFlags) => Selectable & { state?: string };
}

interface Flags extends AllFlags {
  story?: string;
}

/** A command that controls a run, or one story of it. */
export function controlCommand<F extends object = object>(definition: ControlCommand<F>): Define {
  const { description, help, word, options, all, prepare } = definition;
  return (command, cli) => {
    command
      .description(description)
      .argument(...RUN_ARGUMENT)
      .option('--story <id>', 'only this story');
    options?.(command);
    if (all !== undefined) addAllOptions(command, all.what);
    if (all !== undefined && all.confirms !== false) addConfirmation(command);
    command
      .option(
        '--json',
        'print as JSON: {runId, changed, stories, says}; with --all a list, in which a refused run has error',
      )
      .addHelpText('after', help)
      .action(async (runId: string | undefined, flags: Flags & F) => {
        const control = await prepare(flags, cli);
        if (all !== undefined) {
          assertAll(flags, { 'a run': runId, '--story': flags.story }, all.confirms !== false);
          const each = (operations: Operations, id: string) => control(operations, id, undefined);
          if (flags.all) return controlAll(flags, { ...all.select(flags), verb: all.verb, word, control: each }, cli);
        }
        const result = await cli.withRun(runId, (operations, id) => control(operations, id, flags.story));
        await printControlResult(result, { word, json: flags.json === true, cli });
      });
  };
}

/** The options of commands that can control several runs. */
export interface AllFlags {
  all?: true;
  repo?: string;
  user?: string;
  allUsers?: true;
  state?: string;
  since?: string;
  yes?: true;
  json?: true;
}

/** Which runs `--all` can select. */
export interface Selectable {
  /** Runs that have ended; by default those that have not. */
  ended?: true;
  affects: (run: ListedRun) => boolean;
}

interface ControlAll extends Selectable {
  /** What is done, as in "cancel 2 runs?", and the message after a change. */
  verb: string;
  word: string;
  /** The state of the affected runs, as `halo ls --state` takes it. */
  state?: string;
  control: (operations: Operations, runId: string) => Promise<ControlResult>;
}

/** `which`: the runs of the user that `--all` selects. The command adds `--yes` itself. */
export function addAllOptions(command: Command, which = 'runs that have not ended'): Command {
  return command
    .option('--all', `all of your ${which}`)
    .option('--repo <path>', 'with --all: only runs of this repository: its path, URL or directory name')
    .option('--user <name>', 'with --all: the runs of this user instead of yours')
    .option('--all-users', 'with --all: the runs of all users');
}

export function addConfirmation(command: Command): Command {
  return command.option('-y, --yes', 'with --all: do not ask; necessary without a terminal');
}

/**
 * Throws USAGE for options that exclude each other. `single`: what selects one run or story, by its name in messages;
 * `confirms`: `--yes` has no other use in this command.
 */
export function assertAll(flags: AllFlags, single: Record<string, unknown>, confirms = true): void {
  const [name] = Object.entries(single).find(([, value]) => value !== undefined) ?? [];
  if (flags.all && name !== undefined)
    throw new HaloError('USAGE', `--all cannot be combined with ${name}.`, { hint: `Remove --all or ${name}.` });
  if (flags.user !== undefined && flags.allUsers)
    throw new HaloError('USAGE', '--user cannot be combined with --all-users.', { hint: 'Remove one of them.' });
  const of = {
    '--repo': flags.repo,
    '--user': flags.user,
    '--all-users': flags.allUsers,
    '--state': flags.state,
    '--since': flags.since,
    '--yes': confirms ? flags.yes : undefined,
  };
  const [extra] = Object.entries(of).find(([, value]) => value !== undefined) ?? [];
  if (!flags.all && extra !== undefined)
    throw new HaloError('USAGE', `${extra} is only for several runs.`, { hint: `Add --all, or remove ${extra}.` });
}

/**
 * Controls every matching run, after a confirmation. A run that cannot be controlled is reported, and the others are
 * still controlled. Throws USAGE without a confirmation.
 */
export async function controlAll(flags: AllFlags, { verb, word, control, ...which }: ControlAll, cli: Cli) {
  await cli.withOperations(async (operations) => {
    const { repo, user, allUsers } = flags;
    const mine = user === undefined && !allUsers;
    const filter = { ...(repo !== undefined && { repo }), ...(user !== undefined && { user }), ...(mine && { mine }) };
    const affected = await affectedRuns(operations, which);
    const chosen = await filterRuns(affected, filter, cli);
    const others = affected.length - chosen.length;
    if (chosen.length === 0) {
      const hint =
        others === 0 ? '' : ` ${counted(others)} of other users or repositories: see \`halo ls\`, --all-users.`;
      await cli.note(`There is no run to ${verb}.${hint}`);
      return flags.json ? cli.printJson([]) : undefined;
    }
    if (!flags.yes) await confirm(chosen, verb, cli);
    const results: (ControlResult | Refused)[] = [];
    for (const { runId } of chosen) results.push(await control(operations, runId).catch(refusedOf(runId)));
    for (const result of results) if (isRefused(result)) cli.exitCode ||= toExitCode(result);
    if (flags.json) return cli.printJson(results.map(toJson));
    for (const result of results) {
      if (isRefused(result)) {
        await cli.note(`${cli.paintErr('warn', '!')} ${result.runId}: ${safeLine(result.error.message, 500)}`);
      } else {
        const what = result.changed ? cli.paint('good', word) : cli.paint('quiet', 'as before');
        await cli.print(`${what}  ${result.runId}  ${safeLine(result.says, 500)}`);
        const { warnings = [] } = result;
        await cli.note(
          ...warnings.map((text) => `${cli.paintErr('warn', 'warning:')} ${result.runId}: ${safeLine(text, 500)}`),
        );
      }
    }
    await noteMissingWorker(
      chosen.map(({ runId }) => runId),
      cli,
    );
  });
}

/** The runs of all users that the command could change. */
async function affectedRuns(
  operations: Operations,
  { ended, affects, state }: Pick<ControlAll, 'ended' | 'affects' | 'state'>,
): Promise<ListedRun[]> {
  const { runs } = await operations.listRuns({ ...(ended ? { open: 0 } : { ended: 0 }), ...defined({ state }) });
  return runs.filter((run) => (run.status === 'ended') === (ended === true) && affects(run));
}

interface Refused {
  runId: string;
  error: HaloError;
}

function refusedOf(runId: string): (error: unknown) => Refused {
  return (error) => ({ runId, error: toHaloError(error) });
}

function isRefused(result: ControlResult | Refused): result is Refused {
  return 'error' in result;
}

function toExitCode({ error }: Refused): number {
  return error.exitCode;
}

function toJson(result: ControlResult | Refused): unknown {
  if (!isRefused(result)) return result;
  const { code, message, hint } = result.error;
  return { runId: result.runId, error: { code, message, ...(hint !== undefined && { hint }) } };
}

async function confirm(runs: readonly ListedRun[], verb: string, cli: Cli): Promise<void> {
  if (cli.ask !== undefined) {
    for (const run of runs.slice(0, MAX_SHOWN)) {
      const { runId, repo, user = '-' } = run;
      await cli.note(
        `  ${runId}  ${runWords(run).text}  ${storyCount(run)}  ${safeLine(user)}  ${safeLine(repo.source)}`,
      );
    }
    if (runs.length > MAX_SHOWN) await cli.note(`  and ${runs.length - MAX_SHOWN} more`);
    const answer = await askPerson(`${capitalize(verb)} ${counted(runs.length)}? [y]es, anything else: no  `, cli);
    if (answer === 'y' || answer === 'yes') return;
  }
  throw new HaloError('USAGE', `Nothing was changed: to ${verb} ${counted(runs.length)} needs confirmation.`, {
    hint: 'Confirm it with --yes.',
  });
}

const MAX_SHOWN = 20;

function counted(count: number): string {
  return count === 1 ? '1 run' : `${count} runs`;
}

const LENGTH = 500;

/** Prints the result of a control command (`word`, or `as before`), and a note when no worker is running. */
export async function printControlResult(
  result: ControlResult,
  { word, json, cli }: { word: string; json: boolean; cli: Cli },
) {
  if (json) return cli.printJson(result);
  const { runId, changed, says, warnings = [] } = result;
  const what = changed ? cli.paint('good', word) : cli.paint('quiet', 'as before');
  await cli.print(`${what}  ${runId}  ${safeLine(says, LENGTH)}`);
  await cli.note(...warnings.map((text) => `${cli.paintErr('warn', 'warning:')} ${safeLine(text, LENGTH)}`));
  await noteIfNoWorker(await cli.withOperations((operations) => operations.getRun({ runId })), cli);
}

/** Prints a note if the run could continue but no worker is running. */
export async function noteIfNoWorker(
  { state, ...takers }: Pick<RunView, 'state' | 'workers' | 'draining' | 'away' | 'engines'>,
  cli: Cli,
): Promise<void> {
  const missing = canContinue(state) ? missingWorker({ state, ...takers }) : undefined;
  if (missing === undefined) return;
  const isHere = (await cli.services.readHost()).apiUrl === undefined;
  const alone = isHere ? `, or continue here: \`halo run --resume ${state.runId}\`` : '';
  await cli.note(cli.paintErr('warn', `${missing}${alone}`));
}
