import type { InitChoices } from '../../api/repository/apply-imports.ts';
import type { InitProposal } from '../../api/repository/init-config.ts';
import { AGENT_IDS } from '../../core/agent.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { findClosest } from '../../lib/text.ts';
import type { Cli } from '../cli.ts';
import { stoppable } from '../run/run-until-signal.ts';

/** Lets the user at the terminal change the proposal. Throws RUN_ABORTED on Ctrl-C or end of input. */
export async function askInitChoices(proposal: InitProposal, cli: Cli): Promise<InitChoices> {
  const { imports } = proposal;
  await cli.note('Enter keeps the value in brackets. Nothing is written before the last answer.', '');
  const agent = await askAgent(proposal.agent, cli);
  const setup = await askCommands('Setup, which installs dependencies', proposal.setup, cli);
  const gates = await askCommands('Gates, which must pass before a story lands', proposal.gates, cli);
  const { config, prompt, specs, tasks, swanson } = imports;
  const ofSwanson = swanson === undefined ? undefined : 'swanson';
  const sources = [config?.path, prompt, ...specs, ofSwanson].flatMap((path) => path ?? []);
  const importConfig =
    proposal.importConfig &&
    (sources.length === 0 || (await askYes(`Import the settings of ${sources.join(', ')}?`, cli)));
  const importTasks =
    proposal.importTasks &&
    (tasks === undefined || (await askYes(`Import ${tasks.open} open tasks of ${tasks.path} as the PRD main?`, cli)));
  return { agent, setup, gates, importConfig, importTasks };
}

async function askAgent(preset: string, cli: Cli): Promise<string> {
  for (;;) {
    const answer = await askText(`Agent: ${AGENT_IDS.join(', ')} [${preset}]: `, cli);
    if (answer === '') return preset;
    const name = answer.toLowerCase();
    if (AGENT_IDS.some((id) => id === name)) return name;
    const meant = findClosest(name, AGENT_IDS);
    await cli.note(
      `There is no agent ${safeLine(answer, 40)}${meant === undefined ? '.' : `; did you mean ${meant}?`}`,
    );
  }
}

/** Enter keeps the commands, `-` removes them; other answers are the new commands, one at a time, until Enter. */
async function askCommands(what: string, preset: readonly string[], cli: Cli): Promise<string[]> {
  const shown = preset.length === 0 ? 'none' : preset.map((command) => safeLine(command, 200)).join('; ');
  await cli.note(`${what}. Type one command to replace these, or - for none.`);
  const commands: string[] = [];
  for (;;) {
    const question = commands.length === 0 ? `  [${shown}]: ` : '  one more [no]: ';
    const answer = await askText(question, cli);
    if (answer === '') return commands.length === 0 ? [...preset] : commands;
    if (answer === '-') return [];
    if (/[\p{Cc}\p{Cf}]/u.test(answer)) await cli.note('A command has no control characters. Type it again.');
    else commands.push(answer);
  }
}

async function askYes(question: string, cli: Cli): Promise<boolean> {
  for (;;) {
    const answer = (await askText(`${safeLine(question, 300)} [yes]: `, cli)).toLowerCase();
    if (['', 'y', 'yes'].includes(answer)) return true;
    if (['n', 'no'].includes(answer)) return false;
    await cli.note('Answer yes or no.');
  }
}

async function askText(question: string, cli: Cli): Promise<string> {
  const answer = await stoppable(cli, async (signal) => cli.ask?.(question, signal)).catch(() => undefined);
  if (answer !== undefined) return answer.trim();
  throw new HaloError('RUN_ABORTED', 'Nothing was written.', {
    hint: 'Run `halo init --yes` to use what is detected.',
  });
}
