import { lookup, type LookupAddress } from 'node:dns'
import { availableParallelism, homedir } from 'node:os'
import { systemClock, type Clock } from '../async/clock.ts'
import { isLoopbackHost } from '../contract/networkHosts.ts'
import type { OauthClients } from './oauthClients.ts'

/** Finds all addresses of a name, as dns.lookup does. */
export type Lookup = (
  hostname: string,
  options: { all: true },
  callback: (error: Error | null, addresses: LookupAddress[]) => void,
) => void

/** PEM files of a certificate (with the chain of its authorities) and its key, and the passphrase of an encrypted key. */
export interface CertificateFiles {
  cert: string
  key: string
  passphrase?: string
}

/** The configuration of a server. Paths are absolute. */
export interface ServerConfig {
  host: string
  /** 0 picks a free port. */
  port: number
  /** If set, the server accepts only HTTPS. */
  tls?: CertificateFiles
  dataDir: string
  /** The folder for new worktrees, instead of the one in the data folder. */
  worktreeRoot?: string
  /** Earlier folders for worktrees. Worktrees stay where they were created. */
  earlierWorktreeRoots?: readonly string[]
  /**
   * The libSQL server with the database, instead of a file in the data folder; its token; this machine's name among those that
   * share it; and the address of this daemon for the others, if it differs from the listening address.
   */
  database?: { url: string; token?: string; host: string; advertise?: string }
  /** The public origin (and path) of a server behind a proxy. */
  publicUrl?: string
  /** Host names that requests can have in addition to loopback names, `host` and `publicUrl`'s. */
  allowHosts: readonly string[]
  /** Whether `X-Forwarded-For` names the peer. */
  trustProxy: boolean
  /** The one-time code for the first user from another machine. Generated if it is needed and not set. */
  setupCode?: string
  /**
   * The key that encrypts secrets in the database: 32 bytes in base64 or hexadecimal. Without it, the data folder contains one.
   */
  secretKey?: string
  /** The OAuth clients for device authorizations, by provider. */
  oauthClients: OauthClients
  /** Folders below which a plain user can create projects while the server listens on other addresses than loopback. */
  projectRoots: readonly string[]
  /** The folder below which a super_admin can browse the server's machine. */
  browseRoot: string
  maxAttachmentBytes: number
  /** The maximum size of an imported file. */
  maxImportBytes: number
  /** Whether agents run in a sandbox: if one is available, always, or never. */
  sandbox: 'auto' | 'require' | 'off'
  /** The command of a custom sandbox, with `{command}` in it. */
  sandboxCommand?: string
  /** The maximum time to wait for a project's upstream before work starts without it. */
  fetchTimeoutMs: number
  /** The intervals between reads of an open pull request from its forge: `minMs` after a change, up to `maxMs` without one. */
  forgePolling: { minMs: number; maxMs: number }
  /** The maximum number of concurrent agents. More wait in a queue. */
  agentSlots: number
  /**
   * The retry times of a card whose agent has reached a usage limit. If the agent does not report the end of the limit, the card is retried
   * after `firstMs`, then at intervals that double up to `maxMs`. If the agent reaches the limit again immediately, the card is retried
   * after `repeatMs`, then at doubling intervals.
   */
  usageLimitTiming: { firstMs: number; maxMs: number; repeatMs: number }
  /** A file with prices of models, which override those that ship with the board. */
  pricesFile?: string
  /**
   * How long an agent can show no sign of life before users are notified, or its turn is ended according to the project. 0:
   * unlimited.
   */
  agentSilenceMs: number
  /** How long an agent can be silent before users are notified. */
  agentQuietMs: number
  /** The program of the watchdog (`src/process/watchdogProgram.ts`, built). Without it, there is no watchdog. */
  watchdogProgram?: string
  /** The folder of the built page (`daemon/web`). Without it, there is no page. */
  webRoot?: string
  /** The folder of the documentation (`docs`). Undefined for a server without documentation. */
  docsRoot?: string
  /** The maximum duration of a monitor's run. */
  monitorTimeoutMs: number
  /** How long a preview of a card's worktree runs after a user last viewed it. */
  previewLeaseMs: number
  /** Whether webhooks, and the base URLs of plain users' credentials, can lead to this machine and its network. */
  allowPrivateWebhooks: boolean
  /** The time limit for a webhook's receiver, and the pauses before a message is sent again. */
  webhookTiming: { timeoutMs: number; retrySecs: readonly number[] }
  /** The interval of scheduled backups: `6h`, `30m`, or a cron expression. */
  backupEvery?: string
  /** The number of scheduled backups to keep. */
  backupKeep: number
  /** Requests per minute and API key on external routes (specification "Limits"). */
  externalRequestsPerMinute: number
  /** Requests per minute of each agent session, and of each agent token that a user created. */
  agentRequestsPerMinute: number
  /** The maximum number of pending exports and of pending imports. Two of each run concurrently, and the others wait. */
  maxTransfers: number
  /** The log level on stderr. With `info`, every read request is also logged. */
  logLevel: 'error' | 'warn' | 'info'
  /** The format of the log on stderr: for people on a terminal, otherwise as JSON. */
  logFormat?: 'json' | 'pretty'
  /**
   * The folder with the kernel's socket tables, which contain the account behind a connection on this machine. If it is missing,
   * local connections are not trusted.
   */
  socketTables: string
  clock: Clock
  lookup: Lookup
}

export const serverDefaults = {
  host: '127.0.0.1',
  port: 4400,
  allowHosts: [],
  trustProxy: false,
  oauthClients: {},
  projectRoots: [],
  browseRoot: homedir(),
  maxAttachmentBytes: 50 * 1024 * 1024,
  maxImportBytes: 256 * 1024 * 1024,
  sandbox: 'auto',
  fetchTimeoutMs: 30_000,
  forgePolling: { minMs: 15_000, maxMs: 300_000 },
  agentSlots: 2 * availableParallelism(),
  usageLimitTiming: { firstMs: 15 * 60_000, maxMs: 6 * 3_600_000, repeatMs: 60_000 },
  agentSilenceMs: 15 * 60_000,
  agentQuietMs: 60_000,
  monitorTimeoutMs: 10 * 60_000,
  previewLeaseMs: 2 * 60_000,
  allowPrivateWebhooks: false,
  webhookTiming: { timeoutMs: 15_000, retrySecs: [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400] },
  backupKeep: 14,
  externalRequestsPerMinute: 100,
  agentRequestsPerMinute: 300,
  maxTransfers: 32,
  logLevel: 'warn',
  socketTables: '/proc/net',
  clock: systemClock,
  lookup,
} satisfies Partial<ServerConfig>

/** The address at which clients on this machine reach a server that listens on this host. */
export const reachableAddress = (host: string): string =>
  host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host

/** The scheme of the server itself. */
export const schemeOf = ({ tls }: Pick<ServerConfig, 'tls'>): 'http' | 'https' => (tls ? 'https' : 'http')

/** Whether only this machine can reach the server: it listens on loopback and there is no proxy in front of it. */
export const isLocalOnly = (config: ServerConfig): boolean =>
  isLoopbackHost(config.host) && !config.trustProxy && knowsItsPeers(config)

/** Behind a proxy whose headers are not trusted, all peers look like this machine. */
export const knowsItsPeers = ({ publicUrl, trustProxy }: ServerConfig): boolean =>
  trustProxy || publicUrl === undefined || isLoopbackHost(new URL(publicUrl).hostname)
