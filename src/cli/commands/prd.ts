import { HaloError } from '../../core/failure/errors.ts';
import type { ExplainedLine } from '../../prd/explain-prd.ts';
import type { Dialect } from '../../prd/dialect.ts';
import type { Prd, PrdFile, Story } from '../../core/prd/prd.ts';
import { choiceFieldsOf } from '../../core/prd/choice-fields.ts';
import { storyText } from '../../core/prd/story-text.ts';
import { isTestsFirstKey, resolveTestsFirst } from '../../core/prd/tests-first-field.ts';
import { sortStories } from '../../core/run/story-order.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Tone } from '../../core/transcript/transcript-line.ts';
import type { Cli, Define } from '../cli.ts';
import { listPrdNames, readPrd, requireNamedPrd, resolveUsualPrd } from '../options/read-prd.ts';
import { defineEdit } from '../prds/edit-prd.ts';
import { defineList, defineStatus } from '../prds/prd-progress.ts';
import { defineNew } from '../prds/new-prd.ts';
import { defined } from '../../lib/guards.ts';
import { wrapWords } from '../../lib/string-width.ts';
import { estimateLine, findEstimate } from '../prds/estimate-line.ts';
import { collect } from '../options/run-options.ts';
import type { ChosenSource } from '../options/story-source.ts';
import { addSourceOptions, chooseSource } from '../options/story-sources.ts';
import { table, terminalColumns } from '../output/table.ts';

export const define: Define = (command, cli) => {
  command.description('Manages named PRDs and reads PRD files of all dialects.').addHelpText('after', HELP);
  defineNew(command.command('new'), cli);
  defineList(command.command('list'), cli);
  defineEdit(command.command('edit'), cli);
  defineStatus(command.command('status'), cli);
  const validating = command
    .command('validate')
    .summary('show how a PRD is read, or its errors')
    .description(
      'Shows the dialect of a PRD, its stories in the order in which they run, the other text that agents receive (fields of stories, context), and everything that was normalized or ignored. Ambiguous input is an error with file, line and a suggested fix.',
    )
    .argument(
      '[prd]',
      'the PRD file, folder of tasks, name of a PRD, or - for stdin (default: the only named PRD, else the PRD that halo run would use)',
    )
    .option('--as <dialect>', 'read it as this dialect; daedalus and swanson also apply all rules of that tool')
    .option('--explain', 'show for each line of the file what it became, such as a title, a criterion or context')
    .option('-c, --config <key=value>', 'override one setting, e.g. -c prd.criteria=required (repeatable)', collect);
  addSourceOptions(validating)
    .option(
      '--json',
      'print the PRD as JSON; if it is refused, {error: {code, message, hint, problems}}, each problem with line, where and rule',
    )
    .addHelpText('after', VALIDATE_HELP)
    .action((file: string | undefined, flags: ValidateFlags) => validate(file, flags, cli));
  command
    .command('convert')
    .summary('convert a PRD to another dialect')
    .description(
      'Converts a PRD to another dialect and writes it to stdout. Lists on stderr what the new file expresses differently or cannot express. The original file is not changed.',
    )
    .argument('<prd>', 'the PRD file or folder of tasks, or - for stdin')
    .requiredOption('--to <dialect>', 'the dialect of the new file (required)')
    .addHelpText('after', CONVERT_HELP)
    .action((file: string, flags: { to: string }) => convert(file, flags.to, cli));
  command
    .command('schema')
    .summary('print the JSON Schema of a dialect')
    .description(
      'Prints the JSON Schema of a JSON dialect. A file may name its schema under "$schema", for editors; halo ignores and keeps it.',
    )
    .argument('<dialect>', 'the JSON dialect, such as ralph')
    .addHelpText('after', SCHEMA_HELP)
    .action((dialect: string) => printSchema(dialect, cli));
};

interface ValidateFlags {
  as?: string;
  explain?: true;
  config?: string[];
  json?: true;
}

const HELP = `
Examples:
  halo prd new checkout
  halo prd edit checkout && halo run checkout
  halo prd validate prd.json
  halo prd convert tasks.md --to ralph > prd.json

See also: halo run, halo submit`;

const VALIDATE_HELP = `
Examples:
  halo prd validate prd.json
  halo prd validate checkout
  halo prd validate scripts/ralph/prd.json --as daedalus
  halo prd validate prd.json -c prd.criteria=required
  halo prd validate --source github --label halo
  halo prd validate tasks.md --json | jq '.stories[].title'
  halo prd validate tasks.md --explain

Exit codes:
  0 valid    3 no issue is left    6 not valid

See also: halo prd convert, halo run`;

