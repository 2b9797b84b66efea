import { createHash } from 'node:crypto';

/**
 * A unique key for a story id, valid in paths, refs, trailers, labels and container names: `[a-z0-9-]`, at most 57
 * characters. An id that is its own lower-case slug is its key; otherwise 128 bits of its SHA-256 are appended. Slugs that
 * end like such a digest get one, too.
 */
export function storyKey(id: string): string {
  const slug = slugOf(id);
  if (slug === id && slug !== '' && !endsLikeKey(id)) return slug;
  return withDigest(slug.slice(0, 24).replace(/-$/, ''), digestOf(id, 32));
}

/** Whether a text ends like a key with a digest. */
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
