/** One line of a Markdown file; comments in it are blanked. */
export interface Line {
  kind: 'heading' | 'item' | 'text' | 'code' | 'blank';
  /** The text without heading marks, bullet, checkbox and outer spaces; for code, the whole line. */
  text: string;
  /** The original line without trailing spaces. */
  raw: string;
  /** Counts from 1. */
  number: number;
  /** Offset of the line in the file, and after its last character. */
  offset: number;
  end: number;
  /** Columns before the first character; a tab counts as four. */
  indent: number;
  /** Heading level from 1 to 6; 0 for other lines. */
  level: number;
  /** The character in the checkbox of an item, and its offset. */
  box: { mark: string; offset: number } | undefined;
  /** The character of a checkbox that a bullet stands for, without being one in the file. */
  impliedMark?: string;
}

/** An unparsed line of the file. */
export interface RawLine {
  number: number;
  text: string;
  offset: number;
  /** True if it is part of a code fence. */
  code?: boolean;
}