const CONVERT_HELP = `
Examples:
  halo prd convert tasks.md --to ralph > prd.json
  halo prd convert prd.json --to markdown-checkbox

Exit codes:
  0 written    2 no such dialect    6 the PRD cannot be read, or the dialect cannot express it

See also: halo prd validate`;

const SCHEMA_HELP = `
Examples:
  halo prd schema ralph > ralph.schema.json

Exit codes:
  0 printed    2 no such dialect, or it is not JSON

See also: halo prd validate`;

async function validate(wanted: string | undefined, flags: ValidateFlags, cli: Cli): Promise<void> {
  const source = chooseSource(flags, { 'a PRD': wanted, '--as': flags.as });
  const { path, bytes } =
    source === undefined ? await readPrd(wanted ?? (await chooseOwnPrd(cli)), cli) : await readSource(source, cli);
  const [{ validatePrd }, { readConfig }] = await Promise.all([
    import('../../api/repository/prd-rules.ts'),
    import('../../api/repository/repo-config.ts'),
  ]);
  const set = flags.config ?? [];
  const { config } = await readConfig({
    host: await cli.services.readHost(),
    folder: cli.cwd,
    profile: undefined,
    set,
  });
  const prd = validatePrd({ path, bytes }, { as: flags.as, requireCriteria: config.prd.criteria === 'required' });
  const estimate = await findEstimate(
    { prd: { path, bytes }, repo: '.', flags: defined({ config: flags.config }) },
    cli,
  );
  const lines = flags.explain ? await explain({ path, bytes }, flags.as) : undefined;
  if (flags.json) return cli.printJson({ ...prd, ...defined({ estimate, lines }) });
  if (lines !== undefined) return cli.print(...lineTable(lines, cli), ...describeWarnings(prd, cli));
  await cli.print(...summarizePrd(prd), '', ...storyTable(prd.stories, cli), ...describeWarnings(prd, cli));
  if (estimate !== undefined) await cli.print('', estimateLine(estimate));
}

async function explain({ path, bytes }: PrdFile, as: string | undefined): Promise<ExplainedLine[]> {
  const [{ explainPrd }, { parseDialectId }] = await Promise.all([
    import('../../prd/explain-prd.ts'),
    import('../../prd/dialect-registry.ts'),
  ]);
  return explainPrd(bytes, path, as === undefined ? undefined : parseDialectId(as));
}

function lineTable(lines: readonly ExplainedLine[], cli: Cli): string[] {
  const hasFiles = lines.some(({ file }) => file !== undefined);
  const heading = [...(hasFiles ? ['FILE'] : []), 'LINE', 'STORY', 'IS', 'TEXT'].map((text) => ({ text }));
  const rows = lines.map(({ file = '', line, story, became, unread, text }) => [
    ...(hasFiles ? [{ text: safeLine(file, 30) }] : []),
    { text: String(line) },
    { text: story === undefined ? '-' : safeLine(story, 30), tone: 'strong' as Tone },
    { text: safeLine(became, 60), tone: (unread ? 'warn' : 'plain') as Tone },
    { text: safeLine(text) },
  ]);
  return table([heading, ...rows], { paint: cli.paint, width: terminalColumns(cli) });
}

/** Stories of a source as a PRD; says which ones a run would leave out. */
async function readSource(source: ChosenSource, cli: Cli): Promise<PrdFile> {
  const { prd, notes } = await source.read(cli);
  await cli.note(...notes.map((text) => `${cli.paintErr('warn', '!')} ${safeLine(text, 500)}`));
  return prd;
}

/** The only named PRD; if there are none, the PRD that `halo run` would use. Throws USAGE, PRD_UNREADABLE. */
async function chooseOwnPrd(cli: Cli): Promise<string> {
  const names = await listPrdNames(cli.cwd);
  return names.length === 0 ? resolveUsualPrd(cli.cwd, cli) : (await requireNamedPrd(cli.cwd, undefined)).name;
}

