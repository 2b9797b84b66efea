/** Whether a recorded name is that of a user: `ann`, `ann@desk` and `ann by MCP` are `ann`. */
export function isUser(recorded: string | undefined, user: string): boolean {
  return recorded === user || ['@', ' by '].some((end) => recorded?.startsWith(`${user}${end}`) ?? false);
}

/** Whether two recorded names are those of one user, also through agents: `ann@desk` and `ann by MCP` are `ann`. */
export function isSameUser(one: string | undefined, other: string | undefined): boolean {
  const person = (name: string) => name.split(' by ')[0] ?? name;
  if (one === undefined || other === undefined) return false;
  return isUser(one, person(other)) || isUser(other, person(one));
}
