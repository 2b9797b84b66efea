/** One line of a Markdown file; what comments hide of it is blank. */
export interface Line {
  kind: 'heading' | 'item' | 'text' | 'code' | 'blank';
  /** What it says, without heading signs, bullet, box and outer spaces; of code, all of it. */
  text: string;
  /** The line as it stands there, without spaces at its end. */
  raw: string;
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
  /** Whether it is part of a code fence. */
  code?: boolean;
}
