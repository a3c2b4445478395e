/** Synonyms of verbs in other programs. */
const verbs = [
  ['list', 'ls', 'all'],
  ['view', 'show', 'get', 'info', 'cat', 'describe', 'open'],
  ['create', 'add', 'new', 'make'],
  ['edit', 'update', 'set', 'change', 'modify', 'rename'],
  ['delete', 'remove', 'rm', 'del', 'destroy', 'revoke', 'detach'],
  ['cancel', 'stop', 'kill', 'abort'],
  ['run', 'start', 'launch', 'exec'],
  ['move', 'mv'],
  ['complete', 'done', 'finish', 'close'],
  ['login', 'signin', 'logon'],
  ['logout', 'signout'],
  ['register', 'signup'],
  ['logs', 'log', 'tail'],
  ['diff', 'changes', 'changed'],
]
/** Synonyms of nouns in other programs. */
export const nounsElsewhere: Record<string, readonly string[]> = {
  cards: ['issue', 'issues', 'task', 'tasks', 'ticket', 'tickets', 'todo', 'item', 'items'],
  projects: ['repo', 'repos', 'repository', 'workspace', 'workspaces'],
  orgs: ['organization', 'organizations', 'organisation', 'organisations', 'team', 'teams'],
  columns: ['lane', 'lanes'],
  keys: ['token', 'tokens', 'apikey', 'apikeys'],
  users: ['account', 'accounts', 'people'],
  webhooks: ['hook', 'hooks', 'slack', 'discord'],
  budgets: ['quota', 'spend', 'spending', 'money'],
  usage: ['cost', 'costs', 'price', 'billing'],
  schedules: ['cron', 'crontab', 'daily', 'weekly', 'monday'],
  import: ['trello'],
  ui: ['tui', 'kanban'],
}

/** Returns the verbs that mean the same as the word, with the word. Empty if the word is none of them. */
export const verbSynonyms = (word: string): string[] => verbs.filter(each => each.includes(word)).flat()

/** Returns the names of commands that are synonyms of the word. */
export const synonymsOf = (word: string): string[] => [
  ...verbSynonyms(word),
  ...Object.keys(nounsElsewhere).filter(noun => nounsElsewhere[noun]!.includes(word)),
]
