import type { Reach } from '../../src/serviceStages.ts'
import { toNodeHandler } from 'h3/node'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { createApp, type App } from '../../src/app.ts'
import type { Host } from '../../src/backups/restoreBackup.ts'
import { readAgents } from '../../src/agents/providers/configuredProviders.ts'
import { causeOf, logFor } from '../../src/config/log.ts'
import type { ServerConfig } from '../../src/config/server.ts'
import { hasSocketTables } from '../../src/system/socketOwner.ts'
import { Problem } from '../../src/contract/errors.ts'
import { isOpen, requireSafeAuthSettings } from '../../src/identity/authSettings.ts'
import type { Logs } from '../../src/logs/logs.ts'
import { retryWhileBusy } from '../../src/store/engine/retry.ts'
import { registerGauges } from './gauges.ts'
import { createDrainGate, type DrainGate, type Listener } from '../limits/drainGate.ts'
import { createRouter } from '../http/router.ts'
import { createSocketServer, type SocketServer } from '../socket/socketServer.ts'
import { closeCodes } from '../socket/connection.ts'
import { startTimetable } from './timetable.ts'

/** The maximum time for in-progress answers when the board is closed. */
export const drainMs = 10_000
const drainOnLossMs = 2000

interface OpenBoard {
  app: App
  answer: Listener
  socket: SocketServer
  timetable?: { stop(): Promise<void> }
}

/** The open board of a data folder. A restore closes it and opens another one in its place. */
export class BoardHost implements Host {
  /** The listener of all requests. */
  readonly listen: Listener
  readonly #config: ServerConfig
  readonly #logs: Logs
  readonly #onReplaced: (app: App) => void
  readonly #gate: DrainGate
  #now!: OpenBoard
  #reach: Reach | undefined
  #replacing: Promise<unknown> | undefined

  private constructor(config: ServerConfig, logs: Logs, onReplaced: (app: App) => void) {
    this.#config = config
    this.#logs = logs
    this.#onReplaced = onReplaced
    this.#gate = createDrainGate(() => this.#now.answer)
    this.listen = this.#gate.listen
  }

  /** @param onReplaced called with each board after a restore */
  static async open(config: ServerConfig, logs: Logs, onReplaced: (app: App) => void = () => {}): Promise<BoardHost> {
    const serving = new BoardHost(config, logs, onReplaced)
    serving.#now = await open(config, logs, serving)
    return serving
  }

  /** The board that is open now. */
  get app(): App {
    return this.#now.app
  }

  sockets(): number {
    return this.#now.socket.count()
  }

  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#now.socket.handleUpgrade(request, socket, head)
  }

  /** Starts periodic work and agents, which reach the server at this address. */
  start(reach: Reach): void {
    this.#reach = reach
    this.#takeUpWork()
  }

  replace<T>(request: IncomingMessage, keep: () => Promise<T>, swap: (kept: T) => Promise<void>): Promise<T> {
    if (this.#replacing) throw new Problem('CONFLICT', 'A restore is already in progress.')
    const replaced = this.#replace(request, keep, swap).finally(() => {
      this.#replacing = undefined
    })
    this.#replacing = replaced.catch(() => {
      /* The caller receives the error. */
    })
    return replaced
  }

  /** Ends background work: periodic jobs, agents, sockets, and a restore under way. */
  async stopBackground(): Promise<void> {
    this.#reach = undefined
    // A running backup is aborted, not awaited.
    await this.#now.app.backups.close()
    await this.#replacing
    const { app, socket, timetable } = this.#now
    await Promise.all([timetable?.stop(), app.stopServices(), socket.close()])
  }

  close(): Promise<void> {
    return this.#now.app.close()
  }

  async #replace<T>(request: IncomingMessage, keep: () => Promise<T>, swap: (kept: T) => Promise<void>): Promise<T> {
    const { app, socket, timetable } = this.#now
    // A tool that waits for an agent is a POST request. Otherwise, the drain would wait for it until the timeout.
    await app.cardWaits.stop()
    app.supervisor.releaseCalls()
    await this.#gate.drain('reading', request, drainMs)
    await Promise.all([timetable?.stop(), app.stopServices()])
    const kept = await toOutcome(keep)
    await Promise.all([this.#gate.drain('closed', request, drainMs), socket.close(closeCodes.restarting)])
    await app.close()
    const outcome = 'error' in kept ? kept : await toOutcome(() => swap(kept.value))
    await this.#openAnew(app.identity.localToken)
    if ('error' in kept) throw kept.error
    if ('error' in outcome) throw outcome.error
    return kept.value
  }

  async #openAnew(localToken: string): Promise<void> {
    this.#now = await open(this.#config, this.#logs, this, localToken).catch((error: unknown) => {
      this.#logs.log('error', 'The board could not be opened again. Restart the server.', { cause: causeOf(error) })
      throw error
    })
    this.#takeUpWork()
    this.#onReplaced(this.#now.app)
    this.#gate.reopen()
  }

  /** Another daemon has taken over the duties of this one. This daemon reopens the board and waits for its turn. */
  #relieve(): void {
    if (this.#replacing || this.#reach === undefined) return
    this.#logs.log('warn', 'Another daemon has taken over the duties of this one. This daemon reopens the board.')
    this.#replacing = this.#reopen()
      .catch(() => {
        /* The failure is already logged. */
      })
      .finally(() => {
        this.#replacing = undefined
      })
  }

  async #reopen(): Promise<void> {
    const { app, socket, timetable } = this.#now
    await Promise.all([
      timetable?.stop(),
      app.stopServices(),
      socket.close(closeCodes.restarting),
      this.#gate.drain('closed', undefined, drainOnLossMs),
    ])
    await app.close()
    await this.#openAnew(app.identity.localToken)
  }

  #takeUpWork(): void {
    if (this.#reach === undefined) return
    this.#now.timetable = startTimetable(this.#now.app, logFor(this.#logs.log, 'timetable'))
    this.#now.app.startServices(this.#reach, () => this.#relieve())
  }
}

const authenticationOffWarning = async ({ socketTables }: ServerConfig) =>
  (await hasSocketTables(socketTables))
    ? 'Authentication is off: every process of the account that the server runs under acts as super_admin.'
    : 'Authentication is off, but the server cannot determine the account of a request on this platform. It still requires a token.'

const toOutcome = <T>(work: () => Promise<T>): Promise<{ value: T } | { error: unknown }> =>
  work().then(
    value => ({ value }),
    (error: unknown) => ({ error }),
  )

async function open(config: ServerConfig, logs: Logs, host: Host, localToken?: string): Promise<OpenBoard> {
  const app = await createApp(config, logs, { host, localToken })
  try {
    await retryWhileBusy(() => requireSafeAuthSettings(app))
    if (await retryWhileBusy(() => isOpen(app))) logs.log('warn', await authenticationOffWarning(config))
    await readAgents(config.dataDir).catch((error: Error) =>
      logs.log('warn', `${error.message} Until this is fixed, no agent starts.`, {
        file: join(config.dataDir, 'config.json'),
      }),
    )
    const socket = createSocketServer(app, logFor(logs.log, 'socket'))
    registerGauges(app, socket.count)
    return { app, socket, answer: toNodeHandler(createRouter(app)) as Listener }
  } catch (error) {
    await app
      .close()
      .catch((cause: unknown) => logs.log('error', 'The board could not be closed.', { cause: causeOf(cause) }))
    throw error
  }
}
