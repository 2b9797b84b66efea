/** The forges whose issues and pull requests halo reads and writes. */
export const FORGES = ['github', 'gitlab', 'gitea'] as const;
export type ForgeName = (typeof FORGES)[number];

const PROJECT = /^[\w.-]{1,100}(?:\/[\w.-]{1,100}){1,10}$/;

/** Whether a path names a project of a forge: `owner/repo`; on GitLab, groups may be nested. */
export function isProject(forge: ForgeName, path: string): boolean {
  const parts = path.split('/');
  const isPlain = PROJECT.test(path) && !parts.some((part) => /^\.{1,2}$/.test(part));
  return isPlain && (forge === 'gitlab' || parts.length === 2);
}
