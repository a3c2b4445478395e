import { InvalidArgumentError, Option, type Command } from 'commander'
import { delimiter } from 'node:path'
import { durationSecs } from '../parsing/arguments.ts'

/** Creates an option that can also be set by an environment variable. */
function option(flags: string, text: string, variable: string): Option {
  forget(variable, !flags.includes('<'))
  return new Option(flags, text).env(variable)
}

/** Adds the options for addresses and folders. */
export function addListening(command: Command): void {
  command
    .addOption(option('--host <host>', 'address to listen on (default: 127.0.0.1)', 'BOARD_HOST'))
    .addOption(
      option('--port <port>', 'port to listen on; 0 selects a free one (default: 4400)', 'BOARD_PORT').argParser(
        portOf,
      ),
    )
    .addOption(option('--https', 'use HTTPS with the files of --cert and --key (implied by either)', 'BOARD_HTTPS'))
    .addOption(
      option(
        '--cert <file>',
        'PEM file with the certificate and its chain; the server reloads it when it changes',
        'BOARD_TLS_CERT',
      ),
    )
    .addOption(option('--key <file>', 'PEM file with the key of the certificate', 'BOARD_TLS_KEY'))
    .addOption(option('--data-dir <folder>', 'folder with the database and the attachments', 'BOARD_DATA_DIR'))
    .addOption(
      option(
        '--database <url>',
        'address of a libSQL server that several daemons share (ws:, wss:, http:, https:, libsql:)',
        'BOARD_DATABASE',
      ).argParser(databaseOf),
    )
    .addOption(
      option(
        '--machine <name>',
        'name of this machine among those that share the database (default: its host name)',
        'BOARD_MACHINE',
      ).argParser(machineOf),
    )
    .addOption(
      option(
        '--advertise <url>',
        'address of this daemon for the other machines (default: the address that it listens on)',
        'BOARD_ADVERTISE',
      ).argParser(addressOf),
    )
    .addOption(
      option('--public-url <url>', 'public address of the server behind a proxy', 'BOARD_PUBLIC_URL').argParser(
        addressOf,
      ),
    )
    .addOption(
      option(
        '--allow-host <name>',
        'additional host name that the server accepts (repeatable)',
        'BOARD_ALLOW_HOST',
      ).argParser(listOf(',')),
    )
    .addOption(option('--trust-proxy', 'trust the client address in X-Forwarded-For', 'BOARD_TRUST_PROXY'))
    .addOption(
      option(
        '--setup-code <code>',
        'code that creates the first user from another machine; set the variable instead, so that other accounts cannot read it',
        'BOARD_SETUP_CODE',
      ),
    )
}

/** Adds the options for permissions and limits. */
export function addLimits(command: Command): void {
  command
    .addOption(
      option(
        '--project-root <folder>',
        'folder where remote users without admin rights can create projects (repeatable)',
        'BOARD_PROJECT_ROOT',
      ).argParser(listOf(delimiter)),
    )
    .addOption(
      option(
        '--browse-root <folder>',
        'folder that a super_admin can browse with board fs (default: the home folder)',
        'BOARD_BROWSE_ROOT',
      ),
    )
    .addOption(
      option(
        '--max-attachment <size>',
        'maximum size of an attachment: 50M, 1G (default: 50M)',
        'BOARD_MAX_ATTACHMENT',
      ).argParser(bytesOf),
    )
    .addOption(
      option('--max-import <size>', 'maximum size of an imported file (default: 256M)', 'BOARD_MAX_IMPORT').argParser(
        bytesOf,
      ),
    )
    .addOption(
      option(
        '--allow-private-webhooks',
        "allow webhooks, and the base URLs of users' credentials, to use private and loopback addresses",
        'BOARD_ALLOW_PRIVATE_WEBHOOKS',
      ),
    )
}

