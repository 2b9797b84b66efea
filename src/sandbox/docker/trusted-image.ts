/** halo's own image: it prepares and exports workspaces, and is the default for all other phases. */
export const TRUSTED_IMAGE = 'halo-sandbox';

/** Where that image keeps the agents, `wait` and `forward`; other images get it through a volume. */
export const TOOLS_DIR = '/opt/halo';

/** Labels of that image which tell the versions of the programs in it: `dev.halo.version.codex`. */
export const VERSION_LABEL = 'dev.halo.version';
