import { createHash } from 'node:crypto';

/**
 * A name for a story that is safe in paths, refs, trailers, labels and container names: `[a-z0-9-]`, at most 57
 * characters. Two different ids never share a key: unless the id is its own slug in lower case, 128 bits of its SHA-256
 * are appended, and an id that already ends like that counts as no slug.
 */
export function storyKey(id: string): string {
  const slug = slugOf(id);
  if (slug === id && slug !== '' && !endsLikeKey(id)) return slug;
  return withDigest(slug.slice(0, 24).replace(/-$/, ''), digestOf(id, 32));
}

/** The key of a story in a run whose journal names none, because an older halo made it. Two ids may share one. */
export function shortStoryKey(id: string): string {
  const slug = slugOf(id);
  return slug === id && slug !== '' ? slug : withDigest(slug, digestOf(id, 8));
}

/** Whether a text could be the key of another id. */
export function endsLikeKey(text: string): boolean {
  return /(?:^|-)[0-9a-f]{32}$/i.test(text);
}

function slugOf(id: string): string {
  return id
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40);
}

function digestOf(id: string, digits: number): string {
  return createHash('sha256').update(id).digest('hex').slice(0, digits);
}

function withDigest(slug: string, digest: string): string {
  return slug === '' ? digest : `${slug}-${digest}`;
}