/** Adds the options for agents. */
export function addAgents(command: Command): void {
  command
    .addOption(
      option(
        '--agent-slots <number>',
        'maximum number of concurrent agents (default: 2 per core)',
        'BOARD_AGENT_SLOTS',
      ).argParser(numberOf),
    )
    .addOption(
      option(
        '--agent-requests-per-minute <number>',
        'maximum requests per minute of each agent session (default: 300)',
        'BOARD_AGENT_REQUESTS_PER_MINUTE',
      ).argParser(numberOf),
    )
    .addOption(option('--prices <file>', 'file with model prices that override the built-in prices', 'BOARD_PRICES'))
    .addOption(
      option(
        '--worktree-root <folder>',
        'folder for new worktrees of cards (default: worktrees in the data folder)',
        'BOARD_WORKTREE_ROOT',
      ),
    )
    .addOption(
      option(
        '--sandbox <mode>',
        'sandbox of agents: auto (if available), require or off (default: auto)',
        'BOARD_SANDBOX',
      ).choices(['auto', 'require', 'off']),
    )
    .addOption(
      option(
        '--sandbox-command <template>',
        'custom sandbox command with the placeholder {command}, and optionally {folder} and {cwd}',
        'BOARD_SANDBOX_COMMAND',
      ).argParser(templateOf),
    )
    .addOption(
      option(
        '--agent-silence <time>',
        'time that an agent can be silent before people are notified, or its session ends (see: board projects edit --on-silence); 0 for no limit (default: 15m)',
        'BOARD_AGENT_SILENCE',
      ).argParser(durationSecs),
    )
}

/** Adds the options for backups, logs and the output at startup. */
export function addUpkeep(command: Command): void {
  command
    .addOption(
      option(
        '--backup-every <time>',
        'create backups automatically: 30m, 6h, 1d, or a cron expression',
        'BOARD_BACKUP_EVERY',
      ),
    )
    .addOption(
      option(
        '--backup-keep <number>',
        'number of automatic backups to keep (default: 14)',
        'BOARD_BACKUP_KEEP',
      ).argParser(numberOf),
    )
    .addOption(
      option(
        '--log-level <level>',
        'log level on stderr: error, warn or info (default: warn)',
        'BOARD_LOG_LEVEL',
      ).choices(['error', 'warn', 'info']),
    )
    .addOption(
      option(
        '--log-format <format>',
        'log format: json or pretty (default: pretty on a terminal)',
        'BOARD_LOG_FORMAT',
      ).choices(['json', 'pretty']),
    )
    .addOption(option('--open', 'open the page in your browser when the server is ready', 'BOARD_OPEN'))
    .addOption(option('--qr', 'print the address as a QR code', 'BOARD_QR'))
}

/** Removes variables that are empty or false, because commander treats every value of a switch as true. */
function forget(variable: string, isSwitch: boolean): void {
  const value = process.env[variable]
  if (value === '' || (isSwitch && value !== undefined && /^(0|false|no|off)$/i.test(value)))
    delete process.env[variable]
}

function portOf(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError('must be a number from 0 to 65535.')
  return Number(text)
}

function numberOf(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError('must be a number from 1 to 9999.')
  return Number(text)
}

function templateOf(text: string): string {
  if (!text.trim().split(/\s+/).includes('{command}'))
    throw new InvalidArgumentError('must contain {command} as a separate word.')
  return text
}

function addressOf(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new InvalidArgumentError('must be an http or https address.')
  return text
}

function bytesOf(text: string): number {
  const match = /^(\d{1,12})\s*([kmg]?)i?b?$/i.exec(text)
  if (!match) throw new InvalidArgumentError('must be a size such as 50M.')
  return (
    Number(match[1]) * { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 }[match[2]!.toLowerCase() as '' | 'k' | 'm' | 'g']
  )
}

/** Parses the value of an option for a libSQL server. */
export function databaseOf(text: string): string {
  if (!URL.canParse(text) || !/^(wss?|https?|libsql):$/.test(new URL(text).protocol))
    throw new InvalidArgumentError('must be an address of a libSQL server, such as ws://db.example.com:8080.')
  const { username, password, searchParams } = new URL(text)
  if (username || password || searchParams.has('authToken'))
    throw new InvalidArgumentError(
      'must not contain a password or token, because other accounts can see it. Put the token in BOARD_DATABASE_TOKEN.',
    )
  return text
}

/** Parses the value of an option for a machine name. */
export function machineOf(text: string): string {
  if (!/^[\w.-]{1,100}$/.test(text))
    throw new InvalidArgumentError('must be 1 to 100 letters, digits, dots, hyphens or underscores.')
  return text
}

const listOf =
  (separator: string) =>
  (text: string, before: string[] | undefined): string[] => [
    ...(before ?? []),
    ...text
      .split(separator)
      .map(part => part.trim())
      .filter(Boolean),
  ]
