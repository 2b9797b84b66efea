import type { JSX } from 'preact';
import { classesOf, markFound, readAnsi, type AnsiSpan } from './read-ansi.ts';

/** A line of a program with its colors. */
export function AnsiLine({ text, search = '' }: { text: string; search?: string }): JSX.Element {
  return <MarkedSpans spans={readAnsi(text)} search={search} />;
}

/** Spans, with the searched text marked. */
export function MarkedSpans({ spans, search }: { spans: readonly AnsiSpan[]; search: string }): JSX.Element {
  return (
    <>
      {markFound(spans, search).map(({ text, style, isFound }, index) => {
        const classes = classesOf(style);
        if (isFound) return <mark key={index}>{text}</mark>;
        return classes === '' ? (
          text
        ) : (
          <span key={index} class={classes}>
            {text}
          </span>
        );
      })}
    </>
  );
}