function summarizePrd(prd: Prd): string[] {
  const { dialect, project, stories, context } = prd;
  const count = (status: Story['status']) => stories.filter((story) => story.status === status).length;
  const open = count('pending') + count('in_progress');
  const aside = count('blocked') + count('skipped');
  const counts = [`${open} open`, `${count('done')} done`, ...(aside === 0 ? [] : [`${aside} blocked or skipped`])];
  return [
    `dialect  ${dialect}`,
    ...(project === '' ? [] : [`project  ${safeLine(project)}`]),
    `stories  ${stories.length}: ${counts.join(', ')}`,
    ...listed(
      'tests',
      stories.flatMap((story) => {
        const mode = resolveTestsFirst('off', story, prd);
        return mode === 'off' ? [] : [`first for ${story.id} (${mode})`];
      }),
    ),
    ...listed(
      'agents',
      stories.flatMap((story) => {
        const chosen = Object.values<string>({ ...choiceFieldsOf(story) });
        return chosen.length === 0 ? [] : [`${chosen.join(' ')} for ${story.id}`];
      }),
    ),
    ...listed(
      'fields',
      stories.flatMap((story) => storyText(story).details.flatMap(({ label }) => (label === 'group' ? [] : [label]))),
    ),
    ...listed(
      'context',
      context.flatMap(({ label }) => (isTestsFirstKey(label) ? [] : [label])),
    ),
  ];
}

/** The labels of the other text that agents receive, without duplicates. */
function listed(name: string, labels: string[]): string[] {
  const names = [...new Set(labels)].map((label) => safeLine(label, 40));
  if (names.length === 0) return [];
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  return [`${name.padEnd(7)}  ${names.slice(0, MAX_NAMES).join(', ')}${more}`];
}

const MAX_NAMES = 12;

/** In the order in which they run. */
function storyTable(stories: Story[], cli: Cli): string[] {
  if (stories.length === 0) return ['no stories'];
  const heading = ['STORY', 'STATUS', 'PRIORITY', 'CRITERIA', 'NEEDS', 'TITLE'].map((text) => ({ text }));
  const rows = sortStories(stories).map(({ id, status, priority, acceptance, dependsOn, title }) => [
    { text: safeLine(id, 40), tone: 'strong' as Tone },
    { text: status, tone: TONES[status] },
    { text: priority === undefined ? '-' : String(priority) },
    { text: String(acceptance.length) },
    { text: dependsOn.length === 0 ? '-' : safeLine(dependsOn.join(', '), 30) },
    { text: safeLine(title) },
  ]);
  return table([heading, ...rows], { paint: cli.paint, width: terminalColumns(cli) });
}

const TONES: Record<Story['status'], Tone> = {
  pending: 'plain',
  in_progress: 'plain',
  done: 'good',
  blocked: 'quiet',
  skipped: 'quiet',
};

function describeWarnings({ warnings }: Prd, cli: Cli): string[] {
  if (warnings.length === 0) return [];
  const lines = warnings.flatMap((text) => {
    const [first = '', ...others] = wrapWords(safeLine(text, 1000), (terminalColumns(cli) ?? 10_000) - 4);
    return [`  ${cli.paint('strong', '-')} ${first}`, ...others.map((line) => `    ${line}`)];
  });
  return ['', 'Notes:', ...lines];
}

async function printSchema(name: string, cli: Cli): Promise<void> {
  const [{ DIALECTS, parseDialectId }, { schemaOf }] = await Promise.all([
    import('../../prd/dialect-registry.ts'),
    import('../../prd/json-schema.ts'),
  ]);
  const dialect: Dialect = DIALECTS[parseDialectId(name)];
  if (dialect.format === 'json') return cli.printJson(schemaOf(dialect));
  const known = Object.values<Dialect>(DIALECTS).flatMap(({ id, format }) => (format === 'json' ? [id] : []));
  throw new HaloError('USAGE', `The dialect ${dialect.id} is not JSON, so it has no JSON Schema.`, {
    hint: `Use one of: ${known.join(', ')}.`,
  });
}

async function convert(file: string, to: string, cli: Cli): Promise<void> {
  const { path, bytes } = await readPrd(file, cli);
  const [{ convertPrd }, { parseDialectId }] = await Promise.all([
    import('../../prd/convert-prd.ts'),
    import('../../prd/dialect-registry.ts'),
  ]);
  const { text, warnings, lost } = convertPrd(bytes, path, parseDialectId(to));
  await (cli.terminal.shown ? cli.write(text) : cli.writeExactly(Buffer.from(text)));
  for (const warning of warnings) await cli.note(`read: ${safeLine(warning, 1000)}`);
  for (const loss of lost) await cli.note(`changed: ${safeLine(loss, 1000)}`);
}
