import type { Command } from 'commander';
import { issueSource } from '../../features/issues/cli/issue-source.ts';
import type { ChosenSource, StorySource } from './story-source.ts';

const SOURCES: readonly StorySource[] = [issueSource];

export function addSourceOptions(command: Command): Command {
  for (const { addOptions } of SOURCES) addOptions(command);
  return command;
}

/** The source that `flags` choose; undefined: a PRD. Throws USAGE if `others` have a value, too. */
export function chooseSource(flags: object, others: Record<string, unknown>): ChosenSource | undefined {
  return SOURCES.map(({ choose }) => choose(flags, others)).find((chosen) => chosen !== undefined);
}
