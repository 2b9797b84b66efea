/**
 * Globs, as `findProtected` takes them, of exactly these files or folders, of all that is below them, and of whatever
 * else may stand where one of their folders is.
 */
export function guardGlobs(paths: readonly string[]): string[] {
  return [...new Set(paths.flatMap(globsOf))];
}

function globsOf(path: string): string[] {
  // A character that means something in a glob stands for any one, which is a little more than itself.
  const names = path.split('/').map((name) => name.replace(/[*?{},!]/g, '?'));
  const prefixes = names.map((_, index) => names.slice(0, index + 1).join('/'));
  return [...prefixes, `${names.join('/')}/**`];
}
