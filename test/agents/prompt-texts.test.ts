import { expect, it } from 'vitest';
import { buildPrompt, type PromptInput } from '../../src/agents/prompt/build-prompt.ts';

const INPUT: PromptInput = {
  prd: { project: 'shop', description: 'A small shop.', context: [] },
  story: {
    ...{
      id: 'US-2',
      storyKey: 'us-2',
      title: 'Greet the buyer',
      description: 'As a buyer I am greeted.',
      notes: '',
      extra: {},
    },
    ...{ acceptance: ['says hello', 'in at most 100 ms'], priority: 1, status: 'pending', dependsOn: [] },
  },
  progress: [],
  guidance: [],
  files: [
    { use: 'standards', name: 'standards.md', text: 'No globals.' },
    { use: 'test standards', name: 'tests.md', text: 'One fixture per file.' },
  ],
  gates: ['pytest tests'],
};
const command = 'pytest -v {files}';
const locked = ['tests/test_US-2.py'];

it('the prompt of a story asks for tests that are run, and for a change that follows the standards', () => {
  expect(buildPrompt(INPUT).text).toMatchSnapshot();
});

it('the prompt of the session that writes tests asks for one per criterion, with arrange, act and assert', () => {
  expect(buildPrompt({ ...INPUT, testsFirst: { command, write: ['tests/test_US-2.py'] } }).text).toMatchSnapshot();
});

it('the prompt of the implementation names the locked tests, which must not be changed', () => {
  expect(buildPrompt({ ...INPUT, testsFirst: { command, locked } }).text).toMatchSnapshot();
});

it('the prompt of the refactoring asks for another structure and the same behaviour', () => {
  expect(buildPrompt({ ...INPUT, testsFirst: { command, locked, refactor: true } }).text).toMatchSnapshot();
});
