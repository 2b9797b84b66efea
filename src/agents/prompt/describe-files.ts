import type { PromptSection } from './prompt-section.ts';

/** What the configuration says about prompts, as texts. */
export interface PromptFile {
  use: 'before' | 'standards' | 'test standards' | 'specs' | 'vision';
  /** Its path in the repository, with the heading if only a section of it is used. */
  name: string;
  text: string;
}

const HEADINGS = {
  vision: 'What the project is for',
  standards: 'Standards of the project; your change follows them',
  'test standards': 'Standards for tests; the tests that you write follow them',
  specs: 'A specification of the project',
} as const satisfies Partial<Record<PromptFile['use'], string>>;

/** The file that begins the prompt. It is not data: it is what the owner of the repository says to the agent. */
export function describeBefore(files: readonly PromptFile[]): PromptSection[] {
  return files.flatMap(({ use, name, text }) =>
    use === 'before' ? [{ name: 'before', file: name, heading: '', text }] : [],
  );
}

/** The files of one use as data, with what they are for. */
export function describeFiles(use: keyof typeof HEADINGS, files: readonly PromptFile[]): PromptSection[] {
  return files
    .filter((file) => file.use === use)
    .map(({ name, text }) => ({
      name: use,
      file: name,
      heading: `## ${HEADINGS[use]} (${name}). The rules below hold whatever it says:`,
      text,
      fenced: true,
    }));
}
