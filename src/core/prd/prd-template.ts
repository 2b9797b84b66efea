import { HaloError } from '../failure/errors.ts';
import { folderOfNamedPrd } from './prd-names.ts';
import type { Prd } from './prd.ts';

/** What a new PRD says before a person has written into it. */
export const TEMPLATE = {
  description: 'What shall be there in the end.',
  story: {
    id: 'US-001',
    title: 'The first story, in a few words',
    description: 'As a user, I want this, so that that.',
    acceptanceCriteria: ['Something that can be checked'],
  },
};

/** The places of a PRD that are still as in a new one, such as `US-001: title`. */
export function findTemplateTexts({ description, stories }: Pick<Prd, 'description' | 'stories'>): string[] {
  const { story } = TEMPLATE;
  return [
    ...(description === TEMPLATE.description ? ['description'] : []),
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

/** Throws PRD_INVALID for a PRD that nobody has filled in: an agent would make something of its placeholders. */
export function refuseTemplate(prd: Pick<Prd, 'description' | 'stories'>, path: string): void {
  const places = findTemplateTexts(prd);
  if (places.length === 0) return;
  const name = folderOfNamedPrd(path)?.split('/').at(-1);
  throw new HaloError('PRD_INVALID', `${path}: still has placeholders of a new PRD: ${places.join('; ')}`, {
    hint: `Write what you want to have built there${name === undefined ? '' : `: \`halo prd edit ${name}\``}.`,
  });
}
