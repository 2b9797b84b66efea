import type { Story } from '../../core/prd/prd.ts';
import { codeSpan } from './markdown-text.ts';

/** The rules of a session that only writes the tests of a story. */
export function describeTestRules({ write, command }: { write: readonly string[]; command: string }): string {
  return `## Rules
- Write tests only; do not implement the story. Write at least one test for each acceptance criterion, in new files that match ${write.map(codeSpan).join(', ')}. Any other added, changed or removed file is refused.
- In each test, arrange the data, act by calling the code, and assert the result. A test without an assertion proves nothing: code that only exists must not make it pass. If a criterion states performance or security, such as a time limit or an input that is rejected, test that with its number or its input.
- Your tests run before the story is implemented with ${codeSpan(command)}, and each of them must run and fail because the behaviour is missing. A test that is skipped is refused, and so is one that passes, except for a criterion that your answer marks as one that holds already.
- A file that cannot be loaded counts as no test: import what does not exist yet inside each test, for example with a dynamic import, not at the top of the file.
- Afterwards the tests are locked: the story is implemented so that they pass, and they cannot be corrected. Test behaviour that the criteria state, not details of an implementation.
- There is no network. Do not commit, and leave no temporary files behind.`;
}

/** How that session answers. */
export function testsAnswerRules({ acceptance }: Pick<Story, 'acceptance'>): string {
  return acceptance.length === 0 ? ANSWER_RULES : `${ANSWER_RULES}\n${CRITERIA_RULES}`;
}

const ANSWER_RULES = `## Your answer
End with one message that is a single JSON object and nothing else: no prose around it, no code fence.
{"status": "ok" | "needs_human" | "failed", "summary": "which tests you wrote, one to three sentences"}
- ok: the tests are written, at least one for every acceptance criterion, and you have seen them fail, except those of criteria that hold already.
- needs_human: a criterion cannot be tested before a person decides something; the summary says what.
- failed: you could not do it; the summary says why.`;

const CRITERIA_RULES = `Add to the object the tests of each criterion of the list in "The story", counted from 1, with their names as the command prints them:
"criteria": [{"n": 1, "tests": ["name of a test"], "holds": false}]
- holds: true if the code meets the criterion already, so that its tests pass before the story. At least one criterion must not hold yet.`;
