/** The keys of everything but stories, whose keys are in core/prd/fields.ts. */

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
export const GROUP_KEYS = [
  'phases',
  'epics',
  'sprints',
  'milestones',
  'waves',
  'gates',
  'stages',
  'groups',
  'taskGroups',
];
/** Keys of lists that make a story a group of stories. */
export const INNER_KEYS = ['tasks', 'stories', 'user_stories'];
/** Keys of maps of ids to words, which have no list. */
export const MAP_KEYS = ['development_status'];
/** Keys of objects that hold the whole document. */
export const WRAPPER_KEYS = ['prd', 'data', 'current_prd', 'plan', 'project'];
