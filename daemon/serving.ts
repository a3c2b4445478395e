import { toNodeHandler } from 'h3/node'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { createApp, type App } from '../src/app.ts'
import type { Host } from '../src/backups/restoring.ts'
import { causeOf, from } from '../src/config/log.ts'
import type { ServerConfig } from '../src/config/server.ts'
import { Problem } from '../src/contract/errors.ts'
import { isOpen, requireClosedDoor } from '../src/identity/authSettings.ts'
import type { Logs } from '../src/logs/logs.ts'
import { describeFigures } from './figures.ts'
import { createGate, type Listener } from './gate.ts'
import { createHttp } from './http.ts'
import { createSocket, type Socket } from './socket.ts'
import { closeCodes } from './socket/connection.ts'
import { startTimetable } from './timetable.ts'

/** How long what is being answered may take when the board is taken down. */
export const drainMs = 10_000

/** The board on a data folder, as it answers. A restore takes it down and opens another one in its place. */
export interface Serving {
  /** The board that is open now. */
  readonly app: App
  listen: Listener
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  sockets(): number
  /** Takes up periodic work and agents, which reach the server at this address. */
  start(url: string): void
  /** Ends what goes on by itself: periodic work, agents, sockets, and a restore that is going on. */
  quiet(): Promise<void>
  close(): Promise<void>
}

interface Open { app: App; answer: Listener; socket: Socket; timetable?: { stop(): Promise<void> } }

/** @param onReplaced told of each board that a restore puts in place */
export async function openServing(config: ServerConfig, logs: Logs, onReplaced: (app: App) => void = () => {}): Promise<Serving> {
  let url: string | undefined
  let replacing: Promise<unknown> | undefined
  const host: Host = {
    replace: (request, keep, swap) => {
      if (replacing) throw new Problem('CONFLICT', 'A backup is being restored already.')
      const replaced = replace(request, keep, swap).finally(() => { replacing = undefined })
      replacing = replaced.catch(() => { /* Who asked is told. */ })
      return replaced
    },
  }
  let now = await open(config, logs, host)
  const gate = createGate(() => now.answer)

  const start = () => {
    if (url === undefined) return
    now.timetable = startTimetable(now.app, from(logs.log, 'timetable'))
    now.app.startWork(url)
  }
  const replace = async <T>(request: IncomingMessage, keep: () => Promise<T>, swap: (kept: T) => Promise<void>): Promise<T> => {
    const { app, socket, timetable } = now
    await gate.narrow('reading', request, drainMs)
    await Promise.all([timetable?.stop(), app.stopWork()])
    const kept = await outcomeOf(keep)
    await Promise.all([gate.narrow('closed', request, drainMs), socket.close(closeCodes.restarting)])
    await app.close()
    const swapped = 'error' in kept ? kept : await outcomeOf(() => swap(kept.value))
    now = await open(config, logs, host, app.identity.localToken).catch((error: unknown) => {
      logs.log('error', 'The board could not be opened again. Restart the server.', { cause: causeOf(error) })
      throw error
    })
    start()
    onReplaced(now.app)
    gate.widen()
    if ('error' in kept) throw kept.error
    if ('error' in swapped) throw swapped.error
    return kept.value
  }
  return {
    get app() { return now.app },
    listen: gate.listen,
    handleUpgrade: (request, socket, head) => now.socket.handleUpgrade(request, socket, head),
    sockets: () => now.socket.count(),
    start: at => {
      url = at
      start()
    },
    quiet: async () => {
      url = undefined
      // What makes a backup is ended rather than waited for.
      await now.app.backups.close()
      await replacing
      await Promise.all([now.timetable?.stop(), now.app.stopWork(), now.socket.close()])
    },
    close: () => now.app.close(),
  }
}

const outcomeOf = <T>(work: () => Promise<T>): Promise<{ value: T } | { error: unknown }> => work().then(value => ({ value }), (error: unknown) => ({ error }))

async function open(config: ServerConfig, logs: Logs, host: Host, localToken?: string): Promise<Open> {
  const app = await createApp(config, logs, { host, localToken })
  try {
    await requireClosedDoor(app)
    if (await isOpen(app)) logs.log('warn', 'Authentication is switched off: everybody on this machine acts as super_admin.')
    await app.catalogue.list().catch((error: Error) => logs.log('warn', `${error.message} Until that is mended, no agent starts.`, { file: join(config.dataDir, 'config.json') }))
    const socket = createSocket(app, from(logs.log, 'socket'))
    describeFigures(app, socket.count)
    return { app, socket, answer: toNodeHandler(createHttp(app)) as Listener }
  } catch (error) {
    await app.close().catch((cause: unknown) => logs.log('error', 'The board could not be closed.', { cause: causeOf(cause) }))
    throw error
  }
}
