import { readHostFile } from '../../../config/host-rules.ts';

/** Reads `[traces]`, `network.ca_file` and the address of the dashboard from config.toml of a HALO_HOME. Throws CONFIG_INVALID. */
export async function readTraceSettings(home: string) {
  const { traces, config, server } = await readHostFile(home);
  return { ...traces, caFile: config.network.caFile, page: server.url?.replace(/\/+$/, '') };
}
