/** The roles of users of a server, from the least to the most. */
export const ROLES = ['viewer', 'submitter', 'operator', 'admin'] as const;

export type Role = (typeof ROLES)[number];

/** In place of a role, for a person with the token of the server. */
export const OWNER = 'owner';

/**
 * What an operation needs: `read` changes nothing, `submit` creates runs, `control` changes runs, `operate` accepts or
 * discards work of others, and `administer` changes the server and its users.
 */
export const ACCESSES = ['read', 'submit', 'control', 'operate', 'administer'] as const;

export type Access = (typeof ACCESSES)[number];

/** `own`: only for runs that the user submitted. */
export type Grant = 'all' | 'own' | 'none';

const GRANTS: Record<Role, Partial<Record<Access, Grant>>> = {
  viewer: { read: 'all' },
  submitter: { read: 'all', submit: 'all', control: 'own' },
  operator: { read: 'all', submit: 'all', control: 'all', operate: 'all' },
  admin: { read: 'all', submit: 'all', control: 'all', operate: 'all', administer: 'all' },
};

/** Whether a role includes an access. */
export function grantOf(role: Role, access: Access): Grant {
  return GRANTS[role][access] ?? 'none';
}

/** What a request may cause beyond work on the branch of its run: `answer` questions of its runs, `land` work. */
export const RIGHTS = ['answer', 'land'] as const;

export type Right = (typeof RIGHTS)[number];

/** The rights of a role, as far as the settings of its requests need them. */
export function rightsOf(role: Role): Right[] {
  const needed: Record<Right, Access> = { answer: 'control', land: 'operate' };
  return RIGHTS.filter((right) => grantOf(role, needed[right]) !== 'none');
}

/** A user of a server. */
export interface User {
  /** Unique; the name in journals. */
  name: string;
  role: Role;
  /** Paths and addresses of the only repositories whose runs the user can see and submit; `*` stands for any text. */
  repositories?: readonly string[] | undefined;
}

/** Whether a user may see and submit runs of a repository, by its path or address. */
export function mayUseRepository({ repositories }: Pick<User, 'repositories'>, source: string): boolean {
  if (repositories === undefined) return true;
  if (DOT_SEGMENT.test(source) || ENCODED.test(source)) return false;
  return repositories.some((pattern) => toRegExp(pattern).test(withoutEnd(source)));
}

/** Such a path leads out of the folder that a pattern names. */
const DOT_SEGMENT = /(?:^|[/:])\.\.?(?:\/|$)/;
/** The same in the form of URLs, which git decodes: an encoded dot, slash or backslash. */
const ENCODED = /%(?:2e|2f|5c)/i;

function toRegExp(pattern: string): RegExp {
  const parts = withoutEnd(pattern)
    .split('*')
    .map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's');
}

/** Servers ignore these endings. */
function withoutEnd(source: string): string {
  return source.replace(/\/+$/, '').replace(/\.git$/, '');
}
