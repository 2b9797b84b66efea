import { describe, expect, it } from 'vitest';
import { agentAdapter } from '../../src/agents/registry.ts';

/** Lines of the real program's log. */
const LOG = (error: string) => `2026-11-22T07:12:12.433777Z ERROR codex_core::tools::router: error=${error}\n`;

describe('the log of Codex', () => {
  const denied = (stderr: string) => agentAdapter('codex').findDenial?.(stderr);

  it.each([
    'approval policy is Never; reject command — you cannot ask for escalated permissions if the approval policy is Never',
    'patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings',
    'exec_command failed: CreateProcess { message: "Rejected(\\"`git push` rejected: blocked by policy\\")" }',
  ])('names the denied action: %s', (error) => {
    expect(denied(`WARNING: something else\n${LOG(error)}`)).toBe(error);
  });

  it.each([
    'exec_command failed: CreateProcess { message: "Rejected(\\"`rm -rf dist` rejected: rm -f style commands are not permitted. Use a safer approach\\")" }',
    'exec_command failed: CreateProcess { message: "No such file or directory" }',
    'apply_patch verification failed: the permission was rejected',
  ])('is not a denial if there is an alternative: %s', (error) => {
    expect(denied(LOG(error))).toBeUndefined();
  });
});
