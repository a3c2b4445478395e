import { lookup, type LookupAddress } from 'node:dns'
import { availableParallelism, homedir } from 'node:os'
import { isLoopbackHost } from '../contract/networkHosts.ts'
import type { OauthClients } from './oauthClients.ts'

/** Finds all addresses of a name, as dns.lookup does. */
export type Lookup = (
  hostname: string,
  options: { all: true },
  callback: (error: Error | null, addresses: LookupAddress[]) => void,
) => void

/** PEM files of a certificate (with the chain of its authorities) and its key, and what opens the key where it is encrypted. */
export interface CertificateFiles {
  cert: string
  key: string
  passphrase?: string
}

/** How a server runs. Paths are absolute. */
export interface ServerConfig {
  host: string
  /** 0 picks a free one. */
  port: number
  /** With it the server speaks HTTPS and nothing else. */
  tls?: CertificateFiles
  dataDir: string
  /** The folder below which new worktrees are made, instead of the one in the data folder. */
  worktreeRoot?: string
  /** The folders that it was before: worktrees stay where they are. */
  earlierWorktreeRoots?: readonly string[]
  /** The libSQL server that keeps the database, instead of a file in the data folder, the token that it wants, this machine's name among those that share it, and where their daemons reach this one, if not at the address that it listens on. */
  database?: { url: string; token?: string; host: string; advertise?: string }
  /** The origin (and path) by which people reach a server that stands behind a proxy. */
  publicUrl?: string
  /** Host names that requests may carry beside loopback names, `host` and `publicUrl`'s. */
  allowHosts: readonly string[]
  /** Whether `X-Forwarded-For` names the peer. */
  trustProxy: boolean
  /** The one-time code for the first user from beyond this machine. Made up when needed and not given. */
  setupCode?: string
  /** The key that seals secrets in the database: 32 bytes in base64 or hexadecimal. Without it the data folder holds one. */
  secretKey?: string
  /** The OAuth clients with which device authorizations start, by provider. */
  oauthClients: OauthClients
  /** Folders below which a plain user may create projects while the server listens beyond loopback. */
  projectRoots: readonly string[]
  /** The folder below which a super_admin may look around on the server's machine. */
  browseRoot: string
  maxAttachmentBytes: number
  /** How large a file may be that is imported. */
  maxImportBytes: number
  /** Whether agents are kept apart: where that works, always, or not at all. */
  sandbox: 'auto' | 'require' | 'off'
  /** The command of walls of one's own, with `{command}` in it. */
  sandboxCommand?: string
  /** How long a project's upstream may take to answer before work starts without it. */
  fetchTimeoutMs: number
  /** How often an open pull request is looked at on its forge: after `minMs` when something happens on it, after `maxMs` when nothing does. */
  forgePolling: { minMs: number; maxMs: number }
  /** How many agents work at once; more wait in a queue. */
  agentSlots: number
  /**
   * When a card tries again whose agent has reached a usage limit: after `firstMs`, doubling up to `maxMs`, where the agent does not say
   * when it ends; where the same limit is reached again at once, after `repeatMs`, doubling.
   */
  usageLimitTiming: { firstMs: number; maxMs: number; repeatMs: number }
  /** A file of prices of models, which go before those that ship with the board. */
  pricesFile?: string
  /** How long an agent may show no sign of life before people are told so, or its turn is ended as the project has it; 0 for ever. */
  agentSilenceMs: number
  /** How long an agent says nothing before people are told so. */
  agentQuietMs: number
  /** The program that a watchdog becomes (`src/process/watchdogProgram.ts`, built). Without it there is none. */
  watchdogProgram?: string
  /** The folder of the built page (`daemon/web`). Without it there is none. */
  webRoot?: string
  /** The folder of the documentation (`docs`). Undefined for a server without documentation. */
  docsRoot?: string
  /** How long a run of a monitor may take. */
  monitorTimeoutMs: number
  /** How long a preview of a card's worktree runs after somebody has looked at it. */
  previewLeaseMs: number
  /** Whether webhooks, and the base URLs of plain users' credentials, may lead to this machine and into its network. */
  allowPrivateWebhooks: boolean
  /** How long a webhook's receiver has for its answer, and the pauses before a message is sent again. */
  webhookTiming: { timeoutMs: number; retrySecs: readonly number[] }
  /** How often a backup is made by itself: `6h`, `30m`, or a cron expression. */
  backupEvery?: string
  /** How many of the backups that are made by themselves are kept. */
  backupKeep: number
  /** Requests a minute and API key on external routes (specification "Limits"). */
  externalRequestsPerMinute: number
  /** Requests a minute of each session of an agent, and of each agent token that a person minted. */
  agentRequestsPerMinute: number
  /** How many exports, and how many imports, may be under way at once. Two of each are at work, the others wait. */
  maxTransfers: number
  /** How much of the log goes to stderr; with `info` every read request is logged too. */
  logLevel: 'error' | 'warn' | 'info'
  /** How the log stands on stderr: for people where that is a terminal, else as JSON. */
  logFormat?: 'json' | 'pretty'
  /** The folder of the kernel's tables of sockets, which tell the account behind a connection on this machine. Where it is not there, nobody is trusted for being here. */
  socketTables: string
  clock: () => Date
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
  clock: () => new Date(),
  lookup,
} satisfies Partial<ServerConfig>

/** Where clients on this machine reach a server that listens on this host. */
export const reachable = (host: string): string =>
  host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host

/** What the server itself speaks. */
export const schemeOf = ({ tls }: Pick<ServerConfig, 'tls'>): 'http' | 'https' => (tls ? 'https' : 'http')

/** Whether only this machine can reach the server: it listens on loopback and no proxy stands before it. */
export const isLocalOnly = (config: ServerConfig): boolean =>
  isLoopbackHost(config.host) && !config.trustProxy && knowsItsPeers(config)

/** Behind a proxy that is not trusted to name them, all peers look like this machine. */
export const knowsItsPeers = ({ publicUrl, trustProxy }: ServerConfig): boolean =>
  trustProxy || publicUrl === undefined || isLoopbackHost(new URL(publicUrl).hostname)
