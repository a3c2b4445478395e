import type { Command } from 'commander'

/** The export of a command file: it fills the command of its noun. With `verb`, it can add this verb only. */
interface CommandFile {
  register(command: Command, verb?: string): void | Promise<void>
}

/** A noun, or a top-level verb. */
export interface Noun {
  name: string
  /** The singular. */
  alias?: string
  summary: string
  /** The heading in the help. */
  group: Group
  load: () => Promise<CommandFile>
}

export const groups = [
  'Work on the board',
  'Set up projects',
  'Automate',
  'Sign in and configure',
  'Run a server',
] as const
type Group = (typeof groups)[number]

/** Every noun of the tree. To add one, write cli/commands/<noun>.ts that exports `register(command)`, and a row here. */
export const nouns: readonly Noun[] = [
  {
    name: 'status',
    summary: 'Show the server, your account and the current project',
    group: 'Work on the board',
    load: () => import('./commands/status.ts'),
  },
  {
    name: 'search',
    summary: 'Search cards, boards and projects',
    group: 'Work on the board',
    load: () => import('./commands/search.ts'),
  },
  {
    name: 'stats',
    summary: 'Show statistics of a project',
    group: 'Work on the board',
    load: () => import('./commands/stats.ts'),
  },
  {
    name: 'usage',
    summary: 'Report the usage of agents: tokens, cost and hours',
    group: 'Work on the board',
    load: () => import('./commands/usage.ts'),
  },
  {
    name: 'ui',
    summary: 'Open the terminal board',
    group: 'Work on the board',
    load: () => import('./commands/ui.ts'),
  },
  {
    name: 'cards',
    alias: 'card',
    summary: 'Manage cards and run their agents',
    group: 'Work on the board',
    load: () => import('./commands/cards.ts'),
  },
  {
    name: 'agents',
    alias: 'agent',
    summary: 'Follow and steer the agents of cards',
    group: 'Work on the board',
    load: () => import('./commands/agents.ts'),
  },
  {
    name: 'presession',
    alias: 'presessions',
    summary: 'Refine the prompt of a card with a planning agent',
    group: 'Work on the board',
    load: () => import('./commands/presession.ts'),
  },
  {
    name: 'assistant',
    summary: 'Chat with the assistant of a project',
    group: 'Work on the board',
    load: () => import('./commands/assistant.ts'),
  },
  {
    name: 'projects',
    alias: 'project',
    summary: 'Manage projects',
    group: 'Set up projects',
    load: () => import('./commands/projects.ts'),
  },
  {
    name: 'boards',
    alias: 'board',
    summary: 'Manage boards of a project',
    group: 'Set up projects',
    load: () => import('./commands/boards.ts'),
  },
  {
    name: 'columns',
    alias: 'column',
    summary: 'Manage columns of a board',
    group: 'Set up projects',
    load: () => import('./commands/columns.ts'),
  },
  {
    name: 'templates',
    alias: 'template',
    summary: 'Manage board templates',
    group: 'Set up projects',
    load: () => import('./commands/templates.ts'),
  },
  {
    name: 'orgs',
    alias: 'org',
    summary: 'Manage organizations',
    group: 'Set up projects',
    load: () => import('./commands/orgs.ts'),
  },
  {
    name: 'budgets',
    alias: 'budget',
    summary: 'Limit the cost, tokens, runs and hours of agents',
    group: 'Set up projects',
    load: () => import('./commands/budgets.ts'),
  },
  {
    name: 'credentials',
    alias: 'credential',
    summary: 'Manage credentials of model providers and forges',
    group: 'Set up projects',
    load: () => import('./commands/credentials.ts'),
  },
  {
    name: 'auth',
    summary: 'Sign in and out, and manage your sign-ins',
    group: 'Sign in and configure',
    load: () => import('./commands/auth.ts'),
  },
  {
    name: 'whoami',
    summary: 'Show the account of the current token',
    group: 'Sign in and configure',
    load: () => import('./commands/whoami.ts'),
  },
  {
    name: 'profile',
    alias: 'profiles',
    summary: 'Manage profiles for several servers',
    group: 'Sign in and configure',
    load: () => import('./commands/profile.ts'),
  },
  {
    name: 'settings',
    alias: 'setting',
    summary: 'Manage your settings on the server',
    group: 'Sign in and configure',
    load: () => import('./commands/settings.ts'),
  },
  {
    name: 'config',
    summary: 'Manage the settings of this command line',
    group: 'Sign in and configure',
    load: () => import('./commands/config.ts'),
  },
  {
    name: 'scripts',
    alias: 'script',
    summary: 'Manage and run shell commands of a project',
    group: 'Automate',
    load: () => import('./commands/scripts.ts'),
  },
  {
    name: 'schedules',
    alias: 'schedule',
    summary: 'Manage schedules that create cards',
    group: 'Automate',
    load: () => import('./commands/schedules.ts'),
  },
  {
    name: 'gates',
    alias: 'gate',
    summary: 'Manage the checks that cards must pass',
    group: 'Automate',
    load: () => import('./commands/gates.ts'),
  },
  {
    name: 'events',
    alias: 'event',
    summary: 'Follow events',
    group: 'Automate',
    load: () => import('./commands/events.ts'),
  },
  {
    name: 'monitors',
    alias: 'monitor',
    summary: 'Manage commands that run on a schedule while a card is active',
    group: 'Automate',
    load: () => import('./commands/monitors.ts'),
  },
  { name: 'api', summary: 'Call any route of the API', group: 'Automate', load: () => import('./commands/api.ts') },
  {
    name: 'keys',
    alias: 'key',
    summary: 'Manage API keys',
    group: 'Automate',
    load: () => import('./commands/keys.ts'),
  },
  {
    name: 'webhooks',
    alias: 'webhook',
    summary: 'Manage webhooks',
    group: 'Automate',
    load: () => import('./commands/webhooks.ts'),
  },
  {
    name: 'mcp',
    summary: 'Connect Claude Code, Cursor and other programs (MCP)',
    group: 'Automate',
    load: () => import('./commands/mcp.ts'),
  },
  {
    name: 'export',
    summary: 'Export an organization to a JSON file',
    group: 'Set up projects',
    load: () => import('./commands/export.ts'),
  },
  {
    name: 'import',
    summary: 'Import cards from Trello, GitHub or another file',
    group: 'Set up projects',
    load: () => import('./commands/import.ts'),
  },
  {
    name: 'users',
    alias: 'user',
    summary: 'Manage accounts',
    group: 'Run a server',
    load: () => import('./commands/users.ts'),
  },
  {
    name: 'backups',
    alias: 'backup',
    summary: 'Create, verify and restore backups',
    group: 'Run a server',
    load: () => import('./commands/backups.ts'),
  },
  {
    name: 'serve',
    summary: 'Run a server in the foreground',
    group: 'Run a server',
    load: () => import('./commands/serve.ts'),
  },
  {
    name: 'server',
    summary: 'Manage the server of this machine',
    group: 'Run a server',
    load: () => import('./commands/server.ts'),
  },
  {
    name: 'database',
    summary: 'Move the board to or from a libSQL server',
    group: 'Run a server',
    load: () => import('./commands/database.ts'),
  },
  {
    name: 'doctor',
    summary: 'Find problems and their fixes',
    group: 'Run a server',
    load: () => import('./commands/doctor.ts'),
  },
  {
    name: 'logs',
    alias: 'log',
    summary: "Show or follow the server's log",
    group: 'Run a server',
    load: () => import('./commands/logs.ts'),
  },
  {
    name: 'fs',
    summary: 'Browse folders and files of the server',
    group: 'Run a server',
    load: () => import('./commands/fs.ts'),
  },
  {
    name: 'completion',
    summary: 'Set up shell completion',
    group: 'Sign in and configure',
    load: () => import('./commands/completion.ts'),
  },
  {
    name: 'browse',
    summary: 'Open the page in your browser',
    group: 'Work on the board',
    load: () => import('./commands/browse.ts'),
  },
  {
    name: 'version',
    summary: 'Show the versions of board, Node and the server',
    group: 'Sign in and configure',
    load: () => import('./commands/version.ts'),
  },
]
