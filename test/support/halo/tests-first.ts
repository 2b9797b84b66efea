import { OK } from './halo.ts';

/** A test that loads what it tests inside the test. */
export const HONEST_TESTS = `cat > sum.test.mjs <<'X'
import test from "node:test"; import assert from "node:assert";
test("adds", async () => { const { sum } = await import("./sum.mjs"); assert.equal(sum(1, 2), 3); });
X
`;
export const ADD_SUM = `echo 'export const sum = (a, b) => a + b;' > sum.mjs; `;
export const TESTS_COMMAND = 'tests.command="node --test --test-reporter=tap {files}"';

/** An agent that writes tests if it is asked for them, and otherwise implements the story. */
export const testsFirstAgent = (tests: string, code: string) =>
  `cat > /tmp/prompt; if grep -q 'Write the tests for' /tmp/prompt; then ${tests}\nelse ${code}\nfi; ${OK}`;
