import { refuseTemplate } from '../../core/prd/prd-template.ts';
import type { Prd, Story } from '../../core/prd/prd.ts';
import { storyText } from '../../core/prd/story-text.ts';
import { inOrder } from '../../core/run/story-order.ts';
import { safeLine } from '../../core/safe-text.ts';
import type { Tone } from '../../core/transcript/transcript-line.ts';
import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { requireNamedPrd } from '../options/named-prds.ts';
import { defineEdit } from '../prds/edit-prd.ts';
import { defineList } from '../prds/list-prds.ts';
import { defineNew } from '../prds/new-prd.ts';
import { defineStatus } from '../prds/prd-status.ts';
import { wrapToWidth } from '../../lib/width.ts';
import { readPrd } from '../options/read-prd.ts';
import { widthOf } from '../output/run-table.ts';
import { table } from '../output/table.ts';

export const define: Define = (command, cli) => {
  command
    .description('Keeps PRDs under a name, and reads PRD files of all dialects, whoever wrote them.')
    .addHelpText('after', HELP);
  defineNew(command.command('new'), cli);
  defineList(command.command('list'), cli);
  defineEdit(command.command('edit'), cli);
  defineStatus(command.command('status'), cli);
  command
    .command('validate')
    .summary('say how a PRD is read, or what is wrong with it')
    .description(
      'Shows which dialect a PRD is written in, its stories in the order in which they run, what else it says to agents (fields of stories, context of the whole), and everything that was normalised or ignored. What is ambiguous is refused with file, line and how to write it.',
    )
    .helpOption('-h, --help', 'show help')
    .argument('[prd]', 'the PRD file, the name of a PRD, or - for stdin; by default the only one with a name')
    .option('--as <dialect>', 'check it by the rules of this dialect; those of daedalus for a name')
    .option('--json', 'print the PRD as halo sees it, as JSON')
    .addHelpText('after', VALIDATE_HELP)
    .action((file: string | undefined, flags: ValidateFlags) => validate(file, flags, cli));
  command
    .command('convert')
    .summary('write a PRD anew in another dialect')
    .description(
      'Writes the PRD in another dialect to stdout. What the new file says otherwise, or has no place for, is listed on stderr; the file itself stays as it is.',
    )
    .helpOption('-h, --help', 'show help')
    .argument('<prd>', 'the PRD file, or - for stdin')
    .requiredOption('--to <dialect>', 'the dialect of the new file')
    .addHelpText('after', CONVERT_HELP)
    .action((file: string, flags: { to: string }) => convert(file, flags.to, cli));
};

interface ValidateFlags {
  as?: string;
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
  halo prd validate tasks.md --json | jq '.stories[].title'

Exit codes:
  0 it can be run    6 it cannot, and why

See also: halo prd convert, halo run`;

const CONVERT_HELP = `
Examples:
  halo prd convert tasks.md --to ralph > prd.json
  halo prd convert prd.json --to markdown-checkbox

Exit codes:
  0 written    2 no such dialect    6 the PRD cannot be read, or the dialect cannot hold it

See also: halo prd validate`;

async function validate(wanted: string | undefined, flags: ValidateFlags, cli: Cli): Promise<void> {
  const file = wanted ?? (await requireNamedPrd(cli.cwd, undefined)).name;
  const { path, bytes } = await readPrd(file, cli);
  const prd = await cli.services.parsePrd({ path, bytes, as: flags.as });
  refuseTemplate(prd, path);
  if (flags.json) return cli.printJson(prd);
  await cli.print(...describe(prd), '', ...storyTable(prd.stories, cli), ...describeWarnings(prd, cli));
}

function describe({ dialect, project, stories, context }: Prd): string[] {
  const count = (status: Story['status']) => stories.filter((story) => story.status === status).length;
  const open = count('pending') + count('in_progress');
  const aside = count('blocked') + count('skipped');
  const counts = [`${open} open`, `${count('done')} done`, ...(aside === 0 ? [] : [`${aside} blocked or skipped`])];
  return [
    `dialect  ${dialect}`,
    ...(project === '' ? [] : [`project  ${safeLine(project)}`]),
    `stories  ${stories.length}: ${counts.join(', ')}`,
    ...listed(
      'fields',
      stories.flatMap((story) => storyText(story).details.flatMap(({ label }) => (label === 'group' ? [] : [label]))),
    ),
    ...listed(
      'context',
      (context ?? []).map(({ label }) => label),
    ),
  ];
}

/** Names of what agents are told besides, each once. */
function listed(name: string, labels: string[]): string[] {
  const names = [...new Set(labels)].map((label) => safeLine(label, 40));
  if (names.length === 0) return [];
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : '';
  return [`${name.padEnd(7)}  ${names.slice(0, MOST_NAMES).join(', ')}${more}`];
}

const MOST_NAMES = 12;

/** In the order in which they run. */
function storyTable(stories: Story[], cli: Cli): string[] {
  if (stories.length === 0) return ['no stories'];
  const heading = ['STORY', 'STATUS', 'PRIORITY', 'CRITERIA', 'NEEDS', 'TITLE'].map((text) => ({ text }));
  const rows = inOrder(stories).map(({ id, status, priority, acceptance, dependsOn, title }) => [
    { text: safeLine(id, 40), tone: 'strong' as Tone },
    { text: status, tone: TONES[status] },
    { text: priority === undefined ? '-' : String(priority) },
    { text: String(acceptance.length) },
    { text: dependsOn.length === 0 ? '-' : safeLine(dependsOn.join(', '), 30) },
    { text: safeLine(title) },
  ]);
  return table([heading, ...rows], { paint: cli.paint, width: widthOf(cli) });
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
    const [first = '', ...others] = wrapToWidth(safeLine(text, 1000), (widthOf(cli) ?? 10_000) - 4);
    return [`  ${cli.paint('strong', '-')} ${first}`, ...others.map((line) => `    ${line}`)];
  });
  return ['', 'Read with care:', ...lines];
}

async function convert(file: string, to: string, cli: Cli): Promise<void> {
  const { path, bytes } = await readPrd(file, cli);
  const { text, warnings, lost } = await cli.services.convertPrd({ path, bytes, to });
  await (cli.terminal.shown ? cli.write(text) : cli.writeExactly(Buffer.from(text)));
  for (const warning of warnings) await cli.note(`read: ${safeLine(warning, 1000)}`);
  for (const loss of lost) await cli.note(`changed: ${safeLine(loss, 1000)}`);
}
