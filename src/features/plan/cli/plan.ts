import { relative, resolve } from 'node:path';
import { Option } from 'commander';
import type { PlanSession, ProposedPlan } from '../api/open-plan.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { exitCodeOf } from '../../../core/failure/stop-reason.ts';
import { safeLine, safeText } from '../../../core/text/safe-text.ts';
import { pathExists } from '../../../lib/fs.ts';
import { listSome } from '../../../lib/text.ts';
import type { Cli, Define } from '../../../cli/cli.ts';
import { showDiff } from '../../../cli/diff/diff-text.ts';
import { readDocument } from '../../../cli/options/read-prd.ts';
import { resolveRepository } from '../../../cli/options/resolve-run.ts';
import {
  addSettingOptions,
  collect,
  PROMPT_FILE,
  settingsOf,
  type SettingFlags,
} from '../../../cli/options/run-options.ts';
import { runHere, type Followed } from '../../../cli/run/local-run.ts';
import { askPerson } from '../../../cli/run/run-until-signal.ts';

interface Flags extends SettingFlags {
  from?: string[];
  prd?: string;
  output?: string;
  format?: 'json' | 'markdown';
  repo: string;
  model?: string;
  yes?: true;
  json?: true;
}

export const define: Define = (command, cli) => {
  addSettingOptions(
    command
      .description(
        'Lets an agent read the repository, in a read-only sandbox, and plan work as a PRD or IMPLEMENTATION_PLAN.md. Shows the plan as a diff and writes it when you confirm. An existing plan is updated: its done stories stay as they are.',
      )
      .argument('[goal]', 'what to plan, in one sentence (default: what the documents ask for)')
      .option(
        '--from <file>',
        'a specification or other document to plan from, at most 512 KiB, together 1 MiB; - is stdin (repeatable)',
        collect,
      )
      .option(
        '--prd <file>',
        'the plan to create or update (default: .hank/IMPLEMENTATION_PLAN.md, prd.json or IMPLEMENTATION_PLAN.md)',
      )
      .option('--output <file>', 'write the plan to this new file, without asking; the existing plan stays as it is')
      .addOption(
        new Option(
          '--format <format>',
          'the format of a new plan: json (dialect ralph) or markdown (markdown-numbered); default: by the name of the file',
        ).choices(['json', 'markdown']),
      )
      .option('--repo <path>', 'the repository', '.')
      .option('--model <name>', 'the model, as -c model.name'),
  )
    .option(...PROMPT_FILE)
    .option('-y, --yes', 'write without asking; without a terminal, this or --output is required')
    .option(
      '--json',
      'print as JSON: written, path, ids added, changed, removed, kept and ignored, summary, usage; needs --yes or --output',
    )
    .addHelpText('after', HELP)
    .action((goal: string | undefined, flags: Flags) => plan(goal ?? '', flags, cli));
};

const HELP = `
Examples:
  halo plan 'a cart with a total'
  halo plan --from docs/spec.md --from notes.md --format markdown
  halo plan --prd prd.json --yes
  halo plan --prompt prompts/plan.md
  halo plan --from spec.md --output plan.json --json | jq .added

The agent reads the checked-out commit; uncommitted changes are not part of it.

Exit codes:
  0 written, or nothing to change    2 wrong usage    4 not confirmed
  6 no document, or the agent gave no valid plan      130 stopped  others as for halo run

See also: halo import, halo prd validate, halo run`;

async function plan(goal: string, flags: Flags, cli: Cli): Promise<void> {
  const writes = flags.yes === true || flags.output !== undefined;
  if (!writes && (cli.ask === undefined || flags.json))
    throw new HaloError('USAGE', 'Confirming the plan needs a terminal.', {
      hint: 'Run `halo plan` in a terminal, or add --yes, or name a new file with --output.',
    });
  const repo = flags.repo === '.' ? await resolveRepository(cli.cwd) : resolve(cli.cwd, flags.repo);
  const documents = [];
  for (const file of flags.from ?? []) documents.push(await readDocument(file, cli));
  const prd = resolve(cli.cwd, flags.prd ?? (await usualPlan(repo, flags)));
  const { openPlan } = await import('../api/open-plan.ts');
  const session = await openPlan({
    repo,
    goal,
    documents,
    prd,
    output: flags.output === undefined ? undefined : resolve(cli.cwd, flags.output),
    format: flags.format ?? (/\.(md|markdown)$/i.test(flags.output ?? prd) ? 'markdown' : 'json'),
    profile: flags.profile,
    set: [...settingsOf(flags), ...(flags.model === undefined ? [] : [`model.name=${flags.model}`])],
  });
  const finish = (followed: Followed) => savePlan(followed, { session, flags, cli });
  const quiet = flags.json === true;
  if (session.prompt !== undefined) await cli.note(`The prompt begins with ${session.prompt}.`);
  await runHere(session.request, { cli, json: false, asks: false, local: true, report: 'none', quiet, finish });
}

