/** The spellings of each field of a story in JSON; the first one that is there counts. */
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

/** Keys that say by themselves whether a story is done. */
export const FLAG_KEYS = ['passes', 'passed', 'done', 'complete', 'completed', 'tested'];
export const STATUS_KEY = 'status';
/** Flags of a story that is under way. */
export const STARTED_KEYS = ['inProgress', 'started'];
/** Flags of a story that is left out. */
export const SKIP_KEYS = ['skip', 'wontfix'];

/** Keys that tell whether a story is done. */
export const DONE_KEYS = [...FLAG_KEYS, STATUS_KEY];

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
