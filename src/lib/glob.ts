/**
 * A glob over `/`-separated paths as a regular expression: `*` and `?` stay within one name, `**` crosses folders
 * (`a/**` is everything below `a`, `**` followed by a slash any folders or none), `{a,b}` is either. All other
 * characters stand for themselves.
 */
export function compileGlob(glob: string): RegExp {
  let source = '';
  let open = 0;
  for (let at = 0; at < glob.length; at += 1) {
    const character = glob.charAt(at);
    if (glob.startsWith('**/', at) && (at === 0 || glob[at - 1] === '/')) {
      source += '(?:[^/]+/)*';
      at += 2;
    } else if (glob.startsWith('**', at)) {
      source += '.*';
      at += 1;
    } else if (character === '*') source += '[^/]*';
    else if (character === '?') source += '[^/]';
    else if (character === '{' && glob.includes('}', at)) {
      source += '(?:';
      open += 1;
    } else if (character === '}' && open > 0) {
      source += ')';
      open -= 1;
    } else if (character === ',' && open > 0) source += '|';
    else source += character.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  }
  return new RegExp(`^${source}${')'.repeat(open)}$`, 'su');
}
