/** The engine that something belongs to. Another machine that takes over the name has another id, and has none of it. */
export interface EngineIdentity {
  /** See `EngineAddress`. */
  name: string;
  /** What the engine reports. It changes with its data, and cloned machines may have the same. */
  id: string;
}

export function isSameEngine(a: EngineIdentity, b: EngineIdentity): boolean {
  return a.name === b.name && a.id === b.id;
}
