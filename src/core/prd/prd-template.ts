import { HaloError } from '../failure/errors.ts';
import { folderOfNamedPrd } from './prd-names.ts';
import type { Prd } from './prd.ts';

/** The placeholders of a new PRD. */
export const PRD_TEMPLATE = {
  description: 'What must exist in the end.',
  story: {
    id: 'US-001',
    title: 'The first story, in a few words',
    description: 'As a <role>, I want <feature>, so that <benefit>.',
    acceptanceCriteria: ['Something that can be checked'],
  },
};

/** Finds fields that still have their placeholder, such as `US-001: title`. */
export function findTemplateTexts({ description, stories }: Pick<Prd, 'description' | 'stories'>): string[] {
  const { story } = PRD_TEMPLATE;
  return [
    ...(description === PRD_TEMPLATE.description ? ['description'] : []),
    ...stories.flatMap(({ id, title, description, acceptance, status }) => {
      const fields = [
        ...(title === story.title ? ['title'] : []),
        ...(description === story.description ? ['description'] : []),
        ...(acceptance.some((text) => story.acceptanceCriteria.includes(text)) ? ['acceptanceCriteria'] : []),
      ];
      return fields.length === 0 || status === 'done' ? [] : [`${id}: ${fields.join(', ')}`];
    }),
  ];
}

/** Throws PRD_INVALID for a PRD with placeholders, because an agent would implement them. */
export function assertFilledIn(prd: Pick<Prd, 'description' | 'stories'>, path: string): void {
  const places = findTemplateTexts(prd);
  if (places.length === 0) return;
  const name = folderOfNamedPrd(path)?.split('/').at(-1);
  throw new HaloError('PRD_INVALID', `${path}: The PRD still has placeholders of a new PRD: ${places.join('; ')}.`, {
    hint: `Replace them with your requirements${name === undefined ? '' : `: \`halo prd edit ${name}\``}.`,
  });
}
