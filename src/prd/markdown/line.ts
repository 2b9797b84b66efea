/** One visible line of a Markdown file. */
export interface Line {
  kind: 'heading' | 'item' | 'text' | 'blank';
  /** What it says, without heading signs, bullet, box and outer spaces. */
  text: string;
  /** Counts from 1. */
  number: number;
  /** Offset of the line in the file, and behind its last character. */
  offset: number;
  end: number;
  /** Columns before its first sign; a tab counts as four. */
  indent: number;
  /** 1 to 6, of a heading. */
  level: number;
  /** The character in the box of an item, and where it is. */
  box: { mark: string; offset: number } | undefined;
}

/** A line as it stands in the file. */
export interface RawLine {
  number: number;
  text: string;
  offset: number;
}
