/** What images of an engine contain. */
export interface EngineImages {
  /** The name of the engine. */
  engine: string;
  /** Digests by image: see `imageContent`. */
  contents: Readonly<Record<string, string>>;
}

/**
 * An image that differs on another engine than the one on which the run began; undefined if there is none. The images of
 * that engine itself may be built again meanwhile.
 */
export function findOtherImage(began: EngineImages | undefined, here: EngineImages): string | undefined {
  if (began === undefined || began.engine === here.engine) return undefined;
  return Object.keys(here.contents).find(
    (image) => began.contents[image] !== undefined && began.contents[image] !== here.contents[image],
  );
}
