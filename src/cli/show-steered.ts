import type { Steered } from '../api/operations.ts';
import { safeLine } from '../core/safe-text.ts';
import type { Cli } from './cli.ts';

const LENGTH = 500;

/** Tells what a person's word did to a run: `done` when it changed something, else `as before`. */
export async function showSteered(steered: Steered, { word, json, cli }: { word: string; json: boolean; cli: Cli }) {
  if (json) return cli.printJson(steered);
  const what = steered.changed ? cli.paint('good', word) : cli.paint('quiet', 'as before');
  await cli.print(`${what}  ${steered.runId}  ${safeLine(steered.says, LENGTH)}`);
}