/** Where plans usually are, the most specific place first. */
const PLACES = { markdown: ['.hank/IMPLEMENTATION_PLAN.md', 'IMPLEMENTATION_PLAN.md'], json: ['prd.json'] };

/** The plan that exists in a usual place, or the path of a new one. */
async function usualPlan(repo: string, { format }: Flags): Promise<string> {
  const [hank = '', markdown = ''] = PLACES.markdown;
  const places = format === undefined ? [hank, ...PLACES.json, markdown] : PLACES[format];
  for (const place of places) if (await pathExists(resolve(repo, place))) return resolve(repo, place);
  if (format !== 'json' && (await pathExists(resolve(repo, '.hank')))) return resolve(repo, hank);
  return resolve(repo, format === 'markdown' ? markdown : 'prd.json');
}

interface PlanResult {
  session: PlanSession;
  flags: Flags;
  cli: Cli;
}

/** Shows the plan and writes it, if the user confirms. Throws PRD_INVALID if the agent gave no valid plan. */
async function savePlan({ operations, runId, end }: Followed, { session, flags, cli }: PlanResult): Promise<void> {
  const { state, dir } = await operations.getRun({ runId });
  const [story] = state.stories;
  if (end !== 'SUCCESS' || story === undefined) {
    cli.exitCode = exitCodeOf(end ?? 'USER_ABORT');
    return cli.note(`${cli.paintErr('bad', 'FAILED')}  no plan was written: ${safeLine(state.detail ?? '')}`, dir);
  }
  const result = await operations.readArtifact({
    runId,
    path: `${story.key}/${story.attempts}/result.json`,
    whole: false,
  });
  const proposed = await session.read(result).catch(async (error: unknown) => {
    await cli.note(`${cli.paintErr('bad', 'FAILED')}  the agent gave no valid plan; nothing was written`, dir);
    throw error;
  });
  if (!flags.json) {
    await showDiff(proposed.patch, cli);
    await cli.note(safeText(story.summary ?? '').trim(), describePlan(proposed));
  }
  const isChanged = proposed.patch.length > 0;
  const answer = isChanged ? await confirm(session.path, flags, cli) : 'unchanged';
  if (answer === 'yes') await session.save(proposed.text);
  else if (isChanged) cli.exitCode = exitCodeOf(answer === undefined ? 'USER_ABORT' : 'APPROVAL_DENIED');
  if (flags.json) {
    const { added, changed, removed, kept, ignored } = proposed;
    const facts = { added, changed, removed, kept, ignored, summary: story.summary ?? '', usage: state.usage };
    return cli.printJson({ runId, path: session.path, written: answer === 'yes', ...facts });
  }
  if (!isChanged) return cli.note(`${session.path} is unchanged.`);
  if (answer !== 'yes') return cli.note('Nothing was written.');
  await cli.note(`Wrote ${session.path}. Next: halo run ${relative(cli.cwd, session.path)} --dry-run`);
}

const MAX_NAMED = 10;

function describePlan({ added, changed, removed, kept, ignored }: ProposedPlan): string {
  const parts = [
    ['added', added],
    ['changed', changed],
    ['removed', removed],
    ['kept', kept],
    ['ignored, because they are done or excluded', ignored],
  ] as const;
  const texts = parts.flatMap(([word, ids]) =>
    ids.length === 0 ? [] : [`${ids.length} ${word}: ${safeLine(listSome(ids, MAX_NAMED))}`],
  );
  return texts.join('; ');
}

async function confirm(path: string, flags: Flags, cli: Cli): Promise<'yes' | 'no' | undefined> {
  if (flags.yes === true || flags.output !== undefined) return 'yes';
  const answer = await askPerson(`Write ${safeLine(path)}? [y]es, anything else: no  `, cli);
  if (answer === undefined) return undefined;
  return answer === 'y' || answer === 'yes' ? 'yes' : 'no';
}
