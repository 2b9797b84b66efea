import type { PreviewedPrompt } from '../../api/operations/schemas.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { safeLine, safeText } from '../../core/text/safe-text.ts';
import type { Cli, Define } from '../cli.ts';
import { readPrd, resolveUsualPrd } from '../options/read-prd.ts';
import { addSettingOptions, PROMPT_FILE, repoSource, settingsOf, type SettingFlags } from '../options/run-options.ts';

interface Flags extends Omit<SettingFlags, 'askForApproval'> {
  repo: string;
  story?: string;
  json?: true;
}

export const define: Define = (command, cli) => {
  addSettingOptions(
    command
      .description(
        'Prints the prompt that the agent would get for a story, on stdout, and its length and sections on stderr. Needs no container, agent or key, and creates no run. For the prompt of an attempt that has run, use `halo logs --prompt`.',
      )
      .argument('[prd]', 'the PRD file, folder of tasks or name, or - for stdin (default: as for `halo run`)')
      .option('--story <id>', 'the story (default: the one that runs first)')
      .option('--repo <path>', 'path or URL of the repository', '.'),
  )
    .option(...PROMPT_FILE)
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .action((prd: string | undefined, flags: Flags) => showPrompt(prd, flags, cli));
};

const HELP = `
Examples:
  halo prompt prd.json --story US-002
  halo prompt prd.json --story US-002 -c prompt.max_tokens=15000 > prompt.md
  halo prompt prd.json --json | jq .tokens

Exit codes:
  0 printed    2 no such story    6 the PRD, the settings or the repository is invalid,
                                    or a submit would refuse the prompt

See also: halo run, halo logs`;

async function showPrompt(given: string | undefined, flags: Flags, cli: Cli): Promise<void> {
  const repo = repoSource(cli.cwd, flags.repo);
  const prd = await readPrd(given ?? (await resolveUsualPrd(repo, cli)), cli);
  const request = { prd, repo, story: flags.story, profile: flags.profile, set: settingsOf(flags) };
  const prompt = await cli.withOperations((operations) => operations.previewPrompt(request));
  if (flags.json) await cli.printJson(prompt);
  else await cli.write(safeText(prompt.text));
  await cli.note(...describePrompt(prompt, cli));
  if (prompt.problems.length > 0)
    throw new HaloError('CONFIG_INVALID', prompt.problems.map((problem) => `${problem}.`).join('\n'), {
      hint: 'Commit the file, or correct its path, or the heading after #, in the table [prompt].',
    });
  if (!prompt.fits)
    throw new HaloError(
      'PROMPT_TOO_LARGE',
      `The prompt of ${prompt.story} has ${prompt.tokens} tokens; the limit is ${prompt.maxTokens}.`,
      { hint: 'Split the story, shorten the file of prompt.before, or raise prompt.max_tokens (0: no limit).' },
    );
}

/** `US-001: 812 tokens (limit 15000)`, and a line for each section. */
function describePrompt(
  { story, tokens, maxTokens, sections, testsFirst, warnings, agent, model, effort, price, chosenBy }: PreviewedPrompt,
  cli: Cli,
): string[] {
  const costs = price === undefined ? '' : `, $${price.input} in and $${price.output} out per million tokens`;
  const by = chosenBy === undefined ? '' : ` (${chosenBy})`;
  const chosen = [agent, model, effort && `effort ${effort}`].filter((part) => part !== undefined).join(', ');
  const limit = maxTokens === 0 ? 'no limit' : `limit ${maxTokens}`;
  const width = Math.max(...sections.map((section) => String(section.tokens).length));
  return [
    ...warnings.map((text) => `${cli.paintErr('warn', 'warning:')} ${safeLine(text, 500)}`),
    cli.paintErr('strong', `${safeLine(story)}: ${tokens} tokens (${limit})`),
    cli.paintErr('quiet', `  ${safeLine(`for ${chosen}${by}${costs}`, 300)}`),
    ...(testsFirst === undefined
      ? []
      : [cli.paintErr('quiet', `  the prompt for the tests that are written first (${testsFirst})`)]),
    ...sections.map(({ name, file, tokens: there, cut }) => {
      const line = `  ${String(there).padStart(width)}  ${name}${file === undefined ? '' : ` (${safeLine(file)})`}`;
      return cut === undefined ? cli.paintErr('quiet', line) : cli.paintErr('warn', `${line}, ${cut} cut`);
    }),
  ];
}
