import { createHash } from 'node:crypto';

/**
 * A name for a story that is safe in paths, refs, labels and container names: `[a-z0-9-]`, at most 49 characters.
 * Story ids come from users, so two different ids never share a key: unless the id is its own slug
 * in lower case, a digest of it is appended.
 */
export function storyKey(id: string): string {
  const slug = id
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40);
  if (slug === id && slug !== '') return slug;
  const digest = createHash('sha256').update(id).digest('hex').slice(0, 8);
  return slug === '' ? digest : `${slug}-${digest}`;
}
