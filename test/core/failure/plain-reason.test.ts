import { expect, it } from 'vitest';
import { causeRow, FAILURE_CAUSES, type FailureCause, type FailureClass } from '../../../src/core/failure/failure.ts';
import { plainReason } from '../../../src/core/failure/plain-reason.ts';
import type { StopReason } from '../../../src/core/failure/stop-reason.ts';
import { readFileSync } from 'node:fs';

const docs = readFileSync(new URL('../../../docs/failures.md', import.meta.url), 'utf8');

it.each<[StopReason, FailureClass | undefined, FailureCause | undefined, string]>([
  ['GATE_FAILED', 'gate', undefined, 'GATE_FAILED'],
  ['GATE_FAILED', 'environment', 'setup-failed', 'SETUP_FAILED'],
  // Not every failed command of the environment is one of setup.
  ['GATE_FAILED', 'environment', undefined, 'GATE_FAILED'],
  ['GATE_FAILED', 'environment', 'program-missing', 'PROGRAM_MISSING'],
  ['TIMEOUT', 'environment', 'network-missing', 'NETWORK_MISSING'],
  ['INVALID_OUTPUT', 'agent', 'no-changes', 'NO_CHANGES'],
  ['GATE_FAILED', 'environment', 'base-broken', 'BASE_BROKEN'],
  ['INVALID_OUTPUT', 'agent', undefined, 'INVALID_OUTPUT'],
  ['ENGINE_ERROR', 'provider', 'key-refused', 'KEY_REFUSED'],
  ['ENGINE_ERROR', 'agent', undefined, 'AGENT_FAILED'],
  ['ENGINE_ERROR', 'agent', 'agent-overflow', 'LIMIT_REACHED'],
  ['ENGINE_ERROR', 'gate', undefined, 'LIMIT_REACHED'],
])('%s of class %s by %s is printed as %s', (reason, whose, cause, word) => {
  const failure = whose === undefined ? undefined : { class: whose, cause };
  expect(plainReason(reason, failure)).toBe(word);
  expect(docs).toContain(`\`${word}\``);
});

it.each(FAILURE_CAUSES)('the cause %s has its words, and the documentation lists them', (cause) => {
  const { class: of, reason } = causeRow(cause)!;
  const word = plainReason('GATE_FAILED', { class: of, cause });
  expect(word).toBe(reason ?? 'GATE_FAILED');
  expect(docs).toMatch(new RegExp(`^\\| \`${word}\` +\\|`, 'm'));
});
