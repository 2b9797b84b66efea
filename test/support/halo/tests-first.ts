import { OK } from './halo.ts';

/** A test that loads what it tests inside the test. */
export const HONEST_TESTS = `cat > sum.test.mjs <<'X'
import test from "node:test"; import assert from "node:assert";
test("adds", async () => { const { sum } = await import("./sum.mjs"); assert.equal(sum(1, 2), 3); });
X
`;
export const ADD_SUM = `echo 'export const sum = (a, b) => a + b;' > sum.mjs; `;
export const TESTS_COMMAND = 'tests.command="node --test --test-reporter=tap {files}"';

/** An agent that writes tests if it is asked for them, and otherwise implements the story. `answer` ends the first session. */
export const testsFirstAgent = (tests: string, code: string, answer = OK) =>
  `cat > /tmp/prompt; if grep -q 'Write the tests for' /tmp/prompt; then ${tests}\n${answer}\nelse ${code}\n${OK}\nfi`;

/** The answer of a session that names the tests of each criterion, in order; `holds`: those that are met already. */
export function answerWith(tests: string[][], holds: number[] = []): string {
  const criteria = tests.map((names, index) => ({ n: index + 1, tests: names, holds: holds.includes(index + 1) }));
  return `echo '${JSON.stringify({ status: 'ok', summary: 'Wrote them.', criteria })}'`;
}
