import { storyAddress } from '../../page/read-server.ts';
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { RunState, StoryState } from '../../../core/run/state.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { layOutGraph, NODE } from './lay-out-graph.ts';
import { storyFigures, storyWords, workText } from '../../../view/story-words.ts';

interface StoriesProps {
  run: RunState;
  now: string;
}

const TEXT_LENGTH = 25;

/** The stories of a run as a graph of their dependencies, or as a list. */
export function StoryOverview({ run, now }: StoriesProps): JSX.Element {
  const hasGraph = run.stories.some(({ dependsOn }) => dependsOn.length > 0);
  const [isList, setList] = useState(false);
  // Only a wait has words that change with the time.
  const hasWaits = run.stories.some(({ waiting }) => waiting !== undefined);
  const graph = useMemo(
    () => hasGraph && !isList && <StoryGraph run={run} now={now} />,
    [run.seq, isList, hasWaits ? now : ''],
  );
  return (
    <section aria-labelledby="stories" class={hasGraph && !isList ? 'has-graph' : ''}>
      <div class="section-head">
        <h2 id="stories">Stories</h2>
        {hasGraph && (
          <button type="button" class="graph-switch" aria-pressed={isList} onClick={() => setList(!isList)}>
            List
          </button>
        )}
      </div>
      {graph}
      <ul class="story-list" aria-label="Stories">
        {run.stories.map((story) => (
          <StoryRow key={story.id} story={story} run={run} now={now} />
        ))}
      </ul>
    </section>
  );
}

function StoryRow({ story, run, now }: StoriesProps & { story: StoryState }): JSX.Element {
  const { mark, tone } = storyWords(story, run, now);
  const text = workText(story, run, now);
  const isOver = story.progress !== 'in_progress' && story.startedAt !== undefined && story.endedAt !== undefined;
  return (
    <li>
      <a href={storyAddress(run.runId, story.id)}>
        <b class={tone} aria-hidden="true">
          {mark}
        </b>
        <span class="story-id">{safeLine(story.id)}</span> <span class={`story-state ${tone}`}>{text}</span>{' '}
        <span class="story-title">{safeLine(story.title)}</span>{' '}
        <span class="soft">{isOver && storyFigures(story, run, now).time}</span>
      </a>
    </li>
  );
}

function StoryGraph({ run, now }: StoriesProps): JSX.Element {
  const { nodes, edges, width, height } = layOutGraph(run.stories);
  const byId = new Map(run.stories.map((story) => [story.id, story]));
  return (
    <div class="graph" tabIndex={0} role="region" aria-label="Dependencies of the stories">
      <svg
        width={width + 4}
        height={height + 4}
        viewBox={`-2 -2 ${width + 4} ${height + 4}`}
        role="group"
        aria-label="Graph"
      >
        {edges.map(({ from, to, path }) => (
          <path key={`${from} ${to}`} class="edge" d={path} />
        ))}
        {nodes.map(({ id, x, y }) => {
          const story = byId.get(id);
          if (story === undefined) return null;
          const { mark, tone, text, short } = storyWords(story, run, now);
          const name = `${safeLine(id)} ${text}: ${safeLine(story.title)}`;
          return (
            <a key={id} href={storyAddress(run.runId, id)} class={`node ${tone}`}>
              <title>{name}</title>
              <rect x={x} y={y} width={NODE.width} height={NODE.height} rx="8" />
              <text x={x + 12} y={y + 19} class="node-id">
                <tspan aria-hidden="true">{mark} </tspan>
                {safeLine(id, 12)}
              </text>
              <text x={x + NODE.width - 12} y={y + 19} text-anchor="end" class="node-state">
                {safeLine(short, 12)}
              </text>
              <text x={x + 12} y={y + 36} class="node-title">
                {safeLine(story.title, TEXT_LENGTH)}
              </text>
            </a>
          );
        })}
      </svg>
    </div>
  );
}
