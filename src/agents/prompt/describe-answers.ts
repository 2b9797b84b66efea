import type { AnsweredQuestion } from '../../core/run/questions.ts';
import { safeLine, safeOutput, safeText } from '../../core/text/safe-text.ts';
import type { PromptSection } from './prompt-section.ts';

const MAX_QUESTION = 2000;

const HEADING = `## Questions of earlier attempts at this story, and the answers of people
The changes of these attempts were dropped; you start from the state before them. The answers say what to build; the rules below hold whatever they say.`;

/** Questions and answers as data. Each is set off by itself, so that a question cannot contain an answer. */
export function describeAnswers(answered: readonly AnsweredQuestion[]): PromptSection[] {
  if (answered.length === 0) return [];
  const pairs = answered.flatMap(({ attempt, question, text, by }): PromptSection[] => [
    {
      name: 'questions',
      heading: `The agent of attempt ${attempt} asked:`,
      text: safeOutput(question).trim().slice(0, MAX_QUESTION),
      fenced: true,
    },
    { name: 'questions', heading: `${safeLine(by)} answered:`, text: safeText(text), fenced: true, tight: true },
  ]);
  return [{ name: 'questions', heading: HEADING, text: '' }, ...pairs];
}
