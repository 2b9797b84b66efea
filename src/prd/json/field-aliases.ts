/**
 * The names of each field of a story in JSON; the first one that is there counts. Case, spaces, `-` and `_` make no
 * difference, unless a name stands here in that very spelling (see find-member.ts).
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
  'deps',
  'blockedBy',
  'blocked_by',
  'prerequisites',
];

/** The same where other things are needed, too: what names no story there is text for the agent. */
export const LOOSE_DEPENDENCY_KEYS = ['requires', 'needs', 'after'];

/** Keys that say by themselves whether a story is done. */
export const FLAG_KEYS = ['passes', 'passed', 'done', 'complete', 'completed', 'tested'];
/** The same where the value is true or false; anything else under them says something else. */
export const BOOLEAN_FLAG_KEYS = [
  ...['isDone', 'isComplete', 'isCompleted', 'isFinished', 'isPassed', 'isPassing'],
  ...['finished', 'implemented', 'closed', 'resolved', 'merged', 'shipped', 'passing'],
];
/** Keys of words for progress. */
export const STATUS_KEYS = ['status', 'state'];
/** Flags of a story that is under way. */
export const STARTED_KEYS = ['inProgress', 'started'];
/** Flags of a story that is left out. */
export const SKIP_KEYS = ['skip', 'wontfix'];

/** Keys that tell whether a story is done. */
export const DONE_KEYS = [...FLAG_KEYS, ...BOOLEAN_FLAG_KEYS, ...STATUS_KEYS];

/** Keys of a story that have one name only. */
export const SINGLE_KEYS = ['priority', 'notes', 'details', 'supersededBy'];
export const USER_STORY_KEYS = ['user_story', 'userStory'];
/** Keys of what describes the whole. */
export const PROJECT_KEYS = ['project', 'name', 'projectName', 'title'];
export const ABOUT_KEYS = ['description', 'goal', 'overview'];

/** Keys under which a document keeps its list of stories, the most telling one first. */
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
/** Keys of groups, each with a list of stories in it. */
export const GROUP_KEYS = ['phases', 'epics', 'sprints', 'milestones', 'waves', 'gates'];
/** Keys of lists that make a story a group of stories. */
export const INNER_KEYS = ['tasks', 'stories', 'user_stories'];
/** Keys of objects that hold the whole document. */
export const WRAPPER_KEYS = ['prd', 'data', 'current_prd', 'plan', 'project'];
