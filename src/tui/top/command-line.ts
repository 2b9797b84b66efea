import { safeLine } from '../../core/text/safe-text.ts';
import { didYouMean } from '../../core/text/did-you-mean.ts';
import { ACTIONS, PRD_ACTIONS, type ActionName, type PrdActionName } from './actions.ts';
import { VIEWS, type TopState, type ViewName } from './model.ts';

/** What a command line means. */
export type ParsedCommand =
  | { kind: 'view'; view: ViewName; runId?: string }
  | { kind: 'action'; name: ActionName | PrdActionName; runId?: string }
  | { kind: 'quit' }
  | { kind: 'invalid'; message: string };

const NAMES = [...VIEWS, ...ACTIONS, ...PRD_ACTIONS, 'quit'];

/** Parses the text after `:`, e.g. `logs 2dhe`. A name may be abbreviated; a run is any unique part of its id. */
export function parseCommand(text: string, runs: TopState['runs'] = []): ParsedCommand {
  const [word = '', part, ...rest] = text.trim().split(/\s+/);
  const name = NAMES.find((each) => each === word) ?? NAMES.find((each) => word !== '' && each.startsWith(word));
  if (name === undefined) {
    const meant = didYouMean(word, NAMES) || '. Tab shows the commands.';
    return { kind: 'invalid', message: `Unknown command: ${safeLine(word, 40)}${meant}` };
  }
  if (rest.length > 0) return { kind: 'invalid', message: `:${name} takes one run at most.` };
  if (name === 'quit') return { kind: 'quit' };
  const found = part === undefined ? undefined : runs.filter(({ runId }) => runId.includes(part.toLowerCase()));
  if (found !== undefined && found.length !== 1) {
    const count = found.length === 0 ? 'No run matches' : `${found.length} runs match`;
    return { kind: 'invalid', message: `${count} ${safeLine(part ?? '', 40)}.` };
  }
  const of = found?.[0] === undefined ? {} : { runId: found[0].runId };
  const view = VIEWS.find((each) => each === name);
  return view === undefined
    ? { kind: 'action', name: name as ActionName | PrdActionName, ...of }
    : { kind: 'view', view, ...of };
}

/** The possible continuations of a command line, as whole lines. */
export function completeCommand(text: string, runs: TopState['runs'] = []): string[] {
  const [word = '', part] = text.trimStart().split(/\s+/);
  if (part === undefined) return NAMES.filter((name) => name.startsWith(word));
  return runs.map(({ runId }) => `${word} ${runId}`).filter((line) => line.includes(part.toLowerCase()));
}
