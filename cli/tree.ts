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

/** Every noun of the tree, by its heading. To add one, write cli/commands/<noun>.ts that exports `register(command)`, and a row here. */
const nounsOf: Readonly<Record<Group, ReadonlyArray<Omit<Noun, 'group'>>>> = {
  'Work on the board': [
    {
      name: 'status',
      summary: 'Show the server, your account and the current project',
      load: () => import('./commands/status.ts'),
    },
    {
      name: 'inbox',
      summary: 'Use your inbox',
      load: () => import('./commands/inbox.ts'),
    },
    {
      name: 'search',
      summary: 'Search cards, boards and projects',
      load: () => import('./commands/search.ts'),
    },
    {
      name: 'stats',
      summary: 'Show statistics of a project',
      load: () => import('./commands/stats.ts'),
    },
    {
      name: 'usage',
      summary: 'Report the usage of agents: tokens, cost and hours',
      load: () => import('./commands/usage.ts'),
    },
    {
      name: 'ui',
      summary: 'Open the terminal board',
      load: () => import('./commands/ui.ts'),
    },
    {
      name: 'cards',
      alias: 'card',
      summary: 'Manage cards and run their agents',
      load: () => import('./commands/cards.ts'),
    },
    {
      name: 'agents',
      alias: 'agent',
      summary: 'Follow and steer the agents of cards',
      load: () => import('./commands/agents.ts'),
    },
    {
      name: 'presession',
      alias: 'presessions',
      summary: 'Refine the prompt of a card with a planning agent',
      load: () => import('./commands/presession.ts'),
    },
    {
      name: 'assistant',
      summary: 'Chat with the assistant of a project',
      load: () => import('./commands/assistant.ts'),
    },
    {
      name: 'browse',
      summary: 'Open the page in your browser',
      load: () => import('./commands/browse.ts'),
    },
  ],
  'Set up projects': [
    {
      name: 'projects',
      alias: 'project',
      summary: 'Manage projects',
      load: () => import('./commands/projects.ts'),
    },
    {
      name: 'boards',
      alias: 'board',
      summary: 'Manage boards of a project',
      load: () => import('./commands/boards.ts'),
    },
    {
      name: 'columns',
      alias: 'column',
      summary: 'Manage columns of a board',
      load: () => import('./commands/columns.ts'),
    },
    {
      name: 'templates',
      alias: 'template',
      summary: 'Manage board templates',
      load: () => import('./commands/templates.ts'),
    },
    {
      name: 'orgs',
      alias: 'org',
      summary: 'Manage organizations',
      load: () => import('./commands/orgs.ts'),
    },
    {
      name: 'budgets',
      alias: 'budget',
      summary: 'Limit the cost, tokens, runs and hours of agents',
      load: () => import('./commands/budgets.ts'),
    },
    {
      name: 'credentials',
      alias: 'credential',
      summary: 'Manage credentials of model providers and forges',
      load: () => import('./commands/credentials.ts'),
    },
    {
      name: 'export',
      summary: 'Export an organization to a JSON file',
      load: () => import('./commands/export.ts'),
    },
    {
      name: 'import',
      summary: 'Import cards from Trello, GitHub or another file',
      load: () => import('./commands/import.ts'),
    },
  ],
  Automate: [
    {
      name: 'scripts',
      alias: 'script',
      summary: 'Manage and run shell commands of a project',
      load: () => import('./commands/scripts.ts'),
    },
    {
      name: 'schedules',
      alias: 'schedule',
      summary: 'Manage schedules that create cards',
      load: () => import('./commands/schedules.ts'),
    },
    {
      name: 'gates',
      alias: 'gate',
      summary: 'Manage the checks that cards must pass',
      load: () => import('./commands/gates.ts'),
    },
    {
      name: 'landing',
      alias: 'landings',
      summary: 'Manage the queue in which cards are merged',
      load: () => import('./commands/landing.ts'),
    },
    {
      name: 'events',
      alias: 'event',
      summary: 'Follow events',
      load: () => import('./commands/events.ts'),
    },
    {
      name: 'monitors',
      alias: 'monitor',
      summary: 'Manage commands that run on a schedule while a card is active',
      load: () => import('./commands/monitors.ts'),
    },
    { name: 'api', summary: 'Call any route of the API', load: () => import('./commands/api.ts') },
    {
      name: 'keys',
      alias: 'key',
      summary: 'Manage API keys',
      load: () => import('./commands/keys.ts'),
    },
    {
      name: 'webhooks',
      alias: 'webhook',
      summary: 'Manage webhooks',
      load: () => import('./commands/webhooks.ts'),
    },
    {
      name: 'mcp',
      summary: 'Connect Claude Code, Cursor and other programs (MCP)',
      load: () => import('./commands/mcp.ts'),
    },
  ],
  'Sign in and configure': [
    {
      name: 'auth',
      summary: 'Sign in and out, and manage your sign-ins',
      load: () => import('./commands/auth.ts'),
    },
    {
      name: 'whoami',
      summary: 'Show the account of the current token',
      load: () => import('./commands/whoami.ts'),
    },
    {
      name: 'profile',
      alias: 'profiles',
      summary: 'Manage profiles for several servers',
      load: () => import('./commands/profile.ts'),
    },
    {
      name: 'settings',
      alias: 'setting',
      summary: 'Manage your settings on the server',
      load: () => import('./commands/settings.ts'),
    },
    {
      name: 'config',
      summary: 'Manage the settings of this command line',
      load: () => import('./commands/config.ts'),
    },
    {
      name: 'completion',
      summary: 'Set up shell completion',
      load: () => import('./commands/completion.ts'),
    },
    {
      name: 'version',
      summary: 'Show the versions of board, Node and the server',
      load: () => import('./commands/version.ts'),
    },
  ],
  'Run a server': [
    {
      name: 'users',
      alias: 'user',
      summary: 'Manage accounts',
      load: () => import('./commands/users.ts'),
    },
    {
      name: 'backups',
      alias: 'backup',
      summary: 'Create, verify and restore backups',
      load: () => import('./commands/backups.ts'),
    },
    {
      name: 'serve',
      summary: 'Run a server in the foreground',
      load: () => import('./commands/serve.ts'),
    },
    {
      name: 'server',
      summary: 'Manage the server of this machine',
      load: () => import('./commands/server.ts'),
    },
    {
      name: 'database',
      summary: 'Move the board to or from a libSQL server',
      load: () => import('./commands/database.ts'),
    },
    {
      name: 'doctor',
      summary: 'Find problems and their fixes',
      load: () => import('./commands/doctor.ts'),
    },
    {
      name: 'logs',
      alias: 'log',
      summary: "Show or follow the server's log",
      load: () => import('./commands/logs.ts'),
    },
    {
      name: 'fs',
      summary: 'Browse folders and files of the server',
      load: () => import('./commands/fs.ts'),
    },
  ],
}
export const nouns: readonly Noun[] = groups.flatMap(group => nounsOf[group].map(noun => ({ ...noun, group })))
