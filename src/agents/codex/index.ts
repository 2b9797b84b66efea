import type { AgentAdapter } from '../adapter.ts';
import { describeCodexBuild } from './features.ts';
import { launchCodex } from './launch.ts';
import { readCodexOutcome } from './outcome.ts';
import { parseCodexLine } from './parse.ts';

/** The Codex CLI, from version 0.169.0. */
export const codex: AgentAdapter = {
  id: 'codex',
  title: 'Codex',
  guidanceFiles: [],
  hasAnswerSchema: true,
  launch: launchCodex,
  describeBuild: describeCodexBuild,
  createReader: () => parseCodexLine,
  findDenial: findCodexDenial,
  outcome: readCodexOutcome,
};

/**
 * The log line on stderr with which Codex refuses an action of its model; its event stream does not report it. The advice
 * to use a safer way than `rm -f`, which models follow immediately, does not count.
 */
const REFUSAL =
  /codex_core::tools::router: error=((?:exec_command failed: CreateProcess \{ message: "Rejected\((?!.*Use a safer approach)|approval policy is |patch rejected: ).*)/;

/** The first refusal on stderr. */
function findCodexDenial(stderrTail: string): string | undefined {
  return REFUSAL.exec(stderrTail)?.[1];
}
