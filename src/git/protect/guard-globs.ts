/**
 * Returns globs for `findProtected` that match these files or folders, everything below them, and anything that replaces
 * one of their parent folders.
 */
export function guardGlobs(paths: readonly string[]): string[] {
  return [...new Set(paths.flatMap(globsOf))];
}

function globsOf(path: string): string[] {
  // Glob characters become `?`, which matches slightly more than the character itself.
  const names = path.split('/').map((name) => name.replace(/[*?{},!]/g, '?'));
  const prefixes = names.map((_, index) => names.slice(0, index + 1).join('/'));
  return [...prefixes, `${names.join('/')}/**`];
}
