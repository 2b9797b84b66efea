import type { ComponentChildren, JSX } from 'preact';
import { useId, useState } from 'preact/hooks';

export interface FactProps {
  /** A few words, which are always visible. */
  title: ComponentChildren;
  tone?: 'good' | 'warn' | 'bad' | undefined;
  /** What a reviewer must not miss is open from the beginning. */
  isOpen?: boolean;
  /** What the person sees after opening it; without it, the title says everything. */
  children?: ComponentChildren;
}

/** A fact in the line of facts before a diff. What it opens is below the line. */
export function Fact({ title, tone, isOpen = false, children }: FactProps): JSX.Element {
  const [open, setOpen] = useState(isOpen);
  const id = useId();
  if (children === undefined) return <p class={`fact ${tone ?? ''}`}>{title}</p>;
  return (
    <>
      <button
        type="button"
        class={`fact ${tone ?? ''}`}
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
      >
        {title}
      </button>
      <section id={id} class="card fact-body" hidden={!open} aria-label={typeof title === 'string' ? title : undefined}>
        {children}
      </section>
    </>
  );
}
