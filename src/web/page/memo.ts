import { Component, type ComponentType, type JSX } from 'preact';

/** A component that is drawn again only if a property changes, for long lists. Hooks work in it. */
export function memo<P extends object>(draw: (props: P) => JSX.Element): ComponentType<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const names = new Set([...Object.keys(this.props), ...Object.keys(next)]) as Set<keyof P>;
      return [...names].some((name) => this.props[name] !== next[name]);
    }

    override render(): JSX.Element {
      return draw(this.props);
    }
  };
}
