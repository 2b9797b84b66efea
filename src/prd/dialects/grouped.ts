import type { Story } from '../../core/prd/prd.ts';
import type { JsonDialect } from '../dialect.ts';
import { readJsonPrd } from '../json/read-json.ts';
import { writeJson, writeStory, writeWhole } from '../json/write-json.ts';
import { defined } from '../../lib/guards.ts';

/** Stories in groups (`phases[].tasks[]`, `userStories[].tasks[]`) or a list in a wrapper object. */
export const grouped: JsonDialect = {
  id: 'grouped',
  format: 'json',
  title: 'grouped (phases, epics or stories that hold lists of stories; or a list below prd, data or plan)',
  doneWord: 'done',
  detects: ({ found }) => found !== undefined && (found.kind === 'group' || found.wrapped),
  read: readJsonPrd,
  write: ({ stories, ...whole }) => {
    const phases = groupInOrder(stories).map(({ name, members }) => ({ name, tasks: members.map(writeMember) }));
    return writeJson({ ...writeWhole(whole), phases });
  },
};

/** Groups consecutive stories of the same group; keeps the order of the stories. */
function groupInOrder(stories: Story[]): { name: string; members: Story[] }[] {
  const groups: { name: string; members: Story[] }[] = [];
  for (const story of stories) {
    const name = typeof story.extra.group === 'string' ? story.extra.group : 'Stories';
    const last = groups.at(-1);
    if (last?.name === name) last.members.push(story);
    else groups.push({ name, members: [story] });
  }
  return groups;
}

function writeMember(story: Story): Record<string, unknown> {
  const { group, ...rest } = writeStory(story);
  return typeof group === 'string' ? rest : { ...rest, ...defined({ group }) };
}
