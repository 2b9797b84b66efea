import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { claude } from '../../src/agents/claude.ts';

const recorded = (name: string) =>
  readFileSync(new URL(`fixtures/live/claude-${name}.jsonl`, import.meta.url), 'utf8')
    .trim()
    .split('\n');

const ID = '11111111-1111-4111-8111-111111111111';

/** What each line of a recording means, without those that mean nothing. */
function signsOf(name: string) {
  const session = claude.openSession!({} as never)!;
  const read = recorded(name).filter((line) => session.marks.some((mark) => line.includes(mark)));
  return read.map((line) => session.read(line)).filter(({ taken, idle }) => taken ?? idle);
}

describe('what Claude Code prints about messages', () => {
  const prompt = { taken: ['11111111-1111-4111-8111-000000000000'] };
  const message = { taken: [ID] };
  it.each([
    ['steer', 'a message during a command: one turn', [prompt, message, { idle: true }]],
    ['late', 'a message during the last answer: a turn of its own', [prompt, { idle: true }, message, { idle: true }]],
    ['after', 'a message after the last answer: a turn of its own', [prompt, { idle: true }, message, { idle: true }]],
  ])('%s: %s', (name, _, signs) => expect(signsOf(name)).toEqual(signs));

  it('gives the answer of the last turn', () => {
    const read = claude.createReader();
    const answers = recorded('late').flatMap((line) => read(line).answerText ?? []);
    expect(answers.at(-1)).toBe('{"status":"ok","summary":"Added."}');
  });
});
