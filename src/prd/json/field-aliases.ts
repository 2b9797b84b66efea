/**
 * The JSON names of each story field; the first one present is used. Case, spaces, `-` and `_` are ignored, except where
 * that exact spelling is listed here (see object-reader.ts).
 */
export const ID_KEYS = ['id', 'ID', 'key', 'taskId', 'storyId', 'task_id', 'story_id'];
export const TITLE_KEYS = ['title', 'name', 'task', 'text', 'summary'];
export const DESCRIPTION_KEYS = ['description', 'desc', 'user_visible_behavior'];
export const ACCEPTANCE_KEYS = [
  'acceptanceCriteria',
  'acceptance_criteria',
  'acceptance',
  'criteria',
  'steps',
  'verification',
  'testSteps',
  'definition_of_done',
  'subtasks',
  'testStrategy',
  'tests',
];
export const DEPENDENCY_KEYS = [
  'dependsOn',
  'dependencies',
  'depends_on',
  'depends',
  'deps',
  'blockedBy',
  'blocked_by',
  'prerequisites',
];

/** Dependency keys that may also name other things; values that are not stories are text for the agent. */
export const LOOSE_DEPENDENCY_KEYS = ['requires', 'needs', 'after'];

/** Keys of flags that record whether a story is done. */
export const FLAG_KEYS = ['passes', 'passed', 'done', 'complete', 'completed', 'tested'];
/** The same, but only if the value is a boolean; other values have another meaning. */
export const BOOLEAN_FLAG_KEYS = [
  ...['isDone', 'isComplete', 'isCompleted', 'isFinished', 'isPassed', 'isPassing'],
  ...['finished', 'implemented', 'closed', 'resolved', 'merged', 'shipped', 'passing', 'checked'],
];
/** Keys of status words; `progress` only with a known word. */
export const STATUS_KEYS = ['status', 'state', 'progress'];
/** Flags of a story in progress. */
export const STARTED_KEYS = ['inProgress', 'started'];
/** Flags of a skipped story. */
export const SKIP_KEYS = ['skip', 'wontfix'];

/** All keys that record whether a story is done. */
export const DONE_KEYS = [...FLAG_KEYS, ...BOOLEAN_FLAG_KEYS, ...STATUS_KEYS];

/** Story keys without aliases. */
export const SINGLE_KEYS = ['priority', 'notes', 'details', 'supersededBy'];
export const USER_STORY_KEYS = ['user_story', 'userStory'];
/** Keys of the name and the description of the PRD. */
export const PROJECT_KEYS = ['project', 'name', 'projectName', 'title'];
export const ABOUT_KEYS = ['description', 'goal', 'overview'];

/** Keys of the list of stories in a document, the most specific ones first. */
export const LIST_KEYS = [
  'userStories',
  'user_stories',
  'stories',
  'tasks',
  'items',
  'features',
  'steps',
  'issues',
  'backlog',
  'todos',
];
/** Keys of lists of groups, each with a list of stories. */
export const GROUP_KEYS = ['phases', 'epics', 'sprints', 'milestones', 'waves', 'gates'];
/** Keys of lists that make a story a group of stories. */
export const INNER_KEYS = ['tasks', 'stories', 'user_stories'];
/** Keys of objects that hold the whole document. */
export const WRAPPER_KEYS = ['prd', 'data', 'current_prd', 'plan', 'project'];
