import type { Command } from 'commander'

/** What a command file exports: it fills the command that the tree has made for its noun, if need be with no other verb than the one that is meant. */
interface CommandFile {
  register(command: Command, verb?: string): void | Promise<void>
}

/** A noun (or a verb of its own) at the top of the tree. */
export interface Noun {
  name: string
  /** The singular. */
  alias?: string
  summary: string
  /** Under which head of the help it stands. */
  group: Group
  /** What stands behind the name in the help; `<command>` for a noun with verbs. */
  load: () => Promise<CommandFile>
}

export const groups = ['Work on the board', 'Set up projects', 'Sign in', 'Run a server', 'Automate'] as const
type Group = (typeof groups)[number]

/** Every noun of the tree. To add one, write cli/commands/<noun>.ts that exports `register(command)`, and a row here. */
export const nouns: readonly Noun[] = [
  {
    name: 'status',
    summary: 'Show the server, who you are, and the project at a glance',
    group: 'Work on the board',
    load: () => import('./commands/status.ts'),
  },
  {
    name: 'search',
    summary: 'Find cards, boards and projects by words',
    group: 'Work on the board',
    load: () => import('./commands/search.ts'),
  },
  {
    name: 'stats',
    summary: "Show a project's figures as bars, and how its work goes on",
    group: 'Work on the board',
    load: () => import('./commands/stats.ts'),
  },
  {
    name: 'usage',
    summary: 'Show what agents have used: tokens, cost and hours',
    group: 'Work on the board',
    load: () => import('./commands/usage.ts'),
  },
  {
    name: 'ui',
    summary: 'Open the board in this terminal, live',
    group: 'Work on the board',
    load: () => import('./commands/ui.ts'),
  },
  {
    name: 'cards',
    alias: 'card',
    summary: 'List, add, change, move and run cards',
    group: 'Work on the board',
    load: () => import('./commands/cards.ts'),
  },
  {
    name: 'agents',
    alias: 'agent',
    summary: 'See, follow and steer the agents of cards',
    group: 'Work on the board',
    load: () => import('./commands/agents.ts'),
  },
  {
    name: 'presession',
    alias: 'presessions',
    summary: "Refine a card's prompt with a planning agent",
    group: 'Work on the board',
    load: () => import('./commands/presession.ts'),
  },
  {
    name: 'assistant',
    summary: "Ask the project's assistant",
    group: 'Work on the board',
    load: () => import('./commands/assistant.ts'),
  },
  {
    name: 'projects',
    alias: 'project',
    summary: 'Manage projects, and choose the current one',
    group: 'Set up projects',
    load: () => import('./commands/projects.ts'),
  },
  {
    name: 'boards',
    alias: 'board',
    summary: "Manage a project's boards",
    group: 'Set up projects',
    load: () => import('./commands/boards.ts'),
  },
  {
    name: 'columns',
    alias: 'column',
    summary: "Manage a board's columns",
    group: 'Set up projects',
    load: () => import('./commands/columns.ts'),
  },
  {
    name: 'templates',
    alias: 'template',
    summary: 'Manage the templates of boards',
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
    summary: 'Bound what agents may use, in money, tokens, runs or hours',
    group: 'Set up projects',
    load: () => import('./commands/budgets.ts'),
  },
  {
    name: 'credentials',
    alias: 'credential',
    summary: 'Keep what agents need to call their providers',
    group: 'Set up projects',
    load: () => import('./commands/credentials.ts'),
  },
  { name: 'auth', summary: 'Sign in and out', group: 'Sign in', load: () => import('./commands/auth.ts') },
  { name: 'whoami', summary: 'Show who you are', group: 'Sign in', load: () => import('./commands/whoami.ts') },
  {
    name: 'profile',
    alias: 'profiles',
    summary: 'Keep several servers apart',
    group: 'Sign in',
    load: () => import('./commands/profile.ts'),
  },
  {
    name: 'settings',
    alias: 'setting',
    summary: 'Read and change your settings on the server',
    group: 'Set up projects',
    load: () => import('./commands/settings.ts'),
  },
  {
    name: 'config',
    summary: 'Read and change the settings of this command line',
    group: 'Set up projects',
    load: () => import('./commands/config.ts'),
  },
  {
    name: 'scripts',
    alias: 'script',
    summary: "Keep a project's shell commands and run them",
    group: 'Automate',
    load: () => import('./commands/scripts.ts'),
  },
  {
    name: 'schedules',
    alias: 'schedule',
    summary: 'Make cards again and again, at set times',
    group: 'Automate',
    load: () => import('./commands/schedules.ts'),
  },
  {
    name: 'events',
    alias: 'event',
    summary: 'Follow what happens, live',
    group: 'Automate',
    load: () => import('./commands/events.ts'),
  },
  {
    name: 'monitors',
    alias: 'monitor',
    summary: 'Run commands on a schedule while a card is active',
    group: 'Automate',
    load: () => import('./commands/monitors.ts'),
  },
  { name: 'api', summary: 'Call any route of the API', group: 'Automate', load: () => import('./commands/api.ts') },
  {
    name: 'keys',
    alias: 'key',
    summary: 'Manage API keys for programs',
    group: 'Automate',
    load: () => import('./commands/keys.ts'),
  },
  {
    name: 'webhooks',
    alias: 'webhook',
    summary: "Send a project's events to other programs",
    group: 'Automate',
    load: () => import('./commands/webhooks.ts'),
  },
  {
    name: 'mcp',
    summary: 'Give a program the board as tools (MCP)',
    group: 'Automate',
    load: () => import('./commands/mcp.ts'),
  },
  {
    name: 'export',
    summary: 'Save an organization with its projects as JSON',
    group: 'Run a server',
    load: () => import('./commands/export.ts'),
  },
  {
    name: 'import',
    summary: "Make cards of a file: the board's own, Trello's, GitHub's or Markdown",
    group: 'Run a server',
    load: () => import('./commands/import.ts'),
  },
  {
    name: 'users',
    alias: 'user',
    summary: 'Manage the accounts of a server',
    group: 'Run a server',
    load: () => import('./commands/users.ts'),
  },
  {
    name: 'backups',
    alias: 'backup',
    summary: 'Make, check and restore backups',
    group: 'Run a server',
    load: () => import('./commands/backups.ts'),
  },
  { name: 'serve', summary: 'Run a server', group: 'Run a server', load: () => import('./commands/serve.ts') },
  {
    name: 'server',
    summary: 'Start, stop and install the server of this machine',
    group: 'Run a server',
    load: () => import('./commands/server.ts'),
  },
  {
    name: 'database',
    summary: 'Move the board between this machine and a libSQL server',
    group: 'Run a server',
    load: () => import('./commands/database.ts'),
  },
  {
    name: 'doctor',
    summary: 'Look for what is wrong, and say what to do',
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
    summary: 'Look at folders and files of the server',
    group: 'Run a server',
    load: () => import('./commands/fs.ts'),
  },
  {
    name: 'completion',
    summary: 'Complete commands, columns and cards in your shell',
    group: 'Automate',
    load: () => import('./commands/completion.ts'),
  },
  {
    name: 'browse',
    summary: 'Open a page of the server in your browser',
    group: 'Automate',
    load: () => import('./commands/browse.ts'),
  },
  {
    name: 'version',
    summary: 'Show the version of this program, of Node and of the server',
    group: 'Run a server',
    load: () => import('./commands/version.ts'),
  },
]
